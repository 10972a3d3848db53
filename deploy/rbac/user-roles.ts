import { LABELS } from '../labels.ts';

/** A resource that people work with. */
export interface UserResource {
  readonly group: string;
  readonly plural: string;
  /** Whether it has the subresource that `kubectl scale` writes. */
  readonly hasScale: boolean;
  /** Whether it gives more power than the roles `admin` and `edit` have, which then do not include its editor's. */
  readonly isPowerful: boolean;
}

const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'delete', 'patch', 'update'];

/**
 * The ClusterRoles `<name>-editor-role` and `<name>-viewer-role`. By their labels, the roles `admin`, `edit` and
 * `view` of Kubernetes include them, where that gives nobody more power than before.
 * Source: the Kubernetes page "Using RBAC Authorization", "Aggregated ClusterRoles".
 */
export function userRoles(name: string, resource: UserResource) {
  return [
    clusterRole(
      `${name}-editor-role`,
      resource.isPowerful ? [] : ['admin', 'edit'],
      rulesFor(resource, [...READ, ...WRITE]),
    ),
    clusterRole(`${name}-viewer-role`, ['view'], rulesFor(resource, READ)),
  ];
}

function rulesFor({ group, plural, hasScale }: UserResource, verbs: readonly string[]) {
  const rule = (resource: string, of: readonly string[]) => ({
    apiGroups: [group],
    resources: [resource],
    verbs: of.toSorted(),
  });
  const scaling = verbs.filter((verb) => ['get', 'patch', 'update'].includes(verb));
  return [
    rule(plural, verbs),
    rule(`${plural}/status`, ['get']),
    ...(hasScale ? [rule(`${plural}/scale`, scaling)] : []),
  ];
}

function clusterRole(name: string, aggregatedTo: readonly string[], rules: readonly object[]) {
  const labels: Record<string, string> = { ...LABELS };
  for (const role of aggregatedTo) labels[`rbac.authorization.k8s.io/aggregate-to-${role}`] = 'true';
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name, labels },
    rules,
  };
}
