import { defineKind, type ResourceOf } from 'durable-operator';
import { z } from 'zod';

export const Database = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  description: 'A database with an app beside it, and an account in the directory of the company.',
  spec: z.object({
    image: z.string().min(1).default('postgres:18').meta({ description: 'The image of the database.' }),
    app: z.string().min(1).meta({ description: 'The image of the app, which needs the database.' }),
  }),
  status: z.object({ address: z.string().optional() }),
});

export type DatabaseResource = ResourceOf<typeof Database>;
