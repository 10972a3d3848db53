import type { Condition } from '../../src/controllers/condition.ts';
import { objectOf, type IntegerSchema, type ListSchema, type TextSchema } from './schema.ts';

/** As `metav1.Condition` has it; somebody else's condition may lack what is optional there. */
const condition = objectOf<Condition>({
  description: 'One aspect of the state.',
  optional: ['observedGeneration'],
  properties: {
    type: {
      description: 'The aspect, in CamelCase.',
      type: 'string',
      minLength: 1,
      maxLength: 316,
      pattern: String.raw`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`,
    },
    status: { description: 'Whether it is so.', type: 'string', enum: ['True', 'False', 'Unknown'] },
    observedGeneration: {
      description: 'The metadata.generation for which this was found.',
      type: 'integer',
      format: 'int64',
      minimum: 0,
    },
    lastTransitionTime: {
      description: 'When the status became what it is.',
      type: 'string',
      format: 'date-time',
    },
    reason: {
      description: 'Why, in CamelCase, for programs.',
      type: 'string',
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    },
    message: { description: 'Why, for people.', type: 'string', maxLength: 32_768 },
  },
});

export function conditions(description: string): ListSchema<Condition> {
  return {
    description,
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
    items: condition,
  };
}

/** As Flux has it: before the first reconcile no generation has been observed, not even the first. */
export const BEFORE_FIRST_RECONCILE = { observedGeneration: -1 } as const;

export const OBSERVED_GENERATION: IntegerSchema = {
  description: 'The metadata.generation that this status is about; -1 before the first reconcile.',
  type: 'integer',
  format: 'int64',
  minimum: BEFORE_FIRST_RECONCILE.observedGeneration,
};

/** An annotation may hold 256 KiB: what is echoed of it is cut. */
const ECHO_MAX = 1024;

/** What was done last of what people asked for by annotations. */
export const LAST_HANDLED: Readonly<Record<'lastHandledReconcileAt' | 'lastHandledApproval', TextSchema>> = {
  lastHandledReconcileAt: {
    description:
      'The value of the annotation durable-operator.dev/reconcile-requested-at that was reconciled last.',
    type: 'string',
    maxLength: ECHO_MAX,
  },
  lastHandledApproval: {
    description: 'The ID of the last plan that was approved and of which nothing is left to delete.',
    type: 'string',
    maxLength: ECHO_MAX,
  },
};
