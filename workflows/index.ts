/** One workflow for every type: a run that Temporal knows as `podSet`, or by any other name, is this loop. */
export { reconcile as default } from './reconcile.ts';
