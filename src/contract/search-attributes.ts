/** The custom search attributes of our runs, all of type Keyword, registered at start. */
export const SEARCH_ATTRIBUTES = {
  controller: 'Controller',
  namespace: 'ResourceNamespace',
  name: 'ResourceName',
  uid: 'ResourceUid',
  /** {@link STALLED}, or nothing. */
  state: 'RunState',
} as const;

/** Of a run that only a change of its resource will let go on. */
export const STALLED = 'Stalled';
