import type { z } from 'zod';
import type { ResourceType } from './resource-type.ts';
import type { WatchedType } from './watched.ts';

/** A type of another operator, with a parser of its objects. */
export interface ParsedType<Fields extends z.ZodObject> extends WatchedType {
  readonly fields: Fields;
}

/** What is said of such a type. */
export interface TypeDefinition<Fields extends z.ZodObject> extends Omit<
  ResourceType,
  'plural' | 'namespaced'
> {
  /** Default: the kind in lower case, with an `s`. */
  readonly plural?: string;
  /** Default: true. */
  readonly namespaced?: boolean;
  /** What is read of its objects, besides the metadata: `z.object({ spec: z.object({ secretName: z.string() }) })`. */
  readonly fields: Fields;
}

/** Whether {@link defineType} has made it. */
export function isParsed(type: WatchedType): type is ParsedType<z.ZodObject> {
  return 'fields' in type;
}

/**
 * Describes a type whose CustomResourceDefinition is somebody else's. An object that does not parse is left alone: its run is stalled, and an
 * Event says why.
 *
 * @example
 * const Certificate = defineType({
 *   group: 'cert-manager.io',
 *   version: 'v1',
 *   kind: 'Certificate',
 *   fields: z.object({ spec: z.object({ secretName: z.string() }) }),
 * });
 * const renewed = defineController({
 *   name: 'renewed',
 *   for: Certificate,
 *   decide: ({ resource: { view } }, next) => next.converged(`it is in Secret ${view.spec.secretName}`),
 * });
 */
export function defineType<Fields extends z.ZodObject>(
  definition: TypeDefinition<Fields>,
): ParsedType<Fields> {
  const { kind } = definition;
  return { plural: `${kind.toLowerCase()}s`, namespaced: true, ...definition };
}
