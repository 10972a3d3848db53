import type { Facts, Outcome, ResourceOf } from '../src/api/controller.ts';
import type { Advice } from '../src/contract/cause.ts';
import type { ObjectMeta } from '../src/contract/object.ts';
import { nextOf, type AnyDefinition } from '../src/controllers/defined/decide.ts';
import { resourceOf } from '../src/controllers/defined/view.ts';
import { checked } from './checked.ts';

/** A resource, as far as a decision depends on it. */
export interface Given {
  /** As somebody writes it: defaults are added. Default: `{}`. */
  readonly spec?: object;
  readonly status?: object;
  readonly metadata?: Partial<ObjectMeta>;
  /** Default: false. */
  readonly isBeingDeleted?: boolean;
}

/** What was decided, to be compared: `{ do: 'provision', because: 'there is no bucket' }`. */
export type Decided =
  | { readonly do: 'converged' | 'released'; readonly because: string; readonly notReady?: object }
  | { readonly do: 'wait'; readonly for: string; readonly atMostMs: number; readonly cause?: object }
  | {
      readonly do: 'stalled';
      readonly code: string;
      readonly because: string;
      readonly advice: readonly Advice[];
      readonly atMostMs?: number;
    }
  | { readonly do: string; readonly because: string; readonly data?: unknown };

type ObservedIn<D> = D extends { decide(facts: Facts<never, infer Observed>, next: never): unknown }
  ? Observed
  : unknown;

/** Asks `decide` and `status` of a controller, without servers. */
export interface Decisions<Observed> {
  /**
   * @param observed what `observe` would have read
   * @param nowMs milliseconds since the epoch. Default: 0
   * @throws Error where the spec is not valid, or the controller is not pure
   */
  readonly of: (resource: Given, observed: Observed, nowMs?: number) => Decided;
  /** The author's own fields of the status. Likewise. */
  readonly status: (resource: Given, observed: Observed, nowMs?: number) => object;
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
 * assert.deepEqual(of({ isBeingDeleted: true }, undefined), { do: 'released', because: 'no bucket is left' });
 */
export function decisions<D extends AnyDefinition>(controller: D): Decisions<ObservedIn<D>> {
  const { definition } = checked(controller);
  return {
    of: (...given) => decidedAs(definition.decide(factsOf(definition, ...given), nextOf(definition))),
    status: (...given) => definition.status?.(factsOf(definition, ...given)) ?? {},
  };
}

function factsOf({ for: kind, name, finalizer }: AnyDefinition, given: Given, observed: unknown, nowMs = 0) {
  const { spec = {}, status = {}, isBeingDeleted = false, metadata } = given;
  const resource = resourceOf(kind, {
    spec,
    status,
    metadata: {
      ...{
        name: 'example',
        namespace: 'default',
        uid: 'uid-of-example',
        resourceVersion: '1',
        generation: 1,
      },
      ...(finalizer !== undefined && { finalizers: [finalizer] }),
      ...(isBeingDeleted && { deletionTimestamp: '1970-01-01T00:00:00Z' }),
      ...metadata,
    },
  }) as ResourceOf<never>;
  if (resource.invalid !== undefined && !isBeingDeleted)
    throw new Error(
      `${name} is never asked about such a resource, its spec is not valid: ${resource.invalid}`,
    );
  return { resource, observed, nowMs };
}

function decidedAs(outcome: Outcome): Decided {
  switch (outcome.is) {
    case 'step': {
      const { step, because, data } = outcome;
      return { do: step, because, ...(data !== undefined && { data }) };
    }
    case 'wait': {
      const { is, what, ...more } = outcome;
      return { do: is, for: what, ...more };
    }
    case 'stalled': {
      const { is, cause, ...more } = outcome;
      return { do: is, ...cause, ...more };
    }
    case 'converged':
    case 'released': {
      const { is, ...more } = outcome;
      return { do: is, ...more };
    }
  }
}
