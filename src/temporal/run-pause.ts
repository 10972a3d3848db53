import type { temporal } from '@temporalio/proto';
import { msOf } from './timeline-builder.ts';

type DescribeAnswer = temporal.api.workflowservice.v1.IDescribeWorkflowExecutionResponse;
type PendingActivity = temporal.api.workflow.v1.IPendingActivityInfo;

/** Somebody has paused a run, or its step, in Temporal. It does not go on until the pause is ended. */
export interface PauseInTemporal {
  readonly atMs: number;
  /** `by temporal-cli:alice@laptop: the quota is about to change` */
  readonly words: string;
  /** The command that ends it. */
  readonly undo: string;
}

/** `PendingActivityState` of temporal/api/enums/v1/workflow.proto; the package's own enum cannot be imported by name. */
const PAUSED = 4;

/** An attempt in progress is not paused yet. */
export function isPaused({ state }: PendingActivity): boolean {
  return Number(state) === PAUSED;
}

/** The pause of a run, or else of one of its steps. */
export function pauseIn(answer: DescribeAnswer, namespace: string): PauseInTemporal | undefined {
  const workflowId = answer.workflowExecutionInfo?.execution?.workflowId ?? '';
  const of = `--namespace ${namespace} --workflow-id ${workflowId}`;
  const { pauseInfo } = answer.workflowExtendedInfo ?? {};
  if (pauseInfo) {
    const { pausedTime } = pauseInfo;
    return { atMs: msOf(pausedTime), words: wordsFor(pauseInfo), undo: `temporal workflow unpause ${of}` };
  }
  const step = answer.pendingActivities?.find(isPaused);
  if (step === undefined) return undefined;
  const { pauseTime, manual, rule } = step.pauseInfo ?? {};
  const by = rule ? { identity: `the rule ${rule.ruleId ?? ''}`, reason: rule.reason } : (manual ?? {});
  const undo = `temporal activity unpause ${of} --activity-id ${step.activityId ?? ''}`;
  return { atMs: msOf(pauseTime), words: wordsFor(by), undo };
}

interface By {
  readonly identity?: string | null | undefined;
  readonly reason?: string | null | undefined;
}

function wordsFor({ identity, reason }: By): string {
  const who = identity === '' ? undefined : identity;
  return `by ${who ?? 'somebody'}${reason ? `: ${reason}` : ''}`;
}
