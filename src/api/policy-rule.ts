import type { ResourceType } from './resource-type.ts';

/** One rule of a Role, as `rbac.authorization.k8s.io/v1` writes it. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** What `permissions` says of one type: `allow(PODS, ["get", "list"])`, `allow(POD_SETS, ["patch"], { subresource: "status" })`. */
export function allow(
  type: ResourceType,
  verbs: readonly string[],
  only: { readonly subresource?: string; readonly names?: readonly string[] } = {},
): PolicyRule {
  const { group, plural } = type;
  const { subresource, names } = only;
  return {
    apiGroups: [group],
    resources: [subresource === undefined ? plural : `${plural}/${subresource}`],
    verbs,
    ...(names !== undefined && { resourceNames: names }),
  };
}
