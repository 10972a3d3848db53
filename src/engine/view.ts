import { z } from 'zod';
import {
  isKind,
  isParsed,
  keepsNote,
  writesStatus,
  type AnyKind,
  type ResourceOf,
} from '../api/controller.ts';
import type { ParsedType } from '../api/parsed-type.ts';
import type { Condition } from '../api/condition.ts';
import type { Control } from './holds/control.ts';
import type { References } from './controller.ts';
import type { KubernetesObject } from '../api/object.ts';
import { conditionsIn, generationIn } from './condition.ts';
import { controlOf, controlWithoutStatusOf, controlWithStatusOf } from './holds/annotations.ts';
import { fieldsOf, type Fields } from '../api/fields.ts';
import type { Declares } from './children/declared.ts';
import { isDeclaring, isHeld, stepsOf, type AnyDefinition, type LiveResource } from './definition.ts';
import { noteIn, noteTextIn } from './note.ts';

/** What is known of a resource itself. */
export interface DefinedView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** 0 where the type is not of `defineKind`: many have none, so the view tells what is new. */
  readonly generation: number;
  readonly isBeingDeleted: boolean;
  readonly finalizers: readonly string[];
  /** It has others, which the watcher does not keep. */
  readonly hasOtherFinalizers?: true;
  /** Undefined: nothing is remembered of it yet. */
  readonly observedGeneration: number | undefined;
  readonly conditions: readonly Condition[];
  readonly control: Control | undefined;
  /** As the author's functions have it. Absent: only a step asks them, and reads it. */
  readonly resource?: LiveResource;
  /** As it is stored. Only where the status is the controller's. */
  readonly status?: Fields;
  /** The annotation that says what is remembered. Absent: it is the status that does, or nothing has to be. */
  readonly note?: 'there' | 'missing';
  /** Absent: it declares no objects. */
  readonly declares?: Declares | undefined;
  /** By type. Absent: it refers to nothing, or cannot tell. */
  readonly refers?: readonly References[] | undefined;
}

/** Undefined: the object is of no interest, and nothing is left of when it was. */
export function definedView(definition: AnyDefinition, object: KubernetesObject): DefinedView | undefined {
  const { namespace = '', name, uid, resourceVersion, deletionTimestamp, finalizers = [] } = object.metadata;
  const resource = liveResourceOf(definition, object);
  const remembered = rememberedOf(definition, object);
  const isMarked = isHeld(definition, finalizers) || remembered.note === 'there';
  if (!isOfInterest(definition, resource) && !isMarked) return undefined;
  return {
    ...{ namespace, name, uid, resourceVersion, finalizers, resource },
    isBeingDeleted: deletionTimestamp !== undefined,
    ...remembered,
  };
}

/** Whether its `view` shows something. */
export function isOfInterest(definition: AnyDefinition, resource: LiveResource): boolean {
  return definition.view === undefined || resource.view !== undefined || resource.invalid !== undefined;
}

/** Whether the functions of its author get no more of it than a view. */
export function isViewed(definition: AnyDefinition): boolean {
  return definition.view !== undefined || !isKind(definition.for);
}

/** As decisions and steps have it. */
export function liveResourceOf(definition: AnyDefinition, object: KubernetesObject): LiveResource {
  const type = definition.for;
  const whole = isKind(type) ? resourceOf(type, object) : isParsed(type) ? parsedOf(type, object) : object;
  if (isKind(type) && definition.view === undefined) return whole as LiveResource;
  const { uid, name, resourceVersion, namespace, deletionTimestamp } = object.metadata;
  const { invalid, parsed } = whole as Parsed;
  return {
    metadata: { uid, name, resourceVersion, ...(namespace !== undefined && { namespace }) },
    view: isViewedAs(definition, whole, deletionTimestamp) ? (definition.view?.(whole) as unknown) : parsed,
    isBeingDeleted: deletionTimestamp !== undefined,
    ...(invalid !== undefined && { invalid }),
  };
}

/** What removes a resource of a kind may need what is stored of it, whether that fits or not. */
function isViewedAs(definition: AnyDefinition, { invalid }: Parsed, deletedAt: string | undefined): boolean {
  if (definition.view === undefined) return false;
  const isLetGo = isKind(definition.for) && definition.finalizer !== undefined && deletedAt !== undefined;
  return invalid === undefined || isLetGo;
}

type Remembered = Pick<
  DefinedView,
  'generation' | 'observedGeneration' | 'conditions' | 'control' | 'status' | 'note'
>;

function rememberedOf(definition: AnyDefinition, object: KubernetesObject): Remembered {
  const generation = isKind(definition.for) ? (object.metadata.generation ?? 0) : 0;
  if (writesStatus(definition)) {
    const status = fieldsOf(object['status']);
    return {
      generation,
      observedGeneration: generationIn(status['observedGeneration']),
      conditions: conditionsIn(status['conditions']),
      control: controlWithStatusOf(object),
      status,
    };
  }
  if (!keepsNote(definition)) {
    const control = isAlwaysControlled(definition) ? controlWithoutStatusOf(object) : controlOf(object);
    return { generation, observedGeneration: undefined, conditions: [], control };
  }
  const text = noteTextIn(definition, object);
  const noted = noteIn(text, object.metadata.uid);
  return {
    generation,
    observedGeneration: noted?.find(({ type }) => type === 'Ready')?.observedGeneration,
    conditions: noted ?? [],
    control: controlWithoutStatusOf(object),
    note: text === undefined ? 'missing' : 'there',
  };
}

/** Whether more than an annotation may ask for a poll or an approval. Resources without annotations are many. */
function isAlwaysControlled(definition: AnyDefinition): boolean {
  const isDeleting = Object.values(stepsOf(definition)).some((step) => step.deletes !== undefined);
  return isDeleting || isDeclaring(definition) || definition.pollInterval !== undefined;
}

/** The whole resource, parsed. */
export function resourceOf<K extends AnyKind>(kind: K, object: KubernetesObject): ResourceOf<K> {
  const spec = kind.spec.safeParse(object['spec'] ?? {});
  const status = kind.status.partial().safeParse(object['status'] ?? {});
  // Who wrote which field is more than the rest of it, and nobody decides from that.
  const metadata = { ...object.metadata, managedFields: undefined };
  const parsed = {
    ...object,
    metadata,
    spec: spec.success ? spec.data : fittingIn(kind, fieldsOf(object['spec'])),
    status: status.success ? status.data : {},
    isBeingDeleted: object.metadata.deletionTimestamp !== undefined,
    ...conditionsOf(object),
    ...(!spec.success && { invalid: problemsIn(spec.error) }),
  };
  // The schemas of the kind have parsed it.
  return parsed as unknown as ResourceOf<K>;
}

function conditionsOf(
  object: KubernetesObject,
): Pick<ResourceOf<AnyKind>, 'conditions' | 'observedGeneration'> {
  const status = fieldsOf(object['status']);
  const observedGeneration = generationIn(status['observedGeneration']);
  return {
    ...('conditions' in status && { conditions: conditionsIn(status['conditions']) }),
    ...(observedGeneration !== undefined && { observedGeneration }),
  };
}

/** Parsed, as far as it fits: what deletes the resource may still need it. */
function fittingIn({ spec: { shape } }: AnyKind, stored: Fields): Fields {
  const fitting = Object.entries(shape).flatMap(([field, schema]) => {
    const { success, data }: z.ZodSafeParseResult<unknown> = z.safeParse(schema as z.ZodType, stored[field]);
    return success && data !== undefined ? [[field, data] as const] : [];
  });
  return { ...stored, ...Object.fromEntries(fitting) };
}

/** What is known of an object of another operator's type. */
type Parsed = KubernetesObject & { readonly invalid?: string; readonly parsed?: object };

function parsedOf({ fields }: ParsedType<z.ZodObject>, object: KubernetesObject): Parsed {
  const { success, data, error } = fields.safeParse(object);
  return success ? { ...object, ...data, parsed: data } : { ...object, invalid: problemsIn(error, '') };
}

interface Problems {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
}

function problemsIn({ issues }: Problems, root = 'spec'): string {
  // As the API server names fields.
  const placeOf = (path: readonly PropertyKey[]) =>
    path
      .reduce<string>((at, key) => `${at}${typeof key === 'number' ? `[${key}]` : `.${String(key)}`}`, root)
      .replace(/^\./, '');
  return issues.map(({ path, message }) => `${placeOf(path)}: ${message}`).join('; ');
}
