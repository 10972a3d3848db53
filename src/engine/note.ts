import { z } from 'zod';
import type { Condition } from '../api/condition.ts';
import type { KubernetesObject } from '../api/object.ts';
import { conditionsIn } from './condition.ts';
import { MANAGED_BY } from '../api/kinds.ts';
import type { AnyDefinition } from './definition.ts';

/*
 * What the library remembers of a resource whose status is not its own: the same conditions, in an annotation. It is no input, so
 * that writing it triggers nothing.
 */

/** A qualified name in Kubernetes has at most 63 characters after the slash. */
const NAME_MAX = 63;
const VERSION = 1;

const Note = z.object({ version: z.literal(VERSION), uid: z.string(), conditions: z.array(z.unknown()) });

/** @throws Error where the names are too long for it */
export function noteKeyOf({ operator = MANAGED_BY, name }: AnyDefinition): string {
  const its = `${operator}.${name}`;
  if (its.length > NAME_MAX)
    throw new Error(
      `controller ${name} keeps its state in an annotation named ${its}, which may have at most ${NAME_MAX} characters: choose a shorter name`,
    );
  return `state.durable-operator.dev/${its}`;
}

/** As an annotation holds it. */
export function noteOf(uid: string, conditions: readonly Condition[]): string {
  return JSON.stringify({ version: VERSION, uid, conditions });
}

export function noteTextIn(definition: AnyDefinition, { metadata }: KubernetesObject): string | undefined {
  return metadata.annotations?.[noteKeyOf(definition)];
}

/** Undefined: there is none, it is of another object that had the name, or nobody can read it. */
export function noteIn(text: string | undefined, uid: string): readonly Condition[] | undefined {
  if (text === undefined) return undefined;
  const note = Note.safeParse(parsed(text));
  return note.success && note.data.uid === uid ? conditionsIn(note.data.conditions) : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
