import type { WatchedType } from '../src/api/watched.ts';
import type { Cause } from '../src/api/cause.ts';
import type { ResourceRef } from '../src/api/resource-ref.ts';
import { ControllerError, isNever, neverCause } from '../src/engine/failing.ts';
import { causeWithin } from '../src/engine/findings.ts';
import type { LiveReads } from '../src/engine/observation.ts';
import type { DefinedView } from '../src/engine/view.ts';
import { isSaid } from '../src/engine/watched.ts';
import { causeOfError } from '../src/kubernetes/causes.ts';
import { ApiError, isOf } from '../src/kubernetes/errors.ts';
import { ATTEMPTS_UNTOLD } from './reconciler.ts';

/*
 * When the status says what has failed, and in which words.
 */

interface About {
  readonly ref: ResourceRef;
  /** Of the resource. */
  readonly type: WatchedType;
}

/** What was remembered says first what has failed. @throws the error where it says so already, or cannot, or may go away */
export function unlessSaid(
  error: unknown,
  reason: string,
  {
    view,
    attempt,
    ref,
    type,
  }: { view: DefinedView; attempt: number | undefined; ref: ResourceRef; type: WatchedType },
): Pick<LiveReads, 'never' | 'unobserved'> {
  if (isNever(error)) return { never: neverCause(error) };
  const cause =
    error instanceof ControllerError ? error.asCause : { ...causeOfFailure(error, { ref, type }), reason };
  if (!isNewsOf(error, cause.reason, { view, attempt })) throw error;
  return { unobserved: causeWithin(view, cause) };
}

/** Whether the status has to say that the author's code has failed, before the attempt fails. */
export function isNewsOf(
  error: unknown,
  code: string,
  { view, attempt = 1 }: { view: DefinedView; attempt?: number | undefined },
): boolean {
  if (!isTelling(view) || isOf(error, 'retry-after') || isSaid(view, code)) return false;
  if (error instanceof ControllerError && !error.mayPass) return true;
  return isOf(error, 'refused', 'access-denied') || attempt > ATTEMPTS_UNTOLD;
}

/** Whether the controller has words of its own for it. */
export function isSaidByAuthor(error: unknown): error is ApiError {
  return error instanceof ApiError && error.said !== undefined;
}

/** Whether there is a place that says why a step has failed. */
export function isTelling({ status, note }: DefinedView): boolean {
  return status !== undefined || note !== undefined;
}

/** A resource that is gone by then is not a failure. */
export function isGoneBy(error: unknown, { ref: { name }, type }: About): boolean {
  return isOf(error, 'not-found') && error.details?.name === name && error.details.kind === type.plural;
}

/** @throws the error itself where it is neither of the API server nor of an outside system */
export function causeOfFailure(error: unknown, { ref: { namespace, name }, type }: About): Cause {
  if (!(error instanceof ApiError)) throw error;
  return causeOfError(error, { resource: `${type.kind.toLowerCase()}/${name} -n ${namespace}`, namespace });
}
