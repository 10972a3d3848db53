import { MANAGED_BY_LABEL, ROLE_BINDINGS, truncate } from '../../api/index.ts';
import type { KubernetesObject } from '../../api/index.ts';
import type { RoleBindingOptions } from './options.ts';

/** A subject, or a role. */
interface Reference {
  readonly kind: string;
  readonly name: string;
  readonly apiGroup?: string;
  /** Of a service account. */
  readonly namespace?: string;
}

export interface RoleBinding extends KubernetesObject {
  readonly roleRef: Reference;
  readonly subjects?: readonly Reference[];
}

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

/** What is kept of the RoleBinding with our name in a namespace. */
export interface BindingView {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly state: BindingState;
  /** The kind and name that its `roleRef` names, for people. */
  readonly role: string;
}

/** Bindings of earlier versions carry it, and `kubectl durable` and an admission policy know it. */
export const OUR_LABEL = `${MANAGED_BY_LABEL}=durable-operator`;
const [LABEL = '', OURS = ''] = OUR_LABEL.split('=');
/** The longest name of an object. */
const NAME_MAX = 253;

/** The RoleBinding that a namespace's team is to have. */
export function desiredRoleBinding(namespace: string, options: RoleBindingOptions) {
  const name = options.roleBindingPrefix + namespace;
  const { group: apiGroup } = ROLE_BINDINGS;
  return {
    apiVersion: `${apiGroup}/v1`,
    kind: 'RoleBinding',
    metadata: { name, namespace, labels: { [LABEL]: OURS } },
    subjects: [{ kind: 'Group', name, apiGroup }],
    roleRef: { apiGroup, kind: 'ClusterRole', name: options.roleBindingClusterRole },
  };
}

/** Undefined where it is not the one with our name. */
export function bindingView(object: KubernetesObject, options: RoleBindingOptions): BindingView | undefined {
  const { namespace = '', name, uid, resourceVersion } = object.metadata;
  if (name !== options.roleBindingPrefix + namespace || !isRoleBinding(object)) return undefined;
  const { kind, name: role } = object.roleRef;
  const state = bindingState(object, namespace, options);
  return { uid, resourceVersion, state, role: `${kind} ${truncate(role, NAME_MAX)}` };
}

/** The API server's schema requires `roleRef`; only its kind is left to see. */
function isRoleBinding(object: KubernetesObject): object is RoleBinding {
  return typeof object['roleRef'] === 'object' && object['roleRef'] !== null;
}

export function bindingState(
  { metadata, roleRef, subjects = [] }: RoleBinding,
  namespace: string,
  options: RoleBindingOptions,
): BindingState {
  if (metadata.deletionTimestamp !== undefined) return 'being deleted';
  const desired = desiredRoleBinding(namespace, options);
  const isOurs = metadata.labels?.[LABEL] === OURS;
  const isRoleRight = isSame(roleRef, desired.roleRef);
  const [subject] = subjects;
  const areSubjectsRight = subjects.length === 1 && isSame(subject, desired.subjects[0]);
  if (isRoleRight && areSubjectsRight) return isOurs ? 'ours, up to date' : 'up to date';
  if (!isOurs) return 'foreign';
  return isRoleRight ? 'ours, with other subjects' : 'ours, with another role';
}

/** An empty namespace is none. */
function isSame(one: Reference | undefined, other: Reference | undefined): boolean {
  return (
    one?.kind === other?.kind &&
    one?.name === other?.name &&
    one?.apiGroup === other?.apiGroup &&
    (one?.namespace ?? '') === (other?.namespace ?? '')
  );
}
