import type { AnyKind, ResourceOf } from '../../api/controller.ts';
import type { Condition, Control } from '../../contract/control.ts';
import type { References } from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { conditionsIn, generationIn } from '../condition.ts';
import { controlWithStatusOf } from '../control/annotations.ts';
import { fieldsOf } from '../fields.ts';
import type { Declares } from './children/declared.ts';

/** What the watcher keeps of a resource of an author's kind. */
export interface DefinedView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly isBeingDeleted: boolean;
  readonly finalizers: readonly string[];
  readonly observedGeneration: number | undefined;
  readonly conditions: readonly Condition[];
  readonly control: Control;
  /** Absent: it declares no objects. */
  readonly declares?: Declares | undefined;
  /** By type. Absent: it refers to nothing, or cannot tell. */
  readonly refers?: readonly References[] | undefined;
  /** Of a type that is not of `defineKind`. */
  readonly seen?: SeenView;
}

/** What the author's `view` shows of a resource. */
export interface SeenView {
  readonly view: unknown;
  /** Of that, and of whether our finalizer is there. */
  readonly digest: string;
  /** It has our finalizer, or our state. */
  readonly isMarked: boolean;
}

export function definedView(object: KubernetesObject): DefinedView {
  const { metadata, ...rest } = object;
  const {
    namespace = '',
    name,
    uid,
    resourceVersion,
    generation = 0,
    deletionTimestamp,
    finalizers = [],
  } = metadata;
  const { observedGeneration, conditions } = fieldsOf(rest['status']);
  return {
    ...{ namespace, name, uid, resourceVersion, generation, finalizers },
    isBeingDeleted: deletionTimestamp !== undefined,
    observedGeneration: generationIn(observedGeneration),
    conditions: conditionsIn(conditions),
    control: controlWithStatusOf(object),
  };
}

/** The whole resource, as a step reads it. */
export function resourceOf<K extends AnyKind>(kind: K, object: KubernetesObject): ResourceOf<K> {
  const spec = kind.spec.safeParse(object['spec'] ?? {});
  const status = kind.status.partial().safeParse(object['status'] ?? {});
  const parsed = {
    ...object,
    spec: spec.success ? spec.data : fieldsOf(object['spec']),
    status: status.success ? status.data : {},
    isBeingDeleted: object.metadata.deletionTimestamp !== undefined,
    ...(!spec.success && { invalid: problemsIn(spec.error) }),
  };
  // The schemas of the kind have parsed it.
  return parsed as unknown as ResourceOf<K>;
}

interface Problems {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
}

function problemsIn({ issues }: Problems): string {
  return issues
    .map(({ path, message }) => `spec${path.map((part) => `.${String(part)}`).join('')}: ${message}`)
    .join('; ');
}
