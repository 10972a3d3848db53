import type { ResourceType } from './resource-type.ts';
import type { Identity, KubernetesObject } from './object.ts';

/**
 * A type, and which of its objects are watched.
 *
 * @example
 * const RUNNING_PODS = { ...PODS, metadataOnly: true, fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed' } as const;
 */
export interface WatchedType extends ResourceType {
  /** Only the metadata of its objects is read. */
  readonly metadataOnly?: true;
  readonly fieldSelector?: string;
  /** Only objects with these labels: `app=web,tier!=cache`. One that loses them counts as gone. */
  readonly labelSelector?: string;
}

/** An object of a type that is not of `defineKind`: which one, and the view of it. */
export interface ViewedObject<View> {
  readonly metadata: Identity;
  readonly view: View;
  readonly isBeingDeleted: boolean;
}

/** Where an object is. A cluster-scoped one has no namespace. */
export type NamespacedName = Pick<Identity, 'namespace' | 'name'>;

/**
 * A type whose objects belong to the resources of a controller. A change of one is a change of its resource.
 *
 * @typeParam View what decisions need of an object
 * @example
 * owns: [DEPLOYMENTS, { ...CONFIG_MAPS, ownerOf: 'example.com/website', view: ({ metadata }) => metadata.labels }]
 */
export interface OwnedType<View> extends WatchedType {
  /**
   * What is kept of an object, and what `decide` is given: plain data, and little. Undefined: the object is of no interest. Of an object of
   * `children`, `current` has it, too. Default: it is an object of `children`, and nothing is kept of it.
   */
  view?(object: KubernetesObject): View | undefined;
  /**
   * Which resource an object belongs to: a label that holds the name of the resource, or a function. Default: the owner
   * reference whose `controller` is true. Those of a namespaced resource are in its namespace, unless `nameFor` says where.
   */
  readonly ownerOf?: string | ((object: KubernetesObject) => NamespacedName | undefined);
  /**
   * Its API may be missing, such as that of a CRD that nobody has installed. Then there are no such objects, and none is created; one that is
   * declared `after` such an object does not wait for it. They are created when the API comes, without a restart. Default: the controller
   * waits for the API.
   */
  readonly optional?: true;
  /** Labels that all objects of a resource have, so that a step lists these alone. Default: those with the label of `ownerOf` are listed, else all in the namespace. */
  readonly labelsFor?: (resource: Identity) => Readonly<Record<string, string>>;
  /** The one object that a resource can have, so that it is read by name. */
  readonly nameFor?: (resource: NamespacedName) => NamespacedName;
}
