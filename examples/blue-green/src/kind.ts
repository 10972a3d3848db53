import { defineKind } from 'durable-operator';
import { z } from 'zod';

const Colour = z.enum(['blue', 'green']);

export type Colour = z.output<typeof Colour>;

export const Rollout = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Rollout',
  description:
    'A server that gets each new image beside the old one, and takes it over once it has proved itself.',
  spec: z.object({
    image: z.string().min(1).meta({ description: 'The image that serves it.' }),
    replicas: z.int().min(1).max(100).default(1),
    soakSeconds: z
      .int()
      .min(0)
      .default(60)
      .meta({ description: 'How long a new image has to be well first.' }),
    deadlineSeconds: z
      .int()
      .min(1)
      .default(600)
      .meta({ description: 'How long it may take until it is well.' }),
  }),
  // The memory of the procedure: where it is, and since when.
  status: z.object({
    active: Colour.optional().meta({ description: 'The one that serves.' }),
    blue: z.string().optional().meta({ description: 'The image of the Deployment.' }),
    green: z.string().optional().meta({ description: 'The image of the Deployment.' }),
    phase: z.enum(['starting', 'soaking', 'done']).optional(),
    since: z.iso.datetime().optional().meta({ description: 'When that phase began.' }),
  }),
  columns: [
    { name: 'ACTIVE', path: '.status.active' },
    { name: 'PHASE', path: '.status.phase' },
  ],
});
