import type { ResourceRef } from '../contract/resource.ts';

/** What the watcher asks of the workflow engine; workflow ids are those of `workflowIdFor`. */
export interface Runs {
  /**
   * Starts a run for a resource that has none open.
   *
   * @throws RunsUnavailable where the engine cannot be reached
   */
  start(request: StartRequest): Promise<'started' | 'already-open'>;
  /** Tells an open run that its resource changed. @throws RunsUnavailable */
  signal(workflowId: string, reason: string): Promise<'signalled' | 'not-open'>;
  /** The ids of all open runs, as of up to a few seconds ago. @throws RunsUnavailable */
  listOpen(): Promise<ReadonlySet<string>>;
}

export interface StartRequest {
  readonly ref: ResourceRef;
  readonly workflowType: string;
  /** One sentence for the Temporal UI. */
  readonly summary: string;
  readonly reason: string;
  /** What the run may act on without reading first. */
  readonly seen: unknown;
}

/** The engine cannot be reached, or is too busy to answer: every key has to wait. */
export class RunsUnavailable extends Error {
  override readonly name = 'RunsUnavailable';
}
