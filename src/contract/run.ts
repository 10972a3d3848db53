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
export type Outcome =
  /** The resource is as wanted; `did` says what was done, and becomes the run's result. */
  | { readonly result: 'converged'; readonly did: string }
  /** Waiting cannot help: the run stays open, without a timer, until the resource changes. */
  | { readonly result: 'stalled'; readonly why: string };

export function converged(did: string): Outcome {
  return { result: 'converged', did };
}

export function stalled(why: string): Outcome {
  return { result: 'stalled', why };
}
