import type { WatchEnd } from '../runs/telemetry.ts';
import { ApiError } from '../kubernetes/errors.ts';

/** A watch that was accepted and then broke, fell silent or ended at once: an everyday event, to be resumed. */
export class BrokenWatch extends Error {
  override readonly name: string = 'BrokenWatch';
}

/** A watch that said nothing for so long that its connection was dropped. */
export class SilentWatch extends BrokenWatch {
  override readonly name = 'SilentWatch';
}

export function isExpired(error: unknown): error is ApiError {
  return error instanceof ApiError && error.classification === 'expired';
}

export function howItEnded(error: unknown): WatchEnd {
  if (error instanceof BrokenWatch) return error instanceof SilentWatch ? 'silent' : 'broken';
  return isExpired(error) ? 'expired' : 'failed';
}

export function hasNoAnswer(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === undefined;
}

/** Whether the version to resume from is of no use: too old, refused, or ahead of a restored database. */
export function mustListAgain(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  if (error.classification === 'expired' || error.classification === 'refused') return true;
  return error.details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') ?? false;
}

export function problemText(error: unknown, path: string): string {
  if (!(error instanceof ApiError)) return `${path} cannot be read: ${String(error)}`;
  const { classification, message } = error;
  if (classification === 'access-denied')
    return `${message}; grant list and watch; the operator then continues by itself`;
  if (classification === 'api-missing') return `${message}; waiting for this API: install its CRD`;
  return `${message}; retrying`;
}
