import type { Cause } from './cause.ts';

/** How a decision names a step. */
export type DoStep<Data> = undefined extends Data
  ? (because: string, data?: Data) => Decision
  : (because: string, data: Data) => Decision;

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
  converged(because: string, more?: ConvergedOptions): Decision;
  /**
   * Something has to happen that takes a while.
   *
   * @param what follows "waiting for": `the bucket to be there`
   * @param more with `recheckAfter`, after which it is observed again: `30s`, `5m`
   */
  wait(what: string, more: WaitOptions): Decision;
  /** A person has to act. */
  stalled(cause: Cause, more?: StalledOptions): Decision;
  /**
   * The status has to say something before what comes next: what nobody could compute again, such as an ID that you choose. It is written
   * unless it is there already, and then it is decided again. Only of a kind. Where the controller has `status`, this has to return the
   * fields, too.
   *
   * @example
   * const address = status.address ?? free[0];
   * return next.record({ address }, next.do.take('nobody has the address'));
   */
  record(status: Partial<Status>, then: Decision, more?: { readonly event?: DecidedEvent }): Decision;
  /**
   * The condition `Ready` gives this reason, in CamelCase, in place of `AsSpecified` or `Waiting`. A cause of `then` has its own. With `isReady`, the
   * resource is Ready all the same: what is yet to be done, or is wrong, is about something else. Only of a kind.
   *
   * @example
   * return next.reason('Building', next.wait('the Job to end', { recheckAfter: '5m' }));
   */
  reason(reason: string, then: Decision, more?: { readonly isReady?: boolean }): Decision;
  /** Nothing is left outside: the finalizer is removed. Allowed at any time, such as for a resource that asks for nothing any more. */
  removeFinalizer(because: string, more?: { readonly event?: DecidedEvent }): Decision;
}

/** An Event of the resource, recorded once the write that comes with it is made. */
export interface DecidedEvent {
  /** Why, in CamelCase: `Cleaned`. */
  readonly reason: string;
  /** What was done, in CamelCase: `Clean`. */
  readonly action: string;
  /** For people, without a full stop, and nothing secret. */
  readonly message: string;
  /** Default: `Normal`. */
  readonly type?: 'Normal' | 'Warning';
  /** It is about the Namespace of the resource: in one that is being deleted, no Event can be created any more. Default: about the resource. */
  readonly about?: 'namespace';
  /** It is recorded on these resources of the same kind, too. Default: none. */
  readonly alsoAbout?: readonly { readonly namespace: string; readonly name: string; readonly uid: string }[];
}

export interface ConvergedOptions {
  /** Why it is not Ready, although nothing is left to do. */
  readonly notReady?: Cause;
  /**
   * Only with `notReady`, and without `observe`. It is to get ready by itself. It is decided again after so long, without a run until then: `60s`.
   */
  readonly recheckAfter?: string;
  /** Only with `notReady`. What was tried, in CamelCase, for an Event about it: `Create`. Default: no Event. */
  readonly action?: string;
}

export interface WaitOptions {
  /** After so long it is observed again, if nothing that is watched has changed by then: `30s`, `5m`, at most a day. */
  readonly recheckAfter: string;
  /** Why it does not come to that, where something is wrong. */
  readonly cause?: Cause;
  /** What was tried, in CamelCase, for an Event about the cause: `Build`. Default: no Event. */
  readonly action?: string;
}

export interface StalledOptions {
  /** After so long it is observed again: `10m`. Default: once the resource changes. */
  readonly recheckAfter?: string;
  /**
   * What was tried, in CamelCase, for an Event about it: `AddLabel`. Default: no Event of a kind of `defineKind`, whose conditions
   * say it; `Reconcile` of any other type.
   */
  readonly action?: string;
}

/** What `decide` has answered. Made by {@link NextOf} alone. */
export type Decision =
  | { readonly is: 'step'; readonly step: string; readonly because: string; readonly data: unknown }
  | ({ readonly is: 'converged'; readonly because: string } & ConvergedOptions)
  | ({ readonly is: 'wait'; readonly what: string } & WaitOptions)
  | ({ readonly is: 'stalled'; readonly cause: Cause } & StalledOptions)
  | { readonly is: 'record'; readonly status: object; readonly then: Decision; readonly event?: DecidedEvent }
  | { readonly is: 'reason'; readonly reason: string; readonly then: Decision; readonly isReady?: boolean }
  | { readonly is: 'removeFinalizer'; readonly because: string; readonly event?: DecidedEvent };
