import type { KubernetesObject, ObjectMeta } from '../../contract/object.ts';
import { matchesLabels, type LabelSelector } from '../label-selector.ts';

export const MANAGED_BY_LABEL = 'app.kubernetes.io/managed-by';
export const MANAGED_BY = 'durable-operator';
export const RBAC_API_GROUP = 'rbac.authorization.k8s.io';

/** The operator's options for this controller, parsed. */
export interface RoleBindingOptions {
  /** The ClusterRole that every binding refers to: `edit`. */
  readonly clusterRole: string;
  /** What the binding's and the group's name begin with: `ad-kubernetes-`. */
  readonly prefix: string;
  readonly namespaceSelector: LabelSelector;
  readonly excludeNamespaces: readonly string[];
}

export interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly apiGroup?: string;
  readonly namespace?: string;
}

export interface RoleRef {
  readonly apiGroup: string;
  readonly kind: string;
  readonly name: string;
}

export interface RoleBinding extends KubernetesObject {
  readonly roleRef: RoleRef;
  readonly subjects?: readonly Subject[];
}

/** What a Namespace calls for. */
export type NamespaceState = 'terminating' | 'unselected' | 'selected';

/**
 * How the binding that is there compares with the one that is wanted. `ours` carries our label;
 * `foreign` does not and differs: it is never touched.
 */
export type BindingState =
  | 'absent'
  | 'being-deleted'
  | 'as-wanted'
  | 'as-wanted-and-ours'
  | 'ours-with-other-subjects'
  | 'ours-with-other-role'
  | 'foreign';

export type RoleBindingStep = 'nothing' | 'create' | 'correct-subjects' | 'replace' | 'release' | 'refuse';

/** What a run is told. Only `create` is acted on unread: it fails where a binding is there after all. */
export interface SeenNamespace {
  readonly step: Exclude<RoleBindingStep, 'nothing'>;
}

export function bindingNameFor(namespace: string, options: RoleBindingOptions): string {
  return options.prefix + namespace;
}

/** The RoleBinding that a namespace's team is to have. */
export function wantedRoleBinding(namespace: string, options: RoleBindingOptions) {
  const name = bindingNameFor(namespace, options);
  return {
    apiVersion: `${RBAC_API_GROUP}/v1`,
    kind: 'RoleBinding',
    metadata: { name, namespace, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } },
    subjects: [{ kind: 'Group', name, apiGroup: RBAC_API_GROUP }],
    roleRef: { apiGroup: RBAC_API_GROUP, kind: 'ClusterRole', name: options.clusterRole },
  };
}

export function namespaceState(namespace: ObjectMeta, options: RoleBindingOptions): NamespaceState {
  if (namespace.deletionTimestamp !== undefined) return 'terminating';
  if (options.excludeNamespaces.includes(namespace.name)) return 'unselected';
  return matchesLabels(options.namespaceSelector, namespace.labels ?? {}) ? 'selected' : 'unselected';
}

export function bindingState(
  binding: RoleBinding | undefined,
  namespace: string,
  options: RoleBindingOptions,
): BindingState {
  if (binding === undefined) return 'absent';
  if (binding.metadata.deletionTimestamp !== undefined) return 'being-deleted';
  const wanted = wantedRoleBinding(namespace, options);
  const ours = binding.metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY;
  const roleIsRight = sameRoleRef(binding.roleRef, wanted.roleRef);
  if (roleIsRight && sameSubjects(binding.subjects ?? [], wanted.subjects)) {
    return ours ? 'as-wanted-and-ours' : 'as-wanted';
  }
  if (!ours) return 'foreign';
  return roleIsRight ? 'ours-with-other-subjects' : 'ours-with-other-role';
}

export function decideRoleBinding(namespace: NamespaceState, binding: BindingState): RoleBindingStep {
  switch (namespace) {
    case 'terminating':
      return 'nothing';
    case 'unselected':
      return binding.includes('ours') ? 'release' : 'nothing';
    case 'selected':
      return STEP_IN_SELECTED_NAMESPACE[binding];
  }
}

const STEP_IN_SELECTED_NAMESPACE: Readonly<Record<BindingState, RoleBindingStep>> = {
  absent: 'create',
  // Its deletion is an event of its own, and then it is put back.
  'being-deleted': 'nothing',
  'as-wanted': 'nothing',
  'as-wanted-and-ours': 'nothing',
  'ours-with-other-subjects': 'correct-subjects',
  'ours-with-other-role': 'replace',
  foreign: 'refuse',
};

function sameRoleRef(a: RoleRef, b: RoleRef): boolean {
  return a.kind === b.kind && a.name === b.name && a.apiGroup === b.apiGroup;
}

function sameSubjects(a: readonly Subject[], b: readonly Subject[]): boolean {
  return a.length === b.length && a.every((subject, i) => sameSubject(subject, b[i]));
}

function sameSubject(a: Subject, b: Subject | undefined): boolean {
  return (
    a.kind === b?.kind &&
    a.name === b.name &&
    a.apiGroup === b.apiGroup &&
    (a.namespace ?? '') === (b.namespace ?? '')
  );
}
