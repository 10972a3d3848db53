import { activityInfo, ApplicationFailure } from '@temporalio/activity';
import { FAILURE, type FailureType } from '../src/contract/failures.ts';
import type { Logger } from '../src/contract/logger.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import type { Outcome } from '../src/contract/run.ts';
import { unreachable } from '../src/contract/unreachable.ts';
import { ApiError } from '../src/kubernetes/errors.ts';
import { recordFailure, type Recorder, type Regarding } from './events.ts';

/** What an activity tells the log of its run; on every line about a resource. */
export function runFields(ref: ResourceRef): object {
  const { controller, namespace, name } = ref;
  const { workflowExecution, attempt } = activityInfo();
  return {
    controller,
    namespace,
    name,
    workflowId: workflowExecution?.workflowId,
    runId: workflowExecution?.runId,
    ...(attempt > 1 && { attempt }),
  };
}

/** Whom the edge tells how a pass ended. */
export interface Edge {
  readonly log: Logger;
  readonly recorder: Recorder;
  /** What the resource is. */
  readonly regarding: Regarding;
}

/**
 * The edge between a pass and Temporal: logs how it ended and turns what the API server said into a
 * failure whose type says what it means. What somebody has to mend is an Event, too.
 */
export async function atTheEdge(
  { log, recorder, regarding }: Edge,
  ref: ResourceRef,
  pass: (log: Logger) => Promise<Outcome>,
): Promise<Outcome> {
  const runLog = log.child(runFields(ref));
  try {
    const outcome = await pass(runLog);
    tell(runLog, outcome);
    return outcome;
  } catch (error) {
    runLog.warn({ err: error }, 'failed, and will be tried again');
    recordFailure(recorder, { ref, regarding, log: runLog }, error);
    throw asFailure(error, activityInfo().attempt);
  }
}

function tell(log: Logger, outcome: Outcome): void {
  switch (outcome.result) {
    case 'converged':
    case 'progressed':
      log.info({}, outcome.did);
      return;
    case 'waiting':
      log.info({}, `${outcome.did === undefined ? '' : `${outcome.did}; `}waiting for ${outcome.on}`);
      return;
    case 'stalled':
      log.warn({}, `stalled: ${outcome.why}`);
      return;
    default:
      unreachable(outcome);
  }
}

/** Errors that are not the API server's are our own: Temporal retries them as they are. */
export function asFailure(error: unknown, attempt: number): unknown {
  if (!(error instanceof ApiError)) return error;
  const { message, classification } = error;
  switch (classification) {
    case 'retry-after':
      // Not retried by Temporal: the run waits for exactly that long, which no change shortens.
      return ApplicationFailure.create({
        type: FAILURE.retryAfter,
        message,
        nonRetryable: true,
        details: [error.retryAfterMs ?? 0],
      });
    case 'access-denied':
      return slowly(FAILURE.accessDenied, message, attempt);
    case 'refused':
      return slowly(FAILURE.refused, message, attempt);
    case 'api-missing':
      return slowly(FAILURE.apiMissing, message, attempt);
    case 'conflict':
    case 'already-exists':
      return ApplicationFailure.create({ type: FAILURE.conflict, message });
    case 'unavailable':
    case 'expired':
    case 'not-found':
    case 'namespace-terminating':
      return ApplicationFailure.create({ type: FAILURE.unavailable, message });
    default:
      return unreachable(classification);
  }
}

const SLOW_FIRST_MS = 5_000;
const SLOW_MOST_MS = 45_000;

/** Somebody must mend something first: asked less often, but still within a minute once it is mended. */
function slowly(type: FailureType, message: string, attempt: number): ApplicationFailure {
  const nextRetryDelay = Math.min(SLOW_FIRST_MS * 2 ** Math.min(attempt - 1, 10), SLOW_MOST_MS);
  return ApplicationFailure.create({ type, message, nextRetryDelay });
}
