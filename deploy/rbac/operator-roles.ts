import { defaultOptions } from '../../src/config/config.ts';
import { allow, type Controller, type PolicyRule, type ResourceType } from '../../src/contract/controller.ts';
import { NAMESPACES, QUOTAS } from '../../src/controllers/kinds.ts';
import { LABELS } from '../labels.ts';
import { mergeRules } from './merge-rules.ts';

/** What roles follow from. */
export type Declared = Pick<Controller, 'primary' | 'children' | 'permissions'>;

/** A role, and its binding. */
type RoleAndBinding = readonly [role: RbacObject, binding: RbacObject];

/** Whom the operator watches for: everybody, or some namespaces, in each of which a Role is all that it has. */
export type Scope = 'cluster' | 'namespaces';

/** The identities of the operator's processes; `controller-manager` is watcher and worker in one. */
export type AccountName = 'controller-manager' | 'watcher' | 'worker';

export interface RbacObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly rules?: readonly PolicyRule[];
}

/** Where it is installed, unless somebody says otherwise. */
export const NAMESPACE = 'system';

const RBAC_API_GROUP = 'rbac.authorization.k8s.io';
const RBAC = `${RBAC_API_GROUP}/v1`;

/** The only ones that a Role cannot give: a Namespace, for that matter, lies in itself. */
const CLUSTER_SCOPED: readonly string[] = ['nodes'];

/**
 * What the watches of these controllers ask for; whether a Namespace is paused or deleted concerns all of them, and what its
 * quotas allow.
 */
export function watcherRules(controllers: readonly Declared[], scope: Scope): PolicyRule[] {
  return mergeRules(
    [...controllers.flatMap(watchedBy), NAMESPACES, QUOTAS].map((type) => watchingRule(type, scope)),
  );
}

function watchedBy({ primary, children }: Declared): readonly ResourceType[] {
  return [primary.type, ...children.map(({ type }) => type)];
}

function watchingRule({ group, plural, namespaced }: ResourceType, scope: Scope): PolicyRule {
  // A Role lets its own Namespace be read by name, but not watched.
  const verbs = namespaced || scope === 'cluster' ? ['list', 'watch'] : ['get'];
  return { apiGroups: [group], resources: [plural], verbs };
}

type Acting = Pick<Declared, 'permissions'>;

/** What the activities of these controllers ask for; they also look whether a Namespace is paused. */
export function workerRules(controllers: readonly Acting[], scope: Scope): PolicyRule[] {
  const rules = [...controllers.flatMap(({ permissions }) => permissions), allow(NAMESPACES, ['get'])];
  return mergeRules(scope === 'cluster' ? rules : rules.filter((rule) => !isClusterScoped(rule)));
}

/** What their activities ask for beyond their namespaces. */
export function clusterScopedRules(controllers: readonly Acting[]): PolicyRule[] {
  return mergeRules(controllers.flatMap(({ permissions }) => permissions).filter(isClusterScoped));
}

function isClusterScoped({ resources }: PolicyRule): boolean {
  return resources.every((resource) => CLUSTER_SCOPED.includes(resource));
}

/** All that one process needs that is watcher and worker. */
export function managerRules(controllers: readonly Declared[], scope: Scope): PolicyRule[] {
  return mergeRules([...watcherRules(controllers, scope), ...workerRules(controllers, scope)]);
}

export function serviceAccount(name: AccountName): RbacObject {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: metadataOf(name, NAMESPACE) };
}

/** A ClusterRole, and whom it is bound to. */
export function clusterRole(name: string, rules: readonly PolicyRule[]): RbacObject {
  return { apiVersion: RBAC, kind: 'ClusterRole', metadata: metadataOf(name), rules };
}

export function clusterRoleBinding(role: string, accounts: readonly AccountName[]): RbacObject {
  return bindingOf('ClusterRole', { role, accounts });
}

export function labelled(object: RbacObject, labels: Readonly<Record<string, string>>): RbacObject {
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, labels: { ...metadata.labels, ...labels } } };
}

/** Only names are given here: which namespace it is for, the kustomization says that includes it. */
export function roleInEach(name: string, rules: readonly PolicyRule[]): RbacObject {
  return { apiVersion: RBAC, kind: 'Role', metadata: metadataOf(name), rules };
}

export function roleBindingInEach(role: string, accounts: readonly AccountName[]): RbacObject {
  return bindingOf('Role', { role, accounts });
}

/** For the Lease; to create cannot be limited to a name: the RBAC page, "Referring to resources". */
export function leaderElectionRole(account: AccountName): RoleAndBinding {
  const lease = defaultOptions().leaderElection.name;
  const of = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
  const role = 'leader-election-role';
  const rules = [
    { ...of, verbs: ['create'] },
    { ...of, resourceNames: [lease], verbs: ['get', 'update'] },
  ];
  return [
    { apiVersion: RBAC, kind: 'Role', metadata: metadataOf(role, NAMESPACE), rules },
    bindingOf('Role', { role, accounts: [account], namespace: NAMESPACE }),
  ];
}

/** To ask the API server who wants to see metrics, and whether they may. */
export function metricsAuthRole(accounts: readonly AccountName[]): RoleAndBinding {
  const rules = [
    { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  ];
  return [clusterRole('metrics-auth-role', rules), clusterRoleBinding('metrics-auth-role', accounts)];
}

/** For whoever collects metrics; bind it to them. */
export function metricsReader() {
  const rules = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }];
  return { apiVersion: RBAC, kind: 'ClusterRole', metadata: metadataOf('metrics-reader'), rules };
}

function metadataOf(name: string, namespace?: string): RbacObject['metadata'] {
  return { name, ...(namespace !== undefined && { namespace }), labels: LABELS };
}

interface Bound {
  readonly role: string;
  readonly accounts: readonly AccountName[];
  /** Of the binding; undefined: none, or the kustomization says which. */
  readonly namespace?: string;
}

/** Of `manager-role`, it is `manager-rolebinding`. */
function bindingOf(kind: 'ClusterRole' | 'Role', { role, accounts, namespace }: Bound) {
  return {
    apiVersion: RBAC,
    kind: `${kind}Binding`,
    metadata: metadataOf(`${role}binding`, namespace),
    roleRef: { apiGroup: RBAC_API_GROUP, kind, name: role },
    subjects: accounts.map((name) => ({ kind: 'ServiceAccount', name, namespace: NAMESPACE })),
  };
}
