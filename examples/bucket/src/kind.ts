import { defineKind } from 'durable-operator';
import { z } from 'zod';

export const Bucket = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Bucket',
  description: 'A bucket in the store.',
  spec: z.object({
    versioned: z.boolean().default(false).meta({ description: 'Whether it keeps old versions.' }),
  }),
  status: z.object({ url: z.string().optional().meta({ description: 'Where the bucket is.' }) }),
});
