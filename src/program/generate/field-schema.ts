import { z } from 'zod';
import { isKind } from '../../api/controller.ts';
import type { CustomResourceDefinition } from '../../api/kind.ts';
import type { Program } from '../program.ts';
import { manifest, type Files } from './files.ts';

/** The schema of a field, as far as it is compared. Source: apiextensions.k8s.io/v1, JSONSchemaProps. */
export interface FieldSchema {
  readonly [keyword: string]: unknown;
  readonly required?: readonly string[] | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly properties?: Readonly<Record<string, FieldSchema>> | undefined;
  readonly items?: FieldSchema | undefined;
  readonly additionalProperties?: boolean | FieldSchema | undefined;
}

const Field: z.ZodType<FieldSchema> = z.looseObject({
  required: z.array(z.string()).optional(),
  enum: z.array(z.unknown()).optional(),
  get properties() {
    return z.record(z.string(), Field).optional();
  },
  get items() {
    return Field.optional();
  },
  get additionalProperties() {
    return z.union([z.boolean(), Field]).optional();
  },
});

/** A CustomResourceDefinition, as a file has it. */
export const Definition = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    group: z.string(),
    scope: z.string(),
    names: z.object({ kind: z.string(), plural: z.string(), singular: z.string() }),
    versions: z.array(
      z.object({
        name: z.string(),
        schema: z.object({ openAPIV3Schema: Field }),
        subresources: z.object({ scale: z.unknown() }).partial().default({}),
      }),
    ),
  }),
});

export type Definition = z.infer<typeof Definition>;

/** The CustomResourceDefinitions of a program, each once. */
export function definitionsOf({ controllers }: Program): readonly CustomResourceDefinition[] {
  return [...new Set(controllers.flatMap(({ for: type }) => (isKind(type) ? type.manifest : [])))];
}

/** A file for each. */
export function definitionFiles(program: Program, folder: string): Files {
  return new Map(
    definitionsOf(program).map((definition) => {
      const { names } = Definition.parse(definition).spec;
      return [`${folder}/${names.plural}.yaml`, manifest(definition)];
    }),
  );
}
