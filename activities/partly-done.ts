import type { DecisionEvent, Deed } from '../src/contract/decision.ts';
import type { ApiError } from '../src/kubernetes/errors.ts';

/** A step has done something before the server said when to come back: the run waits for that, and keeps the deeds. */
export class PartlyDone extends Error {
  override readonly name = 'PartlyDone';
  override readonly cause: ApiError;
  readonly did: readonly Deed[];
  readonly events: readonly DecisionEvent[];

  constructor(cause: ApiError, did: readonly Deed[], events: readonly DecisionEvent[] = []) {
    super(cause.message);
    this.cause = cause;
    this.did = did;
    this.events = events;
  }
}
