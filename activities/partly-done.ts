import type { DecisionEvent, Deed } from '../src/contract/decision.ts';
import { ApiError } from '../src/kubernetes/errors.ts';

/** The error of a step that had done something before: the deeds must not be lost. */
export class PartlyDone extends ApiError {
  override readonly name = 'PartlyDone';
  override readonly cause: ApiError;
  readonly did: readonly Deed[];
  readonly events: readonly DecisionEvent[];

  constructor(cause: ApiError, did: readonly Deed[], events: readonly DecisionEvent[] = []) {
    super(cause.message, cause);
    this.cause = cause;
    this.did = did;
    this.events = events;
  }
}
