import type { PublishedSettings } from '../../config/published.ts';
import { bounded } from '../bounded.ts';
import type { TemporalAccess } from '../connection/temporal.ts';
import {
  DESCRIBED_AT_A_TIME,
  describeRun,
  endOfTimeline,
  listOpenRuns,
  type ListedRun,
  type Run,
} from './runs.ts';
import { isTaskFailing } from '../state.ts';
import { lastStepOf } from './timeline.ts';

/** Which open runs are asked for; what is undefined restricts nothing. */
export interface OpenRunsOf {
  readonly controller: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

export interface OpenRuns {
  /** What the running operator has published; undefined where nothing is, or nothing that can be read. It is known before the runs are. */
  readonly settings: PublishedSettings | undefined;
  /** Which was asked for, and which there are besides. */
  readonly operator: Pick<TemporalAccess, 'taskQueue' | 'unreadable' | 'otherTaskQueues' | 'otherCluster'>;
  /** @throws TemporalProblem */
  readonly runs: Promise<readonly OpenRun[]>;
}

/** Plain data: it goes from thread to thread. */
export interface OpenRun {
  readonly run: Pick<Run, keyof ListedRun | 'pause' | 'pending' | 'workflowTaskAttempt'>;
  /** Why it rests, or cannot go on; else empty. */
  readonly because: string;
}

/** @throws TemporalProblem */
export async function readOpenRuns(
  access: TemporalAccess,
  { name, ...of }: OpenRunsOf,
): Promise<readonly OpenRun[]> {
  const listed = (await listOpenRuns(access, of)).filter(
    ({ ref }) => name === undefined || ref.name === name,
  );
  const runs = await bounded(listed, DESCRIBED_AT_A_TIME, (run) => readOpenRun(access, run));
  return runs.filter((run) => run !== undefined);
}

/** @returns undefined where it has ended since it was listed */
async function readOpenRun(access: TemporalAccess, listed: ListedRun): Promise<OpenRun | undefined> {
  // It rests, and the list says as what: there is no step to describe.
  if (listed.runState !== undefined)
    return atRest(access, { ...listed, pending: [], workflowTaskAttempt: undefined });
  const run = await describeRun(access, listed.ref, listed.runId);
  if (run?.isOpen !== true) return undefined;
  if (run.pause !== undefined) return { run, because: `paused in Temporal ${run.pause.words}` };
  if (isTaskFailing(run))
    return { run, because: `its workflow task fails: attempt ${run.workflowTaskAttempt}` };
  const isAtWork = run.pending.length > 0 || run.workflowTaskAttempt !== undefined;
  return isAtWork ? { run, because: '' } : atRest(access, run);
}

/** A run that rests says why in its history. */
async function atRest(access: TemporalAccess, run: OpenRun['run']): Promise<OpenRun | undefined> {
  const timeline = await endOfTimeline(access, run);
  if (timeline.end !== undefined) return undefined;
  const last = lastStepOf(timeline);
  return { run, because: last?.end.how === 'done' ? (last.end.next?.because ?? '') : '' };
}
