import type { Cause } from '../contract/cause.ts';

/** How a decision names a step. */
export type DoStep<Data> = undefined extends Data
  ? (because: string, data?: Data) => Outcome
  : (because: string, data: Data) => Outcome;

/**
 * What `decide` answers with. Each reason is a sentence for people, without a full stop, and nothing secret.
 *
 * @typeParam Steps the data of each step, by its name
 * @typeParam Status the author's own fields of the status
 */
export interface NextOf<Steps, Status = never> {
  /** The steps by their names: `next.do.provision('there is no bucket')`. */
  readonly do: { readonly [Name in keyof Steps]: DoStep<Steps[Name]> };
  /** Everything is as the spec says. With `notReady`: nothing is left to do, and yet something is wrong. */
  converged(because: string, more?: { readonly notReady?: Cause }): Outcome;
  /**
   * Something has to happen that takes a while.
   *
   * @param what follows "waiting for": `the bucket to be there`
   * @param atMostMs after so many milliseconds it is observed again
   */
  wait(what: string, atMostMs: number, cause?: Cause): Outcome;
  /** A person has to act. */
  stalled(cause: Cause, more?: StalledMore): Outcome;
  /**
   * The status has to say something before the next step: what that step needs, and nobody could compute again. Then it is decided again.
   * Only of a kind. Where the controller has `status`, this has to return the fields, too.
   *
   * @example
   * if (status.address === undefined) return next.record('the address is chosen once', { address: free[0] });
   */
  record(because: string, status: Partial<Status>): Outcome;
  /** Nothing is left outside: the finalizer is removed. Only for a resource that is being deleted. */
  released(because: string): Outcome;
}

export interface StalledMore {
  /** After so many milliseconds it is observed again. Default: once the resource changes. */
  readonly atMostMs?: number;
  /**
   * What was tried, in CamelCase, for an Event about it: `AddLabel`. Default: no Event of a kind of `defineKind`, whose conditions
   * say it; `Reconcile` of any other type.
   */
  readonly action?: string;
}

/** What `decide` has answered. Made by {@link NextOf} alone. */
export type Outcome =
  | { readonly is: 'step'; readonly step: string; readonly because: string; readonly data: unknown }
  | { readonly is: 'converged'; readonly because: string; readonly notReady?: Cause }
  | { readonly is: 'wait'; readonly what: string; readonly atMostMs: number; readonly cause?: Cause }
  | ({ readonly is: 'stalled'; readonly cause: Cause } & StalledMore)
  | { readonly is: 'record'; readonly because: string; readonly status: object }
  | { readonly is: 'released'; readonly because: string };
