import type { ResourceType } from '../contract/controller.ts';
import type { ConditionalDelete, ConditionalPatch, NewObject, ObjectAt } from '../contract/kube.ts';
import type { KubernetesObject } from '../contract/object.ts';

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
  /** Needs the UID of the object; and the step has to say in `deletes` what it deletes. */
  delete(at: ObjectAt, conditions: ConditionalDelete): Promise<void>;
}
