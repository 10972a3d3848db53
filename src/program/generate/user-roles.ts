/** A resource that people work with. */
export interface UserResource {
  readonly group: string;
  readonly plural: string;
  /** Whether it has the subresource that `kubectl scale` writes. */
  readonly hasScale: boolean;
  /** Whether it gives more power than the roles `admin` and `edit` have. These then do not include its editor's role. */
  readonly isPowerful: boolean;
}

const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'delete', 'patch', 'update'];

/**
 * The ClusterRoles `<name>-editor-role` and `<name>-viewer-role`: labels and rules by name. Their labels make
 * Kubernetes include them in `admin`, `edit` and `view`, unless that would give somebody more power than before.
 * Source: the Kubernetes page "Using RBAC Authorization", "Aggregated ClusterRoles".
 */
export function userRoles(name: string, resource: UserResource) {
  return {
    [`${name}-editor-role`]: {
      labels: aggregatedTo(resource.isPowerful ? [] : ['admin', 'edit']),
      rules: rulesFor(resource, [...READ, ...WRITE]),
    },
    [`${name}-viewer-role`]: { labels: aggregatedTo(['view']), rules: rulesFor(resource, READ) },
  };
}

function aggregatedTo(roles: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    roles.map((role) => [`rbac.authorization.k8s.io/aggregate-to-${role}`, 'true'] as const),
  );
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
