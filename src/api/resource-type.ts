import type { ResourceRef } from './resource-ref.ts';

/** Names a resource type; `group` is empty for the core API. Paths and permissions follow from it. */
export interface ResourceType {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** What people type for short: `po`. */
  readonly shortNames?: readonly string[];
}

/** Unambiguous for kubectl: `podsets.batch.tutorial.kubebuilder.io`, `pods`. */
export function typeNameOf({ group, plural }: Pick<ResourceType, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`;
}

/** `apps/v1`, `v1`. */
export function apiVersionOf({ group, version }: Pick<ResourceType, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}

export function isNamespaceType({ group, kind }: Pick<ResourceType, 'group' | 'kind'>): boolean {
  return group === '' && kind === 'Namespace';
}

/** The namespace that a resource is in, or that it is. Other cluster-scoped resources have none: a reference repeats their name. */
export function namespaceOf(
  { namespace }: Pick<ResourceRef, 'namespace'>,
  type: ResourceType,
): string | undefined {
  return type.namespaced || isNamespaceType(type) ? namespace : undefined;
}
