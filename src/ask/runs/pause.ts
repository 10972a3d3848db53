import type { temporal } from '@temporalio/proto';
import { msOf } from './history-payloads.ts';

type DescribeAnswer = temporal.api.workflowservice.v1.IDescribeWorkflowExecutionResponse;
type PendingActivity = temporal.api.workflow.v1.IPendingActivityInfo;

/** A person has paused a run, or its step, in Temporal: it does not go on until somebody ends that. */
export interface PauseInTemporal {
  readonly atMs: number;
  /** `by temporal-cli:alice@laptop: the quota is about to change` */
  readonly words: string;
  /** The command that ends it. */
  readonly undo: string;
}

/** `PendingActivityState` of temporal/api/enums/v1/workflow.proto; the package's own enum cannot be imported by name. */
const PAUSED = 4;

/** An attempt that is in progress is not paused yet. */
export function isPaused({ state }: PendingActivity): boolean {
  return Number(state) === PAUSED;
}

/** A pause of the run, or else of a step of it that is not in progress; undefined: there is none. */
export function pauseIn(answer: DescribeAnswer, namespace: string): PauseInTemporal | undefined {
  const workflowId = answer.workflowExecutionInfo?.execution?.workflowId ?? '';
  const of = `--namespace ${namespace} --workflow-id ${workflowId}`;
  const { pauseInfo } = answer.workflowExtendedInfo ?? {};
  if (pauseInfo) {
    const { pausedTime, ...by } = pauseInfo;
    return { atMs: msOf(pausedTime), words: wordsFor(by), undo: `temporal workflow unpause ${of}` };
  }
  const step = answer.pendingActivities?.find(isPaused);
  return step && pauseOfStep(step, of);
}

function pauseOfStep({ activityId, pauseInfo }: PendingActivity, of: string): PauseInTemporal {
  const { pauseTime, manual, rule } = pauseInfo ?? {};
  const by = rule ? { identity: `the rule ${rule.ruleId ?? ''}`, reason: rule.reason } : (manual ?? {});
  return {
    atMs: msOf(pauseTime),
    words: wordsFor(by),
    undo: `temporal activity unpause ${of} --activity-id ${activityId ?? ''}`,
  };
}

interface By {
  readonly identity?: string | null | undefined;
  readonly reason?: string | null | undefined;
}

function wordsFor({ identity, reason }: By): string {
  const who = identity === undefined || identity === null || identity === '' ? 'somebody' : identity;
  return `by ${who}${reason ? `: ${reason}` : ''}`;
}
