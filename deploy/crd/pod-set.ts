import {
  POD_SET_KIND,
  POD_SETS,
  type PodSetSpec,
  type PodSetStatus,
} from '../../src/controllers/pod-set/resource.ts';
import { conditions, LAST_HANDLED, OBSERVED_GENERATION } from './conditions.ts';
import { AGE, customResourceDefinition, READY, REASON } from './definition.ts';
import { objectOf } from './schema.ts';

const spec = objectOf<PodSetSpec>({
  description: 'The desired state.',
  properties: {
    replicas: { description: 'The desired number of Pods.', type: 'integer', format: 'int32', minimum: 0 },
  },
});

const status = objectOf<Partial<PodSetStatus>>({
  description: 'The observed state. The operator writes it.',
  optional: 'all',
  properties: {
    podNames: {
      description:
        'The names of the available Pods: Pending or Running, and not being deleted; of more than 1,000, those of the oldest.',
      type: 'array',
      'x-kubernetes-list-type': 'atomic',
      items: { description: 'The name of a Pod.', type: 'string' },
    },
    readyReplicas: {
      description:
        'How many Pods are available: Pending or Running, and not being deleted. It does not say how many are Ready.',
      type: 'integer',
      format: 'int32',
      minimum: 0,
    },
    selector: {
      description: 'The label selector of the Pods, for the scale subresource.',
      type: 'string',
    },
    observedGeneration: OBSERVED_GENERATION,
    conditions: conditions(
      'Ready: the desired count is there, and every Pod is ready. Stalled: it cannot go on by itself. Reconciling: neither.',
    ),
    ...LAST_HANDLED,
  },
});

export const podSetDefinition = customResourceDefinition({
  group: POD_SETS.group,
  version: POD_SETS.version,
  names: {
    kind: POD_SET_KIND.kind,
    plural: POD_SETS.plural,
    singular: 'podset',
    shortNames: POD_SETS.shortNames ?? [],
  },
  description: 'A PodSet keeps a number of Pods running, each with the label app=<its name>.',
  spec,
  status,
  rules: [
    {
      rule: 'size(self.metadata.name) <= 63',
      message:
        'metadata.name must be at most 63 characters long: it is the value of a label of the Pods; choose a shorter one',
    },
  ],
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.readyReplicas',
    labelSelectorPath: '.status.selector',
  },
  columns: [
    {
      name: 'Desired',
      type: 'integer',
      description: 'The desired number of Pods.',
      jsonPath: '.spec.replicas',
    },
    {
      name: 'Available',
      type: 'integer',
      description: 'The number of Pods that are Pending or Running.',
      jsonPath: '.status.readyReplicas',
    },
    READY,
    REASON,
    AGE,
    {
      name: 'Message',
      type: 'string',
      description: 'The message of the first condition that is True: Ready, Stalled or Reconciling.',
      // A column has one value, the first: apiextensions-apiserver, pkg/registry/customresource/tableconvertor.
      jsonPath: '.status.conditions[?(@.status=="True")].message',
      priority: 1,
    },
  ],
});
