import type { Advice, Cause } from '../../contract/cause.ts';
import type { Control } from '../../contract/control.ts';
import {
  converged,
  stalled,
  warning,
  type Decision,
  type Deletion,
  type Step,
} from '../../contract/decision.ts';
import type { KubernetesObject, ObjectMeta } from '../../contract/object.ts';
import { MANAGED_BY, MANAGED_BY_LABEL, RBAC_GROUP } from '../kinds.ts';
import { matchesLabels, type LabelSelector } from '../../api/label-selector.ts';

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
 * How the binding that is there compares with the desired one. `ours` carries our label;
 * `foreign` does not and differs: it is never touched.
 */
export type BindingState =
  | 'being deleted'
  | 'up to date'
  | 'ours, up to date'
  | 'ours, with other subjects'
  | 'ours, with another role'
  | 'foreign';

/** What is kept of a Namespace. */
export interface NamespaceView {
  readonly name: string;
  readonly resourceVersion: string;
  readonly state: NamespaceState | 'gone';
  /** Only where an annotation asks for something. */
  readonly control?: Control;
}

/** What is kept of the RoleBinding with our name in a namespace. */
export interface BindingView {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly state: BindingState;
  /** The kind and name that its `roleRef` names, for people. */
  readonly role: string;
}

export interface Observation {
  readonly namespace: NamespaceView;
  readonly binding: BindingView | undefined;
  /** Our name for the binding. */
  readonly bindingName: string;
}

export type RoleBindingStep =
  | (Step & { readonly do: 'createRoleBinding' })
  | (Step & {
      readonly do: 'updateRoleBinding' | 'replaceRoleBinding' | 'releaseRoleBinding';
      /** What the decision was made from. */
      readonly binding: BindingView;
    });

export function bindingNameFor(namespace: string, options: RoleBindingOptions): string {
  return options.prefix + namespace;
}

/** The RoleBinding that a namespace's team is to have. */
export function desiredRoleBinding(namespace: string, options: RoleBindingOptions) {
  const name = bindingNameFor(namespace, options);
  return {
    apiVersion: `${RBAC_GROUP}/v1`,
    kind: 'RoleBinding',
    metadata: { name, namespace, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } },
    subjects: [{ kind: 'Group', name, apiGroup: RBAC_GROUP }],
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: options.clusterRole },
  };
}

export function namespaceState(namespace: ObjectMeta, options: RoleBindingOptions): NamespaceState {
  if (namespace.deletionTimestamp !== undefined) return 'terminating';
  if (options.excludeNamespaces.includes(namespace.name)) return 'unselected';
  return matchesLabels(options.namespaceSelector, namespace.labels ?? {}) ? 'selected' : 'unselected';
}

export function bindingState(
  binding: RoleBinding,
  namespace: string,
  options: RoleBindingOptions,
): BindingState {
  if (binding.metadata.deletionTimestamp !== undefined) return 'being deleted';
  const desired = desiredRoleBinding(namespace, options);
  const ours = binding.metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY;
  const roleIsRight = sameRoleRef(binding.roleRef, desired.roleRef);
  if (roleIsRight && sameSubjects(binding.subjects ?? [], desired.subjects)) {
    return ours ? 'ours, up to date' : 'up to date';
  }
  if (!ours) return 'foreign';
  return roleIsRight ? 'ours, with other subjects' : 'ours, with another role';
}

export function decideRoleBinding(observation: Observation): Decision<RoleBindingStep> {
  const { namespace, binding } = observation;
  switch (namespace.state) {
    case 'gone':
      return converged('the namespace is gone');
    case 'terminating':
      return converged('the namespace is being deleted');
    case 'unselected':
      return binding === undefined ? NOTHING : release(binding, observation);
    case 'selected':
      return binding === undefined ? CREATE : decideOnBinding(binding, observation);
  }
}

const NOTHING = converged('no update required');
const CREATE: RoleBindingStep = { do: 'createRoleBinding', because: 'the namespace has no RoleBinding' };

function release(binding: BindingView, observation: Observation): Decision<RoleBindingStep> {
  if (!binding.state.includes('ours')) return NOTHING;
  // Any change of a binding counts as granting its role, and the operator may grant only its own.
  if (binding.state === 'ours, with another role') return refuseToRelease(binding, observation);
  return { do: 'releaseRoleBinding', because: 'the namespace is no longer selected', binding };
}

function refuseToRelease({ role }: BindingView, { namespace, bindingName }: Observation) {
  const cause: Cause = {
    code: 'ForeignRoleBinding',
    because: `the operator cannot release RoleBinding ${namespace.name}/${bindingName}: somebody changed its role to ${role}, which the operator may not grant`,
    advice: [
      `remove its label ${MANAGED_BY_LABEL} to keep it, or delete it`,
      ...toChange(namespace.name, bindingName, `${MANAGED_BY_LABEL}-`, 'keep it, without the operator'),
    ],
  };
  return stalled(cause, { event: warning(cause, 'Release') });
}

function decideOnBinding(binding: BindingView, observation: Observation): Decision<RoleBindingStep> {
  switch (binding.state) {
    // Its deletion is an event of its own, and then it is created again.
    case 'being deleted':
    case 'up to date':
    case 'ours, up to date':
      return NOTHING;
    case 'ours, with other subjects':
      return { do: 'updateRoleBinding', because: 'the subjects of the RoleBinding were changed', binding };
    case 'ours, with another role':
      return {
        do: 'replaceRoleBinding',
        because: `the RoleBinding refers to ${binding.role}`,
        binding,
        deletes: deletionOf(binding, observation),
      };
    case 'foreign':
      return refuse(observation);
  }
}

function deletionOf({ uid, resourceVersion }: BindingView, { bindingName }: Observation): Deletion {
  return { what: 'RoleBinding', count: 1, names: () => [bindingName], of: `${uid} ${resourceVersion}` };
}

function refuse({ namespace, bindingName }: Observation): Decision<RoleBindingStep> {
  const ours = `${MANAGED_BY_LABEL}=${MANAGED_BY}`;
  const cause: Cause = {
    code: 'ForeignRoleBinding',
    because: `RoleBinding ${namespace.name}/${bindingName} has other subjects or another role, and the operator does not manage it`,
    advice: [
      `label it ${ours}, or delete it: Group ${bindingName} then gets its access, and everybody else in that RoleBinding loses theirs`,
      ...toChange(namespace.name, bindingName, ours, 'let the operator change it'),
    ],
  };
  return stalled(cause, { event: warning(cause, 'Bind') });
}

function toChange(namespace: string, name: string, label: string, to: string): readonly Advice[] {
  const binding = `rolebinding ${name} -n ${namespace}`;
  return [
    { run: `kubectl get ${binding} -o yaml`, to: 'show who has access through it' },
    { run: `kubectl label ${binding} ${label}`, to },
    { run: `kubectl delete ${binding}`, to: 'end that access' },
  ];
}

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
