import type { PolicyRule } from '../../api/policy-rule.ts';

/**
 * The same permissions in the fewest rules: one rule for all resources of an API group with the same verbs. Their order
 * depends only on the permissions.
 */
export function mergeRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const verbsOf = collect(rules.flatMap(permissionsIn), (each) => [
    each.apiGroup,
    each.resource,
    each.resourceNames,
  ]);
  const merged = collect(
    [...verbsOf.values()].map((same) => ({ ...same[0], verbs: sorted(same.map(({ verb }) => verb)) })),
    (each) => [each.apiGroup, each.resourceNames, each.verbs],
  );
  return [...merged.values()].map(ruleFor).sort((a, b) => compare(orderOf(a), orderOf(b)));
}

/** What the rules allow that others do not. */
export function addedRules(before: readonly PolicyRule[], after: readonly PolicyRule[]): PolicyRule[] {
  const known = new Set(before.flatMap(permissionsIn).map((each) => JSON.stringify(each)));
  const added = after.flatMap(permissionsIn).filter((each) => !known.has(JSON.stringify(each)));
  return mergeRules(
    added.map(({ apiGroup, resource, verb, resourceNames }) => ({
      ...{ apiGroups: [apiGroup], resources: [resource], verbs: [verb] },
      ...(resourceNames.length > 0 && { resourceNames }),
    })),
  );
}

/** `create, delete jobs`; `bind clusterroles (edit)`. */
export function ruleText({ verbs, resources, resourceNames = [] }: PolicyRule): string {
  const names = resourceNames.length > 0 ? ` (${resourceNames.join(', ')})` : '';
  return `${verbs.join(', ')} ${resources.join(', ')}${names}`;
}

/** One verb on one resource. */
interface Permission {
  readonly apiGroup: string;
  readonly resource: string;
  readonly verb: string;
  /** None means every name. */
  readonly resourceNames: readonly string[];
}

function permissionsIn({ apiGroups, resources, verbs, resourceNames = [] }: PolicyRule): Permission[] {
  return apiGroups.flatMap((apiGroup) =>
    resources.flatMap((resource) =>
      verbs.map((verb) => ({ apiGroup, resource, verb, resourceNames: sorted(resourceNames) })),
    ),
  );
}

type NonEmpty<T> = [T, ...T[]];

function collect<T>(items: readonly T[], keyOf: (item: T) => unknown): Map<string, NonEmpty<T>> {
  const groups = new Map<string, NonEmpty<T>>();
  for (const item of items) {
    const key = JSON.stringify(keyOf(item));
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

function ruleFor(same: NonEmpty<Omit<Permission, 'verb'> & { readonly verbs: string[] }>): PolicyRule {
  const [{ apiGroup, resourceNames, verbs }] = same;
  return {
    apiGroups: [apiGroup],
    ...(resourceNames.length > 0 ? { resourceNames: [...resourceNames] } : {}),
    resources: sorted(same.map(({ resource }) => resource)),
    verbs,
  };
}

function orderOf({ apiGroups, resources, resourceNames = [], verbs }: PolicyRule): string {
  return JSON.stringify([apiGroups, resources, resourceNames, verbs]);
}

function sorted(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort(compare);
}

/** By code unit: the same order in every locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
