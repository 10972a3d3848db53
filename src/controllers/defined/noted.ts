import { z } from 'zod';
import type { ViewedObject } from '../../api/watched.ts';
import type { Condition } from '../../contract/control.ts';
import { digestOf } from '../../contract/digest.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { conditionsIn } from '../condition.ts';
import { controlWithoutStatusOf } from '../control/annotations.ts';
import { canonicalText } from '../fields.ts';
import { MANAGED_BY } from '../kinds.ts';
import { isHeld, type AnyDefinition } from './definition.ts';
import type { DefinedView } from './view.ts';

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

/** Undefined: there is none, it is of another object that had the name, or nobody can read it. */
function noteIn(text: string | undefined, uid: string): readonly Condition[] | undefined {
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

/** What the watcher keeps of it. Undefined: it is of no interest, and nothing is left of when it was. */
export function notedView(definition: AnyDefinition, object: KubernetesObject): DefinedView | undefined {
  const view: unknown = definition.view?.(object);
  const { namespace = '', name, uid, resourceVersion, deletionTimestamp, finalizers = [] } = object.metadata;
  const text = object.metadata.annotations?.[noteKeyOf(definition)];
  const isMarked = isHeld(definition, finalizers) || text !== undefined;
  if (view === undefined && !isMarked) return undefined;
  const noted = noteIn(text, uid);
  return {
    ...{ namespace, name, uid, resourceVersion, finalizers },
    // Many types have none, so the view tells what is new.
    generation: 0,
    observedGeneration: noted && 0,
    conditions: noted ?? [],
    isBeingDeleted: deletionTimestamp !== undefined,
    control: controlWithoutStatusOf(object),
    seen: {
      view,
      digest: digestOf([canonicalText(view ?? null), String(isHeld(definition, finalizers))]),
      isMarked,
    },
  };
}

/** As decisions and steps have it. */
export function viewedObject({ metadata }: KubernetesObject, view: unknown): ViewedObject<unknown> {
  const { uid, name, resourceVersion, namespace, deletionTimestamp } = metadata;
  return {
    metadata: { uid, name, resourceVersion, ...(namespace !== undefined && { namespace }) },
    view,
    isBeingDeleted: deletionTimestamp !== undefined,
  };
}
