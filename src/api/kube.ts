import type { ResourceType } from './resource-type.ts';
import type { KubernetesObject, ObjectMeta } from './object.ts';

/** Which objects of a type to list. */
export interface ListOptions {
  /** Default: those of all namespaces. */
  readonly namespace?: string;
  /** `app=web,tier!=cache` */
  readonly labelSelector?: string;
  /** `status.phase!=Succeeded`. */
  readonly fieldSelector?: string;
  /** Only the metadata of the objects is read. */
  readonly metadataOnly?: boolean;
  /** At most so many, where fewer will do: they come in one answer, and one of more than a mebibyte counts as empty. Default: all. */
  readonly limit?: number;
}

/** How to apply. */
export interface ApplyOptions {
  /** Takes fields away from their managers. Default: false. */
  readonly force?: boolean;
}

/** Reads objects of the cluster. What is read has to be in `permissions`. Each method throws an {@link ApiError}. */
export interface KubeReader {
  /** Undefined where there is no such object. */
  get<T extends KubernetesObject = KubernetesObject>(
    at: ObjectAt,
    only?: Pick<ListOptions, 'metadataOnly'>,
  ): Promise<T | undefined>;
  /**
   * All of them, however many: choose by labels where there may be many.
   *
   * @param view what to keep of an object, while pages of large ones are read; undefined: nothing. Default: all of it
   * @example
   * const names = await kube.list(PODS, { namespace, metadataOnly: true }, ({ metadata }) => metadata.name);
   */
  list<T = KubernetesObject>(
    type: ResourceType,
    selection?: ListOptions,
    view?: (object: KubernetesObject) => T | undefined,
  ): Promise<readonly T[]>;
}

/**
 * Reads and writes objects of the cluster. A write says what it was decided from, so that it fails where that has changed; then the
 * resource is observed again. Each method throws an {@link ApiError}.
 *
 * @example
 * await kube.create(JOBS, { metadata: { name: `${resource.metadata.name}-backup`, namespace }, spec });
 */
export interface Kube extends KubeReader {
  /** Use a name that a second attempt would choose again. */
  create<T extends KubernetesObject = KubernetesObject>(type: ResourceType, object: NewObject): Promise<T>;
  /**
   * Whether the server would accept such an object, by a dry run: ask before you delete something to make room for it. That the name
   * is taken does not count.
   */
  dryRunCreate(type: ResourceType, object: NewObject): Promise<void>;
  /** A merge patch with the resourceVersion or the UID that it was decided from. */
  patch<T extends KubernetesObject = KubernetesObject>(at: ObjectAt, patch: ConditionalPatch): Promise<T>;
  /**
   * Server-side apply, with the field manager `<operator>.<controller>`: the object becomes as it says, in the fields that it names. Name
   * all that the controller wants of the object each time: the fields of an earlier apply that this one does not name go.
   *
   * Hand over the UID of the object that you have read, and its resourceVersion if it must not have changed since. Without a UID there was
   * none: the object is created, and it is a `conflict` if there is one by then. It is `refused` if another manager has set one of the
   * fields to something else; those of `create` and `patch` are another manager's, too. Needs the right to `patch`, and to `create`.
   *
   * @returns the object as it is then
   * @example
   * const at = { type: CONFIG_MAPS, namespace, name: 'feature-flags' };
   * const uid = (await kube.get(at))?.metadata.uid;
   * await kube.apply(CONFIG_MAPS, { metadata: { namespace, name: 'feature-flags', uid }, data: { search: 'on' } });
   */
  apply<T extends KubernetesObject = KubernetesObject>(
    type: ResourceType,
    object: AppliedObject,
    options?: ApplyOptions,
  ): Promise<T>;
  /**
   * Sets how many replicas an object has, by its subresource `scale`. Needs the UID of the object, and the right to `patch` that:
   * `allow(DEPLOYMENTS, ['patch'], { subresource: 'scale' })`.
   *
   * @returns not the object, but its scale
   * @example
   * await kube.scale({ type: DEPLOYMENTS, namespace, name: 'web' }, { uid, replicas: 0 });
   */
  scale(at: ObjectAt, wanted: ConditionalScale): Promise<Scale>;
  /**
   * Deletes a Pod, unless a PodDisruptionBudget does not allow it. Then it throws `disruption-budget`: let it through, and the step ends
   * without a failure, the resource waits for that PodDisruptionBudget, and the step is tried again after the time that the server asks
   * for, or 10 s. It counts as a delete: the step has to name the Pod in `deletes`. Needs the right to evict:
   * `allow(PODS, ['create'], { subresource: 'eviction' })`.
   *
   * @example
   * for (const { metadata: { namespace, name, uid } } of pods) {
   *   await kube.evict({ namespace, name }, { uid });
   *   progress(`evicted Pod ${name}`);
   * }
   */
  evict(pod: Pick<ObjectAt, 'namespace' | 'name'>, conditions: ConditionalEviction): Promise<void>;
  /** Needs the UID of the object; and the step has to name it in `deletes`. */
  delete(at: ObjectAt, conditions: ConditionalDelete): Promise<void>;
}

/** One object. A namespace is left out where the kind has none. */
export interface ObjectAt {
  readonly type: Pick<ResourceType, 'group' | 'version' | 'plural'> & { readonly namespaced?: boolean };
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly subresource?: 'status' | undefined;
}

/** An object to create. Its type says where. */
export interface NewObject {
  readonly metadata?: { readonly [Field in keyof ObjectMeta]?: ObjectMeta[Field] | undefined };
  readonly [field: string]: unknown;
}

/**
 * What a controller wants an object to be: all fields that it cares for. With the UID of the object that it was decided from; without,
 * that there is none, and it is created.
 */
export interface AppliedObject extends NewObject {
  readonly metadata: NonNullable<NewObject['metadata']> & { readonly name: string };
}

/** A merge patch that says what it was decided from: the server refuses it where the object is another by then. */
export interface ConditionalPatch {
  readonly metadata: ({ readonly resourceVersion: string } | { readonly uid: string }) & Fields;
  readonly [field: string]: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

/** A delete that says what it was decided from. Source: apimachinery, `metav1.Preconditions`. */
export interface ConditionalDelete {
  readonly uid: string;
  readonly resourceVersion?: string;
  readonly propagation?: 'Foreground' | 'Background' | 'Orphan';
}

/** An eviction that says what it was decided from. */
export type ConditionalEviction = Omit<ConditionalDelete, 'propagation'>;

/** How many replicas an object is to have, and what that was decided from. */
export interface ConditionalScale {
  readonly uid: string;
  readonly resourceVersion?: string;
  readonly replicas: number;
}

/** How an object scales, whatever its type. Source: `autoscaling/v1`, Scale. */
export interface Scale extends KubernetesObject {
  /** What is asked for. */
  readonly spec: { readonly replicas?: number };
  /** What there is; `selector` selects its Pods. */
  readonly status: { readonly replicas: number; readonly selector?: string };
}
