import { defineKind, type ResourceOf } from 'durable-operator';
import { z } from 'zod';

const command = (what: string) =>
  z
    .string()
    .min(1)
    .max(2_000)
    .meta({ description: `A shell command that ${what}.` });

export const Migration = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Migration',
  description: 'A migration of a database: backup, migrate, verify; and roll back if that fails.',
  spec: z.object({
    image: z.string().min(1).meta({ description: 'The image that has the commands.' }),
    backup: command('makes a backup'),
    migrate: command('migrates'),
    verify: command('fails unless the migration has succeeded'),
    rollback: command('restores the backup'),
  }),
  status: z.object({
    stage: z.string().optional().meta({ description: 'The last stage that has begun.' }),
  }),
  columns: [{ name: 'Stage', description: 'The last stage that has begun.', path: '.status.stage' }],
  rules: [{ rule: 'self.spec == oldSelf.spec', message: 'the spec is immutable: create another Migration' }],
});

export type MigrationResource = ResourceOf<typeof Migration>;
