import type { ResourceType } from '../contract/controller.ts';
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
