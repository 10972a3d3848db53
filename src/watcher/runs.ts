import type { NextInHistory } from '../runs/decision.ts';
import type { ResourceRef } from '../api/resource-ref.ts';
import type { ChangeCertainty } from '../runs/run.ts';

/** What the watcher asks of the workflow engine; workflow ids are those of `workflowIdFor`. */
export interface Runs {
  /**
   * Starts a run for a resource that has none open.
   *
   * @returns `already-told`: a run is open where nobody works on it, and a signal waits there
   * @throws RunsUnavailable where the engine cannot be reached
   */
  start(request: StartRequest): Promise<'started' | 'already-open' | 'already-told'>;
  /** Signals an open run that its resource changed, or may have. @throws RunsUnavailable */
  signal(workflowId: string, signal: SignalRequest): Promise<'signalled' | 'not-open'>;
  /** All open runs by their ids, as of up to a few seconds ago. @throws RunsUnavailable */
  listOpen(): Promise<ReadonlyMap<string, OpenRun>>;
}

export interface OpenRun {
  readonly ref: ResourceRef;
  /** It waits for a change of its resource. */
  readonly isStalled: boolean;
}

export interface StartRequest {
  readonly ref: ResourceRef;
  readonly workflowType: string;
  /** One sentence for the Temporal UI. */
  readonly summary: string;
  readonly reason: string;
  /** The step that the watcher's view calls for, or `observe`. */
  readonly first: NextInHistory;
  /** Of the resource in that view. */
  readonly resourceVersion: string;
  /** As {@link RunInput} has it. */
  readonly observesOutside?: true;
}

export interface SignalRequest {
  readonly reason: string;
  readonly change: ChangeCertainty;
  /** The step that the watcher's view calls for. Absent: none, as far as it shows. */
  readonly first?: NextInHistory | undefined;
}

/** The engine cannot be reached, or is too busy to answer: every key has to wait. */
export class RunsUnavailable extends Error {
  override readonly name = 'RunsUnavailable';
}
