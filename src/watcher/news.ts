import { isRest, type Decision } from '../contract/decision.ts';

/** What the watcher's view of a resource comes to. */
export interface ViewState {
  readonly decision: Decision;
  /** What is news to an open run, in one text. */
  readonly inputs: string;
}

/** What an open run was last started or signalled with, and what the view has shown since. */
export interface Reported {
  readonly inputs: string;
  /** The view has come to a rest: what calls for a step after it is no work of the run. */
  readonly rested: boolean;
  /** Nothing of the view has changed since. */
  readonly current: boolean;
}

/**
 * Whether an open run has to be signalled: at once, if the view stays as it is for a while, or not.
 *
 * The run's own writes move the view from step to step, and are no news. Nor is a view that rests: the run rests, too,
 * or will when it looks. A step that stands although nothing happens any more may be one that the run does not know
 * of, because the change that called for it reached the view together with the run's own writes.
 */
export function newsIn(view: ViewState, reported: Reported | undefined): 'now' | 'if it stands' | 'none' {
  if (reported?.inputs !== view.inputs) return 'now';
  if (isRest(view.decision)) return 'none';
  if (reported.rested) return 'now';
  return reported.current ? 'none' : 'if it stands';
}

/** The run is about to be started or signalled because of this view. */
export function reportedWith({ inputs, decision }: ViewState): Reported {
  return { inputs, rested: isRest(decision), current: true };
}

/** The view has changed. */
export function afterChange(reported: Reported, { decision }: ViewState): Reported {
  return { ...reported, rested: reported.rested || isRest(decision), current: false };
}
