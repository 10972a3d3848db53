import { activityInfo, ApplicationFailure } from '@temporalio/activity';
import type { Account } from './account.ts';
import type { Advice, Cause } from '../src/api/cause.ts';
import {
  type Action,
  isConverged,
  isRest,
  reasonOf,
  sentenceOf,
  type StepReport,
} from '../src/runs/decision.ts';
import { FAILURE, type CauseInFailure, type FailureType } from '../src/runs/failures.ts';
import type { Logger } from '../src/api/logger.ts';
import type { ResourceRef } from '../src/api/resource-ref.ts';
import type { UnknownAttempt } from '../src/api/unknown-attempt.ts';
import { shortened } from '../src/api/text.ts';
import { unreachable } from '../src/api/unreachable.ts';
import { ControllerError } from '../src/engine/failing.ts';
import { causeOfError, type WriteTarget } from '../src/kubernetes/causes.ts';
import { ApiError } from '../src/kubernetes/errors.ts';
import { ATTEMPTS_UNTOLD, PartlyDone } from './reconciler.ts';
import { recordCause, recordFailure, type Recorder, type Regarding } from './events/events.ts';

/** What each line of the log says of the run that it is about. */
export function runFields(ref: ResourceRef): object {
  const { controller, namespace, name } = ref;
  const { workflowExecution, attempt, activityType } = activityInfo();
  return {
    controller,
    namespace,
    name,
    workflowId: workflowExecution?.workflowId,
    runId: workflowExecution?.runId,
    step: activityType,
    attempt,
  };
}

/** Where the edge reports how a step ended. */
export interface ReportTargets {
  readonly log: Logger;
  readonly recorder: Recorder;
  /** What the resource is. */
  readonly regarding: Regarding;
  /** Default: Temporal tries again whatever fails. */
  readonly account?: Pick<Account, 'isKeyed' | 'unknown'>;
}

/**
 * The edge between a step and Temporal: logs how it ended and turns what the API server said into a
 * failure whose type says what it means. What somebody has to fix is an Event, too.
 */
export async function atTheEdge(
  { log, recorder, regarding, account }: ReportTargets,
  ref: ResourceRef,
  step: (log: Logger) => Promise<StepReport>,
): Promise<StepReport> {
  const runLog = log.child(runFields(ref));
  const about = { ref, regarding, log: runLog };
  try {
    const result = await step(runLog);
    logEnd(runLog, result);
    return result;
  } catch (error) {
    const failure = error instanceof PartlyDone ? error.cause : error;
    const did = error instanceof PartlyDone ? error.did : [];
    runLog.warn({ err: failure }, 'the step failed and will be retried');
    if (failure instanceof ControllerError) {
      if (!failure.mayPass || activityInfo().attempt > ATTEMPTS_UNTOLD)
        recordCause(recorder, about, failure.asCause);
      throw asControllerFailure(failure);
    }
    // Other errors are our own: Temporal retries them.
    if (!(failure instanceof ApiError)) throw asSmall(failure);
    const cause = causeOfError(failure, aboutOf(ref, regarding));
    recordFailure(recorder, about, failure, cause);
    throw asFailure(failure, { attempt: activityInfo().attempt, did, cause, account });
  }
}

/** What was done, and what comes next, in a line. */
function logEnd(log: Logger, { did, next }: StepReport): void {
  const done = did.length === 0 ? '' : `${sentenceOf(did)}; `;
  if (isConverged(next)) log.info({ next: next.do }, did.length === 0 ? next.because : sentenceOf(did));
  else if (isRest(next) && next.do === 'stalled')
    log.warn({ next: next.do }, `${done}stalled: ${reasonOf(next)}`);
  else log.info({ next: next.do }, `${done}next: ${next.do}: ${reasonOf(next)}`);
}

interface Attempt {
  /** From 1. */
  readonly attempt: number;
  /** What the step did before it failed. */
  readonly did?: readonly Action[];
  readonly cause: Cause;
  readonly account?: ReportTargets['account'];
}

function aboutOf({ namespace, name }: ResourceRef, { kind }: Regarding): WriteTarget {
  const place = kind === 'Namespace' ? '' : ` -n ${namespace}`;
  return { resource: `${kind.toLowerCase()}/${name}${place}`, namespace };
}

export function asFailure(error: ApiError, given: Attempt): ApplicationFailure {
  const { did = [], cause, account } = given;
  const { classification } = error;
  const failed = failedBy(error.message, cause);
  switch (classification) {
    case 'retry-after':
      // Not retried by Temporal: the run waits for exactly that long, which no change shortens.
      return withoutStack({
        type: FAILURE.retryAfter,
        message: failed.message,
        nonRetryable: true,
        details: [error.retryAfterMs ?? 0, did, ...unknownOf(account)],
      });
    case 'access-denied':
      return slowly(FAILURE.accessDenied, failed, given);
    case 'refused':
      return slowly(FAILURE.refused, failed, given);
    case 'overridden':
      return slowly(FAILURE.overridden, failed, given);
    case 'api-missing':
      return slowly(FAILURE.apiMissing, failed, given);
    case 'conflict':
    case 'already-exists':
      return withoutStack({ type: FAILURE.conflict, ...failed });
    case 'unavailable':
    case 'disruption-budget':
    case 'expired':
    case 'not-found':
    case 'namespace-terminating':
      return withoutStack({ type: FAILURE.unavailable, ...failed });
    default:
      return unreachable(classification);
  }
}

function asControllerFailure({ asCause, message: said }: ControllerError): ApplicationFailure {
  return withoutStack({ type: FAILURE.controllerFailed, ...failedBy(said, asCause) });
}

/** What history and the commands read of a failure. */
interface Failed {
  readonly message: string;
  readonly details: CauseInFailure[];
}

/** Of the 4 KiB that Temporal keeps of a failure, encryption takes up to 500 bytes. */
const MESSAGE_MAX_BYTES = 2_300;
const ADVICE_MAX_BYTES = 1_000;

function failedBy(said: string, { reason, message, advice }: Cause): Failed {
  const words = said.endsWith(message) ? said : message;
  const messageFrom = words.length - message.length;
  return {
    message: shortened(words, MESSAGE_MAX_BYTES),
    details: [{ reason, advice: first(advice, ADVICE_MAX_BYTES), messageFrom }],
  };
}

function first(advice: readonly Advice[], most: number): readonly Advice[] {
  let bytes = 0;
  return advice.filter((each) => (bytes += Buffer.byteLength(JSON.stringify(each))) <= most);
}

/** A stack begins with the message again. The log has it. */
function withoutStack(options: Parameters<typeof ApplicationFailure.create>[0]): ApplicationFailure {
  const failure = ApplicationFailure.create(options);
  failure.stack = '';
  return failure;
}

/** An error of our own that Temporal would cut becomes one without stack and causes. */
function asSmall(error: unknown): unknown {
  if (!(error instanceof Error) || sizeOf(error) <= MESSAGE_MAX_BYTES) return error;
  return withoutStack({ type: error.name, message: shortened(error.message, MESSAGE_MAX_BYTES) });
}

function sizeOf(error: unknown): number {
  if (!(error instanceof Error)) return 0;
  return Buffer.byteLength(error.message + (error.stack ?? '')) + sizeOf(error.cause);
}

/** What the run has to learn with the failure. */
function unknownOf(account: Attempt['account']): readonly (readonly UnknownAttempt[])[] {
  return account === undefined || account.unknown.length === 0 ? [] : [account.unknown];
}

const SLOW_FIRST_MS = 5_000;
const SLOW_MOST_MS = 45_000;

/** Somebody must fix something first: tried less often, but still within a minute once it is fixed. */
function slowly(type: FailureType, failed: Failed, { attempt, account }: Attempt): ApplicationFailure {
  // The result is known, so the run itself waits for the next attempt: what a change then ends is not in doubt.
  if (account?.isKeyed === true)
    return withoutStack({
      ...{ type, ...failed, nonRetryable: true },
      details: [...failed.details, ...unknownOf(account)],
    });
  const nextRetryDelay = Math.min(SLOW_FIRST_MS * 2 ** Math.min(attempt - 1, 10), SLOW_MOST_MS);
  return withoutStack({ type, ...failed, nextRetryDelay });
}
