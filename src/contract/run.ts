import type { ResourceRef } from './resource.ts';

/** The one signal a run knows. Its argument is the reason, for people; it never carries state. */
export const CHANGED_SIGNAL = 'changed';

/** What one pass over a resource is given. */
export interface Pass<Seen = unknown> {
  readonly ref: ResourceRef;
  /**
   * What the watcher saw. A write may rely on it only by being conditional on the resourceVersion in it,
   * or by being a create; anything else reads first. Absent: read first.
   */
  readonly seen?: Seen;
}

/** What a run is started with: a reference, why, and at most the few fields that the watcher decided from. */
export interface RunInput<Seen = unknown> extends Pass<Seen> {
  /** Why the run was started, for people. */
  readonly reason: string;
}

/** What one pass over a resource came to. An activity returns it; the run acts on it. */
export type Outcome = Converged | Progressed | Waiting | Stalled;

/** The resource is as wanted; `did` says what was done, and becomes the run's result. */
export interface Converged {
  readonly result: 'converged';
  readonly did: string;
}

/** Something was done, and there is more to do at once. */
export interface Progressed {
  readonly result: 'progressed';
  readonly did: string;
  /** What the next pass is for, for people: it is the summary of its activity. */
  readonly next?: string;
}

/** There is nothing to do until something else has happened, of which the watcher tells. */
export interface Waiting {
  readonly result: 'waiting';
  /** What has to happen, as it follows "Waiting for". */
  readonly on: string;
  /** The next pass begins after so long even where nobody tells of anything; in milliseconds. */
  readonly atMostMs: number;
  readonly did?: string;
  /** What the next pass is for, for people: it is the summary of its activity. */
  readonly next?: string;
}

/** Waiting cannot help: the run stays open, without a timer, until the resource changes. */
export interface Stalled {
  readonly result: 'stalled';
  readonly why: string;
}

export function converged(did: string): Converged {
  return { result: 'converged', did };
}

export function progressed(did: string, next?: string): Progressed {
  return { result: 'progressed', did, ...(next !== undefined && { next }) };
}

export function waiting(on: string, rest: Omit<Waiting, 'result' | 'on'>): Waiting {
  return { result: 'waiting', on, ...rest };
}

export function stalled(why: string): Stalled {
  return { result: 'stalled', why };
}
