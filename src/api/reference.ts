import type { ResourceType } from './resource-type.ts';
import type { NamespacedName } from './watched.ts';

/** What references follow from. */
export interface ReferenceContext<R, Options> {
  readonly resource: R;
  readonly options: Options;
}

/**
 * A type whose objects resources refer to, by name or by labels. A change of one of them, its creation and its deletion are changes of
 * all resources that refer to it, also while the operator was away. Only metadata is watched; `observe` reads what it needs.
 *
 * @typeParam R the resource
 * @typeParam Options the values of the options of the controller
 * @example
 * references: [
 *   { ...SECRETS, names: ({ resource }) => [{ name: resource.spec.secretName }] },
 *   { ...NAMESPACES, matchLabels: ({ resource }) => resource.spec.namespaceLabels },
 * ]
 */
export interface ReferencedType<R, Options = unknown> extends ResourceType {
  /** The objects by their names, whether there are any or not. Pure. Default namespace: that of the resource. Default: none. */
  names?(context: ReferenceContext<R, Options>): readonly NamespacedName[];
  /**
   * The labels of the objects; of a namespaced type, in the namespace of the resource. Pure. Undefined: it selects none. Default: none.
   */
  matchLabels?(context: ReferenceContext<R, Options>): Readonly<Record<string, string>> | undefined;
}

/** An object that a resource refers to, as far as the library knows it. */
export interface ReferencedObject {
  readonly type: ResourceType;
  /** Absent where the type is cluster-scoped. */
  readonly namespace?: string;
  readonly name: string;
  /** Absent: there is no such object. */
  readonly uid?: string;
  /** Another one after each write of the object. Absent: there is no such object. */
  readonly resourceVersion?: string;
}
