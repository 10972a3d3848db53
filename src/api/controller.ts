import type { z } from 'zod';
import type { Cause } from '../contract/cause.ts';
import type { PolicyRule } from '../contract/controller.ts';
import { millisecondsIn } from '../contract/duration.ts';
import type { KubernetesObject } from '../contract/object.ts';
import type { Kind, SpecOf, StatusOf } from './kind.ts';
import type { Kube, KubeReads } from './kube.ts';

/** Any kind that {@link defineKind} has made. */
export type AnyKind = Kind<z.ZodObject, z.ZodObject>;

/** A resource of a kind, parsed. */
export interface ResourceOf<K extends AnyKind> extends KubernetesObject {
  /** With the defaults of the schema. */
  readonly spec: SpecOf<K>;
  /** The author's own fields; a status that somebody wrote by hand, and that does not fit, counts as empty. */
  readonly status: Partial<StatusOf<K>>;
  readonly isBeingDeleted: boolean;
  /**
   * Why the stored spec does not fit the schema, which may have been another when it was stored. Then `spec` is as stored, and
   * `decide` is asked only while the resource is being deleted.
   */
  readonly invalid?: string;
}

/** What a decision is made from. */
export interface Facts<K extends AnyKind, Observed> {
  readonly resource: ResourceOf<K>;
  /** What `observe` has read for this decision. */
  readonly observed: Observed;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** What `observe` is given. */
export interface Observing<K extends AnyKind> {
  readonly resource: ResourceOf<K>;
  /** Reads the cluster. */
  readonly kube: KubeReads;
  /** Aborted once the time of the step is over, or a newer step of this resource waits. Hand it to whatever you call. */
  readonly signal: AbortSignal;
}

/** What a step is given. */
export interface Running<K extends AnyKind, Observed> extends Observing<K> {
  readonly observed: Observed;
  /** Reads and writes the cluster. */
  readonly kube: Kube;
  /** The same for all attempts of one execution of the step; another for the next execution. */
  readonly idempotencyKey: string;
}

/**
 * One step: an activity in the history, retried with backoff until it is done or no longer decided.
 *
 * @typeParam Data what a decision hands over besides a reason
 */
export interface StepDefinition<K extends AnyKind, Observed, Data> {
  /** What the Temporal UI shows beside the activity, before the reason: `create the bucket`. */
  readonly summary: string;
  /**
   * Does it. Takes at most ten seconds: start what takes longer, and wait for it in `decide`. An attempt may be repeated, and may
   * take effect after a later one.
   *
   * @param data of the decision that named this step, in this very attempt. It is never in the history
   * @returns what it did, in the past tense: `created the bucket`
   */
  readonly run: (running: Running<K, Observed>, data: Data) => Promise<string>;
}

/** How a decision names a step. */
type DoStep<Data> = undefined extends Data
  ? (because: string, data?: Data) => Outcome
  : (because: string, data: Data) => Outcome;

/** What `decide` answers with. Each reason is a sentence for people, without a full stop, and nothing secret. */
export interface NextOf<Steps> {
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
  /**
   * A person has to act.
   *
   * @param more `atMostMs`: after so many milliseconds it is observed again. Default: once the resource changes
   */
  stalled(cause: Cause, more?: { readonly atMostMs?: number }): Outcome;
  /** Nothing is left outside: the finalizer is removed. Only for a resource that is being deleted. */
  released(because: string): Outcome;
}

/** What `decide` has answered. Made by {@link NextOf} alone. */
export type Outcome =
  | { readonly is: 'step'; readonly step: string; readonly because: string; readonly data: unknown }
  | { readonly is: 'converged'; readonly because: string; readonly notReady?: Cause }
  | { readonly is: 'wait'; readonly what: string; readonly atMostMs: number; readonly cause?: Cause }
  | { readonly is: 'stalled'; readonly cause: Cause; readonly atMostMs?: number }
  | { readonly is: 'released'; readonly because: string };

/** What an author says of a controller. */
export interface ControllerDefinition<K extends AnyKind, Observed, Steps> {
  /** In kebab-case: `bucket`. It is in workflow ids, so it stays. */
  readonly name: string;
  readonly for: K;
  /** Kept on the resource until `decide` says that it is released: `example.com/bucket`. Default: none. */
  readonly finalizer?: string;
  /** Observes it again and again, for changes that no watch shows: `{ every: '10m' }`. From 10 s on. Default: never. */
  readonly poll?: { readonly every: string };
  /** Reads whatever decisions are made from. Reads only: it may be asked at any time, by commands, too. */
  readonly observe: (observing: Observing<K>) => Promise<Observed>;
  readonly steps: {
    readonly [Name in keyof Steps]: StepDefinition<NoInfer<K>, NoInfer<Observed>, Steps[Name]>;
  };
  /** What comes next, or why nothing does. Pure. It is asked before each attempt of a step, and after it. */
  decide(facts: Facts<NoInfer<K>, NoInfer<Observed>>, next: NextOf<NoInfer<Steps>>): Outcome;
  /** The author's own fields of the status. They are written once the resource rests. Default: none. */
  status?(facts: Facts<NoInfer<K>, NoInfer<Observed>>): Partial<StatusOf<NoInfer<K>>>;
  /** What `observe` and the steps need in the cluster. What the library itself needs is added. Default: nothing. */
  readonly permissions?: readonly PolicyRule[];
}

/**
 * A controller that decides. The steps and their data are typed: a step that does not exist does not compile.
 *
 * @throws Error where a name or a duration is not what it should be
 * @example
 * const bucket = defineController({
 *   name: 'bucket',
 *   for: Bucket,
 *   finalizer: 'example.com/bucket',
 *   observe: ({ resource, signal }) => store.find(resource.metadata.uid, signal),
 *   steps: {
 *     provision: {
 *       summary: 'create the bucket',
 *       run: async ({ resource, idempotencyKey, signal }) => {
 *         await store.create(resource.metadata.uid, { idempotencyKey, signal });
 *         return 'created the bucket';
 *       },
 *     },
 *     remove: {
 *       summary: 'remove the bucket',
 *       run: async ({ resource, signal }) => {
 *         await store.remove(resource.metadata.uid, signal);
 *         return 'removed the bucket';
 *       },
 *     },
 *   },
 *   decide({ resource: { isBeingDeleted }, observed }, next) {
 *     if (isBeingDeleted) return observed ? next.do.remove('it is being deleted') : next.released('no bucket is left');
 *     return observed ? next.converged('the bucket is there') : next.do.provision('there is no bucket');
 *   },
 * });
 */
export function defineController<K extends AnyKind, Observed, Steps>(
  definition: ControllerDefinition<K, Observed, Steps>,
): ControllerDefinition<K, Observed, Steps> {
  const { name, finalizer, poll, steps } = definition;
  const taken = Object.keys(steps).find((step) => RESERVED.includes(step));
  const problems = {
    [`the name "${name}" is not in kebab-case, such as "bucket" or "image-scan"`]: !KEBAB_CASE.test(name),
    [`the finalizer "${finalizer ?? ''}" has no domain before its name, such as "example.com/bucket"`]:
      finalizer !== undefined && !/^[^/]+\/[^/]+$/.test(finalizer),
    [`poll.every is "${poll?.every ?? ''}", but must be a duration such as "10m"`]:
      poll !== undefined && millisecondsIn(poll.every) === undefined,
    [`the step ${taken ?? ''} has a name that the library uses itself`]: taken !== undefined,
  };
  const problem = Object.entries(problems).find(([, isWrong]) => isWrong)?.[0];
  if (problem !== undefined) throw new Error(`controller ${name}: ${problem}`);
  return definition;
}

const KEBAB_CASE = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const RESERVED = ['observe', 'addFinalizer', 'removeFinalizer', 'updateStatus'];
