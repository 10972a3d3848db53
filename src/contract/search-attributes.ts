import { AWAITING_APPROVAL, PAUSED } from './control.ts';

/** The custom search attributes of our runs, all of type Keyword, registered at start. */
export const SEARCH_ATTRIBUTES = {
  controller: 'Controller',
  namespace: 'ResourceNamespace',
  name: 'ResourceName',
  uid: 'ResourceUid',
  /** A {@link RunState}, or nothing. */
  state: 'RunState',
} as const;

/** Only a change of its resource will let the run go on. */
export const STALLED = 'Stalled';
/** A person has to let the run go on: the conditions have the same names. */
export { AWAITING_APPROVAL, PAUSED };

export type RunState = typeof STALLED | typeof PAUSED | typeof AWAITING_APPROVAL;
