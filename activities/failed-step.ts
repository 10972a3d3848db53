import type { Decision, Deed, Refusal } from '../src/contract/decision.ts';
import { isOf, type ApiError } from '../src/kubernetes/errors.ts';

/** A target that is not there is as much a changed world as one that somebody else wrote. */
export function isStale(error: unknown): error is ApiError {
  return isOf(error, 'conflict', 'already-exists', 'not-found');
}

export function refusalIn(step: string, { classification, message }: ApiError): Refusal {
  const because = REASONS.find((each) => each === classification) ?? 'refused';
  return { because, message, step };
}

const REASONS = ['overridden', 'access-denied', 'namespace-terminating'] as const;

/** A step that failed. */
export interface FailedStep {
  readonly step: string;
  readonly error: ApiError;
  readonly did: readonly Deed[];
  /** Of what is known now. */
  readonly decision: Decision;
  /** Of an earlier attempt. */
  readonly refusal: Refusal | undefined;
}

/**
 * Whether Temporal is to try the step again, with backoff. What it has done by then is a step forward; and the status that
 * says for the first time that the server refuses is a step of its own. If each later one was, too, a server that refuses in
 * other words each time would be asked without a pause.
 */
export function isLeftToBackoff({ step, error, did, decision, refusal }: FailedStep): boolean {
  if (did.length > 0) return false;
  if (!isOf(error, 'refused', 'overridden', 'access-denied', 'namespace-terminating')) return true;
  return decision.do === step || (decision.do === 'updateStatus' && refusal !== undefined);
}
