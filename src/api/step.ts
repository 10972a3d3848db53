import type { ReferencedObject } from './reference.ts';
import type { Cause } from './cause.ts';
import type { Deletion } from './deletion.ts';
import type { Logger } from './logger.ts';
import type { KubernetesObject } from './object.ts';
import type { UnknownAttempt } from './unknown-attempt.ts';
import type { Current } from './child.ts';
import type { Kube, KubeReader } from './kube.ts';

/**
 * What a decision is made from.
 *
 * @typeParam R the resource
 * @typeParam Owned the views of the objects of `owns`
 * @typeParam Observed what `observe` returns
 * @typeParam Options the values of its options
 * @typeParam Lookups what its `lookups` return, by their names
 */
export interface DecisionContext<R, Owned, Observed, Options = unknown, Lookups = unknown> {
  readonly resource: R;
  /** The views of the objects that belong to the resource: of the types of `owns` that have a `view`. */
  readonly owned: readonly Owned[];
  /** What the resource refers to, as `children` has it. */
  readonly references: readonly ReferencedObject[];
  /** What there is of the objects of `children`. */
  readonly current: Current<Owned>;
  /** What `observe` has read for this decision. */
  readonly observed: Observed;
  /**
   * Reads that only some decisions need. One that was not read yet is undefined. Then the answer of `decide` does not count: the library reads it,
   * and asks again. Other functions get what was read for the decision.
   */
  readonly lookups: LookedUp<Lookups>;
  /** The step that was refused last, and has not been done since. Absent on the watch. */
  readonly refused?: RefusedStep;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** As the operator has them. */
  readonly options: Options;
  /**
   * Attempts of durable steps of which nobody knows whether they took effect, and that may still do so. The library waits for them before
   * Ready, and before the finalizer goes. Always empty where the watcher decides.
   */
  readonly unknown: readonly UnknownAttempt[];
  /** For how long one of them may take effect yet, in milliseconds; 0: there is none. */
  readonly unknownForMs: number;
}

/** A step that the API server, or an outside system, has refused. */
export interface RefusedStep {
  readonly step: string;
  readonly cause: Cause;
}

/** The author's lookups by their names, and those of the library. */
export type LookedUp<Lookups> = { readonly [Name in keyof Lookups]: Lookups[Name] | undefined } & {
  /**
   * The Node of that name. Undefined: it was not read yet, there is none, or the operator may not read it. Needs `allow(NODES, ['get'])` in `permissions`.
   */
  node(name: string): KubernetesObject | undefined;
};

/**
 * What `observe` is given.
 *
 * @typeParam Clients what `clients` returns
 */
export interface ObserveContext<R, Clients = unknown, Options = unknown> {
  readonly resource: R;
  /** Clients of outside systems. */
  readonly clients: Clients;
  /** As the operator has them. */
  readonly options: Options;
  /** Reads the cluster. */
  readonly kube: KubeReader;
  /** As `decide` is given it: what reads of an outside system that lag may not show yet. */
  readonly unknown: readonly UnknownAttempt[];
  /** Writes to the log of the operator. A plan and the testing kit leave that out. */
  readonly log: Logger;
  /** Aborted once the time of the step is over, or a change of the resource calls for another decision. Hand it to whatever you call. */
  readonly signal: AbortSignal;
}

/** The input of a lookup. */
export interface LookupContext<R, Owned, Clients = unknown, Options = unknown> extends ObserveContext<
  R,
  Clients,
  Options
> {
  /** As the decision has them that asks for it. */
  readonly owned: readonly Owned[];
}

/** What a step is given. */
export interface StepContext<R, Owned, Observed, Clients = unknown, Options = unknown> extends ObserveContext<
  R,
  Clients,
  Options
> {
  readonly owned: readonly Owned[];
  readonly observed: Observed;
  /** Reads and writes the cluster. */
  readonly kube: Kube;
  /** Milliseconds since the epoch. What `decide` hands over must not contain the time: it would differ from attempt to attempt. */
  readonly now: () => number;
  /**
   * For an outside system that does the same only once. It is new after each attempt whose result is known, such as a refusal, and for
   * other `data`; else the same, over attempts, changes and workers. What a terminated workflow knew of it is lost.
   */
  readonly idempotencyKey: string;
  /**
   * Says what is done when more writes follow, outside of `each`: if one of them fails, or a change ends the attempt, the history has this instead of what
   * `run` returns. If the worker is killed, it has what was said until a second before.
   *
   * @param did in the past tense: `deleted RoleBinding team-1`
   */
  readonly progress: (did: string) => void;
  /**
   * Acts on items, one first, then on two, four, eight and sixteen at a time, so that a refusal of all costs one call; a step with `deletes` begins with sixteen. It begins no
   * more once one has failed, half of the time of the attempt is over, or something else is to be done: the step is decided again, and
   * goes on. Items of `owned` that the watch shows as gone are skipped. Say in `writes` how many there are.
   *
   * @param act returns what it did, with kind and name: `created Pod web-1`; undefined: there was nothing to do
   * @returns the sum, to be returned by `run`: `created 300 Pods`
   * @throws what the first `act` throws that fails; what is done is in the history
   */
  readonly each: <T>(items: readonly T[], act: (item: T) => Promise<string | undefined>) => Promise<string>;
}

/**
 * What a step did.
 *
 * @typeParam Status the author's own fields of the status
 */
export interface StepResult<Status = never> {
  /** In the past tense: `created the bucket`. */
  readonly message: string;
  /** An Event of the resource that says the same. Both in CamelCase: `{ reason: 'Created', action: 'Create' }`. Default type: `Normal`. */
  readonly event?: { readonly reason: string; readonly action: string; readonly type?: 'Normal' | 'Warning' };
  /**
   * Written in the same attempt, such as an ID that the server has assigned: `{ id }`. Only of a kind. Where the controller has `status`,
   * that has to return the fields, too. If the worker is killed between the answer and this write, the next attempt has the same
   * `idempotencyKey`.
   */
  readonly status?: Partial<Status>;
}

/**
 * One step: an activity in the history, retried with backoff until it is done or no longer decided.
 *
 * @typeParam Data what a decision hands over besides a reason
 * @typeParam Status the author's own fields of the status
 * @typeParam Lookups what the `lookups` of the controller return, by their names
 */
export interface StepDefinition<
  R,
  Owned,
  Observed,
  Data,
  Clients = unknown,
  Options = unknown,
  Status = never,
  Lookups = unknown,
> {
  /** What the Temporal UI shows beside the activity, before the reason: `create the bucket`. */
  readonly summary: string;
  /**
   * Whether it changes something outside of the cluster. Then it is never tried twice at once, an attempt without an answer is
   * waited for, and `plan` does not try it. A step that only writes by `kube` is faster without. Default: if there is `observe`.
   */
  readonly external?: boolean;
  /**
   * How long `run` may take: `15m`, from 10 s to an hour. A worker that was killed is noticed within seconds however long that is. What
   * an attempt without an answer may still do is waited for that long before Ready, and before the finalizer goes; so rather start long
   * work, and wait for it in `decide`. Default: ten seconds.
   */
  readonly timeout?: string;
  /**
   * Temporal knows of each attempt from the start. Default: of external steps, of those with a `timeout`, and of those of a controller with
   * a `finalizer` that may leave something; others are tried once within the workflow task first, which is faster.
   */
  readonly durable?: boolean;
  /**
   * How soon it is tried again when a system cannot be reached: after `first`, then twice as long each time, at most `longest`. What is
   * refused has its own pace. Each from `1ms` to `24d`. Default: `{ first: '500ms', longest: '30s' }`.
   */
  readonly retry?: { readonly first?: string; readonly longest?: string };
  /**
   * What a change of the resource means for an attempt in progress. `finish` (default of external steps, and of those with a `timeout`): it
   * is decided again once the attempt has ended; only its backoff is cut short. `interrupt` (default of others): after half a second `signal`
   * is aborted, and it is decided again once the attempt has ended, two seconds later at the latest.
   */
  readonly onChange?: 'interrupt' | 'finish';
  /** How many writes it makes. With more than ten, each attempt has its full time. Default: one. */
  writes?(context: DecisionContext<R, Owned, Observed, Options, Lookups>, data: Data): number;
  /**
   * What is read before the step is done. Only of a controller without `observe`.
   *
   * - `cache`: nothing, it is decided from what the watch shows. Its one write is a patch of the resource with the resourceVersion that was decided from.
   * - `resource`: the resource, and not the objects of `owns`.
   * - `all` (default): everything.
   *
   * Where one of the steps says less than `all`, and there are no `children`, the library reads nothing before it writes the status or adds the finalizer, which
   * is conditional on the version of the resource, and reads `lookups` beside what the watch shows. It removes the finalizer after it has read everything.
   */
  readonly reads?: 'cache' | 'resource' | 'all';
  /**
   * The objects that the step may delete, and that a person may have to approve of: `{ what: 'Secret', count: 2, objects: () => secrets }`.
   * `kube.delete` and `kube.evict` refuse any other one. Default: none.
   */
  deletes?(context: DecisionContext<R, Owned, Observed, Options, Lookups>, data: Data): Deletion;
  /** Lookups that it makes out of date, such as `['jobs']`; `node` is all Nodes. They are read again when a decision asks for them. Default: none. */
  readonly forgets?: readonly string[];
  /**
   * Does it, within `timeout`. An attempt may be repeated, and may take effect after a later one. What a server answers to `kube` counts as observed: where the step is not external and writes only to the
   * resource and to objects of `owns`, nothing is read again before the next decision.
   *
   * @param data of the decision that named this step, in this very attempt. It is never in the history
   * @returns what it did, in the past tense: `created the bucket`; or more
   */
  run(
    context: StepContext<R, Owned, Observed, Clients, Options>,
    data: Data,
  ): Promise<string | StepResult<Status>>;
}

/** What `messages` are made from: the resource as the API server has it, and what decisions are made from. */
export interface MessageSubject<R, Owned> {
  readonly object: KubernetesObject;
  readonly resource: R;
  readonly owned: readonly Owned[];
}
