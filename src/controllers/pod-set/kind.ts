import { z } from 'zod';
import { defineKind } from '../../api/index.ts';

/** The schema and the columns of a PodSet. */
export const PodSetKind = defineKind({
  group: 'batch.tutorial.kubebuilder.io',
  version: 'v1',
  kind: 'PodSet',
  shortNames: ['pset'],
  categories: ['durable-operator'],
  description: 'A PodSet keeps a number of Pods running, each with the label app=<its name>.',
  rules: [
    {
      rule: 'size(self.metadata.name) <= 63',
      message:
        'metadata.name must be at most 63 characters long: it is the value of a label of the Pods; choose a shorter one',
    },
  ],
  spec: z
    .object({ replicas: z.int32().min(0).meta({ description: 'The desired number of Pods.' }) })
    .meta({ description: 'The desired state.' }),
  status: z.object({
    podNames: z
      .array(z.string().meta({ description: 'The name of a Pod.' }))
      .optional()
      .meta({
        description:
          'The names of the available Pods: Pending or Running, and not being deleted; of more than 1,000, those of the oldest.',
        'x-kubernetes-list-type': 'atomic',
      }),
    readyReplicas: z.int32().min(0).optional().meta({
      description:
        'How many Pods are available: Pending or Running, and not being deleted. It does not say how many are Ready.',
    }),
    selector: z
      .string()
      .optional()
      .meta({ description: 'The label selector of the Pods, for the scale subresource.' }),
  }),
  conditions:
    'Ready: all desired Pods exist and are Ready. Stalled: somebody has to act. Reconciling: the operator has something left to do. None of them: a Pod does not become Ready, and Ready says why.',
  scale: {
    specReplicas: '.spec.replicas',
    statusReplicas: '.status.readyReplicas',
    labelSelector: '.status.selector',
  },
  columns: [
    {
      name: 'Desired',
      type: 'integer',
      description: 'The desired number of Pods.',
      path: '.spec.replicas',
    },
    {
      name: 'Available',
      type: 'integer',
      description: 'The number of Pods that are Pending or Running.',
      path: '.status.readyReplicas',
    },
    {
      name: 'Message',
      description: 'Why it is Ready, or not.',
      path: '.status.conditions[?(@.type=="Ready")].message',
      priority: 1,
    },
  ],
});
