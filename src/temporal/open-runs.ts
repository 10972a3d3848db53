import { bounded } from './bounded.ts';
import type { Cause } from '../api/cause.ts';
import {
  isTaskFailing,
  pendingStepOf,
  type ListedRun,
  type Run,
  type RunFilter,
  type RunReader,
} from './run-reader.ts';
import { RETRYING } from '../runs/search-attributes.ts';
import { failedStepIn, lastNextOf } from './timeline.ts';

/** An open run, and why it waits or fails. */
export interface OpenRunReport {
  readonly run: Pick<Run, keyof ListedRun | 'pause' | 'pending' | 'workflowTaskAttempt'>;
  /** Empty: it does neither. */
  readonly because: string;
  /** What is wrong, if anything. */
  readonly cause?: Cause | undefined;
}

/** Temporal's server answers so many questions side by side without a queue. */
const DESCRIBED_AT_A_TIME = 50;

/** Those of some listed runs that are still open, as Temporal has them now. */
export async function stillOpen(reader: RunReader, listed: readonly ListedRun[]): Promise<readonly Run[]> {
  const now = await bounded(listed, DESCRIBED_AT_A_TIME, ({ ref, runId }) => reader.describe(ref, runId));
  return now.flatMap((run) => (run?.isOpen === true ? [run] : []));
}

export async function readOpenRuns(reader: RunReader, filter: RunFilter): Promise<readonly OpenRunReport[]> {
  const listed = await reader.listOpen(filter);
  const read = await bounded(listed, DESCRIBED_AT_A_TIME, (run) => readOpenRun(reader, run));
  return read.filter((run) => run !== undefined);
}

/** @returns undefined if it has ended since it was listed */
async function readOpenRun(reader: RunReader, listed: ListedRun): Promise<OpenRunReport | undefined> {
  // The list already says that it waits. There is no step to describe.
  if (listed.runState !== undefined)
    return waiting(reader, { ...listed, pending: [], workflowTaskAttempt: undefined });
  const run = await reader.describe(listed.ref, listed.runId);
  if (run?.isOpen !== true) return undefined;
  if (run.pause !== undefined) return { run, because: `paused in Temporal ${run.pause.words}` };
  if (isTaskFailing(run))
    return { run, because: `its workflow task fails: attempt ${run.workflowTaskAttempt}` };
  const isAtWork = run.pending.length > 0 || run.workflowTaskAttempt !== undefined;
  if (!isAtWork) return waiting(reader, run);
  const { cause, message = '' } = pendingStepOf(run)?.failure ?? {};
  return { run, because: cause?.message ?? message, cause };
}

/** The history of a waiting run says why it waits. */
async function waiting(reader: RunReader, run: OpenRunReport['run']): Promise<OpenRunReport | undefined> {
  const timeline = await reader.endOfTimeline(run);
  if (timeline.end !== undefined) return undefined;
  const { failure } = failedStepIn(timeline) ?? {};
  if (failure !== undefined && run.runState === RETRYING)
    return { run, because: failure.cause?.message ?? failure.message, cause: failure.cause };
  const { because = '', cause } = lastNextOf(timeline) ?? {};
  return { run, because: cause?.message ?? because, cause };
}
