import { defineKind } from 'durable-operator';
import { z } from 'zod';

export const SecretCopy = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'SecretCopy',
  plural: 'secretcopies',
  description: 'Copies a Secret of its namespace into other namespaces.',
  spec: z.object({
    secretName: z.string().meta({ description: 'The Secret that is copied.' }),
    namespaces: z.array(z.string()).default([]).meta({ description: 'Namespaces by name.' }),
    namespaceLabels: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: 'Labels of other namespaces.' }),
  }),
  status: z.object({ copies: z.int().optional().meta({ description: 'How many copies there are.' }) }),
});
