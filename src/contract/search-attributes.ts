/** The custom search attributes of every run, all of type Keyword, registered at start. */
export const SEARCH_ATTRIBUTES = {
  controller: 'Controller',
  namespace: 'ResourceNamespace',
  name: 'ResourceName',
  uid: 'ResourceUid',
} as const;
