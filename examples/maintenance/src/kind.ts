import { defineKind } from 'durable-operator';
import { z } from 'zod';

export const NodeMaintenance = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'NodeMaintenance',
  namespaced: false,
  description: 'No Pod runs on a Node, until this is deleted.',
  spec: z.object({
    node: z.string().min(1).meta({ description: 'The name of the Node.' }),
  }),
  status: z.object({ pods: z.int().optional().meta({ description: 'How many Pods are left.' }) }),
  columns: [{ name: 'Pods', description: 'How many Pods are left.', path: '.status.pods' }],
});
