import type { KubernetesObject } from './object.ts';
import type { ResourceRef } from './resource.ts';

/** One rule of a Role, as `rbac.authorization.k8s.io/v1` writes it. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** What a watch keeps of an object; the rest is dropped as it arrives. */
export interface Projection {
  /** The object's own: `<namespace>/<name>`, or `<name>` where it is cluster-scoped. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** What a watch keeps of an object that belongs to a resource. */
export interface ChildProjection extends Projection {
  /** The key of the resource. */
  readonly belongsTo: string;
}

/** One kind of object that a controller watches. */
export interface Watched<P extends Projection> {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Only `PartialObjectMetadata` is read. */
  readonly metadataOnly: boolean;
  readonly fieldSelector?: string;
  /** Only objects with these labels; one that loses them counts as gone. */
  readonly labelSelector?: string;
  /** The few fields to keep, or undefined where the object is of no interest. */
  project(object: KubernetesObject): P | undefined;
}

/** Is the resource to have an open run, and if so, what is the run to know? */
export type Verdict<Seen> = { readonly needsWork: false } | Need<Seen>;

export interface Need<Seen> {
  readonly needsWork: true;
  /** For people. An open run is told once of every need that differs from the last in `reason` or `about`. */
  readonly reason: string;
  /** What else makes it another need, such as the generation. It holds nothing that the run itself changes. */
  readonly about?: string;
  /**
   * An open run is at it by itself, as where it awaits the end of a Job: it is not told. Where none is open,
   * one is started all the same.
   */
  readonly underWay?: true;
  readonly seen: Seen;
}

/**
 * What the watcher needs to know of a controller. All of it is pure: the same objects give the same verdict.
 *
 * @typeParam Primary what is kept of the resource itself
 * @typeParam Child what is kept of the objects that the resource owns or governs; a union where they are of several kinds
 * @typeParam Seen what a run is told of them
 */
export interface Controller<
  Primary extends Projection = Projection,
  Child extends ChildProjection = ChildProjection,
  Seen = unknown,
> {
  readonly name: string;
  /** The exported name of its workflow in `workflows/`. */
  readonly workflowType: string;
  /** The sentence that the Temporal UI shows over a run. */
  summary(ref: ResourceRef): string;
  readonly primary: Watched<Primary>;
  /** The kinds of objects that a resource owns or governs. */
  readonly children: readonly Watched<Child>[];
  /** Is there anything to do? Asked again whenever one of the projections changes, and at every resync. */
  needsWork(primary: Primary, children: readonly Child[]): Verdict<Seen>;
  /** There is nothing to do for a resource whose namespace is being deleted: what it creates would be refused. */
  readonly endsWithNamespace?: true;
  /** Only where the resources are Namespaces: whether this one is being deleted. The other controllers are told. */
  isNamespaceGoing?(primary: Primary): boolean;
  /**
   * What its activities must be allowed, all of it and nothing more. What the watcher must be allowed, to list and
   * to watch, follows from `primary` and `children`.
   */
  readonly permissions: readonly PolicyRule[];
}

export const NO_WORK: Verdict<never> = { needsWork: false };
