import type { Condition } from '../../src/controllers/condition.ts';
import { objectOf, type IntegerSchema, type ListSchema, type TextSchema } from './schema.ts';

/** As in `metav1.Condition`. Conditions that others write may lack its optional fields. */
const condition = objectOf<Condition>({
  description: 'One aspect of the state.',
  optional: ['observedGeneration'],
  properties: {
    type: {
      description: 'The name of the condition, in CamelCase.',
      type: 'string',
      minLength: 1,
      maxLength: 316,
      pattern: String.raw`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`,
    },
    status: {
      description: 'Whether the condition holds.',
      type: 'string',
      enum: ['True', 'False', 'Unknown'],
    },
    observedGeneration: {
      description: 'The metadata.generation that the condition is about.',
      type: 'integer',
      format: 'int64',
      minimum: 0,
    },
    lastTransitionTime: {
      description: 'When the status of the condition last changed.',
      type: 'string',
      format: 'date-time',
    },
    reason: {
      description: 'The reason in CamelCase, for programs.',
      type: 'string',
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    },
    message: { description: 'The reason for people.', type: 'string', maxLength: 32_768 },
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

/** As in Flux: before the first reconcile, no generation has been observed. */
export const BEFORE_FIRST_RECONCILE = { observedGeneration: -1 } as const;

export const OBSERVED_GENERATION: IntegerSchema = {
  description: 'The metadata.generation that this status is about; -1 before the first reconcile.',
  type: 'integer',
  format: 'int64',
  minimum: BEFORE_FIRST_RECONCILE.observedGeneration,
};

/** An annotation may hold 256 KiB, so the status has only its beginning. */
const ECHO_MAX = 1024;

/** The last requests of people, by annotations, that the operator has carried out. */
export const LAST_HANDLED: Readonly<Record<'lastHandledReconcileAt' | 'lastHandledApproval', TextSchema>> = {
  lastHandledReconcileAt: {
    description:
      'The value of the annotation durable-operator.dev/reconcile-requested-at that was reconciled last.',
    type: 'string',
    maxLength: ECHO_MAX,
  },
  lastHandledApproval: {
    description: 'The ID of the last approved plan whose deletions are complete.',
    type: 'string',
    maxLength: ECHO_MAX,
  },
};
