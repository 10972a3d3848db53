import type { Current, CurrentObject } from '../src/api/child.ts';
import type { Decision } from '../src/api/next.ts';
import type { DecisionContext } from '../src/api/step.ts';
import type { Advice } from '../src/api/cause.ts';
import { namedStep } from '../src/runs/decision.ts';
import type { ReferencedObject } from '../src/api/reference.ts';
import type { ResourceType } from '../src/api/resource-type.ts';
import { unknownUntil, type UnknownAttempt } from '../src/api/unknown-attempt.ts';
import type { KubernetesObject, ObjectMeta } from '../src/api/object.ts';
import { nextOf, type AnyDefinition } from '../src/engine/definition.ts';
import { askDecide, keyOfNode, lookedUp, type LookupValues } from '../src/engine/lookups.ts';
import { liveResourceOf } from '../src/engine/view.ts';
import { checked } from './checked.ts';

/** A resource, as far as a decision depends on it. */
export interface GivenResource {
  /** As somebody writes it: defaults are added. Default: `{}`. */
  readonly spec?: object;
  readonly status?: object;
  readonly metadata?: Partial<ObjectMeta>;
  /** Default: false. */
  readonly isBeingDeleted?: boolean;
}

/** What was decided, to be compared: `{ do: 'provision', because: 'there is no bucket' }`. A step that is named `wait` or the like has `isStep`. */
export type Decided =
  | {
      readonly do: 'converged' | 'removeFinalizer';
      readonly because: string;
      readonly notReady?: object;
      readonly event?: object;
    }
  | {
      readonly do: 'wait';
      readonly for: string;
      readonly recheckAfter: string;
      readonly cause?: object;
      readonly action?: string;
    }
  | {
      readonly do: 'stalled';
      readonly reason: string;
      readonly message: string;
      readonly advice: readonly Advice[];
      readonly recheckAfter?: string;
    }
  | { readonly do: 'record'; readonly status: object; readonly then: Decided; readonly event?: object }
  | { readonly do: 'reason'; readonly reason: string; readonly then: Decided; readonly isReady?: boolean }
  | { readonly do: string; readonly isStep?: true; readonly because: string; readonly data?: unknown };

type ObservedIn<D extends AnyDefinition> =
  Parameters<NonNullable<D['decide']>>[0] extends DecisionContext<unknown, unknown, infer Observed>
    ? Observed
    : unknown;

/** By the names of the lookups; the Nodes by their own names. */
export interface GivenLookups {
  readonly node?: Readonly<Record<string, KubernetesObject | undefined>>;
  readonly [name: string]: unknown;
}

/** What a decision may depend on besides. */
export interface DecisionInputs {
  /** Milliseconds since the epoch. Default: 0. */
  readonly nowMs?: number;
  /** The views of the objects of `owns`. Default: none. */
  readonly owned?: readonly unknown[];
  /** What the resource refers to. Default: nothing. */
  readonly references?: readonly ReferencedObject[];
  /** What there is of the objects of `children`: `() => ({ ready: true, isBeingDeleted: false })`. Default: nothing. */
  readonly current?: (
    type: ResourceType,
    name: string,
    namespace?: string,
  ) => CurrentObject<unknown> | undefined;
  /** Attempts whose outcome is not known. Default: none. */
  readonly unknown?: readonly UnknownAttempt[];
  /**
   * What was read of its lookups, `{ backups: ['a'], node: { 'worker-1': { … } } }`; a Node that is not there is undefined. A decision that asks for another one is `{ do: 'observe', because: 'lookup backups has to be
   * read' }`. Default: nothing.
   */
  readonly lookups?: GivenLookups;
  /** Default: the defaults of its options. */
  readonly options?: object;
}

/** Asks `decide` and `status` of a controller, without servers. */
export interface Decisions<Observed> {
  /**
   * @param observed what `observe` would have read
   * @throws Error where the spec is not valid, or the controller is not pure
   */
  readonly of: (resource: GivenResource, observed: Observed, besides?: DecisionInputs) => Decided;
  /** The author's own fields of the status. Likewise. */
  readonly status: (resource: GivenResource, observed: Observed, besides?: DecisionInputs) => object;
}

/**
 * For tables of decisions.
 *
 * @example
 * const { of } = decisions(bucket);
 * assert.deepEqual(of({ spec: { versioned: true } }, { versioned: false }), {
 *   do: 'setVersioning',
 *   because: 'the spec asks for it',
 *   data: { to: true },
 * });
 * assert.deepEqual(of({ isBeingDeleted: true }, undefined), { do: 'removeFinalizer', because: 'no bucket is left' });
 */
export function decisions<D extends AnyDefinition>(controller: D): Decisions<ObservedIn<D>> {
  return {
    of: (given, observed, besides = {}) => {
      const { definition } = checked(controller, besides.options);
      const asked = { next: nextOf(definition), values: lookupsIn(besides), asked: new Set<string>() };
      const outcome = askDecide(definition, factsOf(definition, given, { observed, ...besides }), asked);
      if (outcome === undefined) throw new Error(`controller ${definition.name} has no decide`);
      return 'do' in outcome ? { do: outcome.do, because: outcome.because } : decidedAs(outcome);
    },
    status: (given, observed, besides = {}) => {
      const { definition } = checked(controller, besides.options);
      return (definition.status?.(factsOf(definition, given, { observed, ...besides })) ?? {}) as object;
    },
  };
}

type Seen = DecisionInputs & { readonly observed: unknown };

/** What `decide` is given. */
export function factsOf(definition: AnyDefinition, given: GivenResource, seen: Seen) {
  const { observed, nowMs = 0, owned = [], references = [], unknown = [] } = seen;
  const unknownForMs = Math.max(unknownUntil(unknown) - nowMs, 0);
  const resource = liveResourceOf(definition, objectOf(definition, given));
  if (resource.invalid !== undefined && !given.isBeingDeleted)
    throw new Error(
      `${definition.name} is never asked about such a resource, its spec is not valid: ${resource.invalid}`,
    );
  // The controller's own types say what of it.
  const lookups = lookedUp(definition, lookupsIn(seen));
  const facts = { resource, owned, references, observed, lookups, nowMs, unknown, unknownForMs };
  const { current = () => undefined } = seen;
  return { ...facts, current: current as Current<never> } as DecisionContext<never, never, unknown>;
}

function lookupsIn({ lookups = {} }: DecisionInputs): LookupValues {
  const { node = {}, ...values } = lookups;
  const nodes = Object.entries(node).map(([name, found]) => [keyOfNode(name), found] as const);
  return { ...values, ...Object.fromEntries(nodes) };
}

/** As the API server would have it. */
export function objectOf({ finalizer, for: type }: AnyDefinition, given: GivenResource): KubernetesObject {
  const { group, version, kind, namespaced } = type;
  const { spec = {}, status = {}, isBeingDeleted = false, metadata } = given;
  return {
    apiVersion: group === '' ? version : `${group}/${version}`,
    kind,
    spec,
    status,
    metadata: {
      ...{ name: 'example', uid: 'uid-of-example', resourceVersion: '1', generation: 1 },
      ...(namespaced && { namespace: 'default' }),
      ...(finalizer !== undefined && { finalizers: [finalizer] }),
      ...(isBeingDeleted && { deletionTimestamp: '1970-01-01T00:00:00Z' }),
      ...metadata,
    },
  };
}

function decidedAs(outcome: Decision): Decided {
  switch (outcome.is) {
    case 'step': {
      const { step, because, data } = outcome;
      return { ...namedStep(step), because, ...(data !== undefined && { data }) };
    }
    case 'wait': {
      const { is, what, ...more } = outcome;
      return { do: is, for: what, ...more };
    }
    case 'stalled': {
      const { is, cause, ...more } = outcome;
      return { do: is, ...cause, ...more };
    }
    case 'record': {
      const { is, then, ...more } = outcome;
      return { do: is, ...more, then: decidedAs(then) };
    }
    case 'reason': {
      const { is, then, ...more } = outcome;
      return { do: is, ...more, then: decidedAs(then) };
    }
    case 'converged':
    case 'removeFinalizer': {
      const { is, ...more } = outcome;
      return { do: is, ...more };
    }
  }
}
