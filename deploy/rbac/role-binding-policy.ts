import { MANAGED_BY, MANAGED_BY_LABEL, RBAC_GROUP, ROLE_BINDINGS } from '../../src/controllers/kinds.ts';
import { admissionPolicy, lines, type PolicyNames } from './admission-policy.ts';

/*
 * Which RoleBindings the operator may write. Its roles let it write any, in any namespace, as long as it refers to the
 * one ClusterRole.
 */

/** CEL expressions: where an option of the operator changes what it writes, they follow. */
export interface RoleBindingPolicyOptions {
  /** A string. */
  readonly prefix: string;
  /** A string. */
  readonly clusterRole: string;
  /** A list of strings. */
  readonly excludeNamespaces: string;
  /** Whether `--namespace-selector` matches `namespaceObject`. */
  readonly namespaceSelected: string;
}

/** The policy, and what puts it in force. The options come first, in this order: docs/deploying.md counts them. */
export function roleBindingPolicy(names: PolicyNames, options: RoleBindingPolicyOptions): readonly object[] {
  const { prefix, clusterRole, excludeNamespaces, namespaceSelected } = options;
  return admissionPolicy(names, {
    requests: [WRITES_OF_ROLE_BINDINGS],
    variables: { prefix, clusterRole, excludeNamespaces, namespaceSelected, ...VARIABLES },
    validations: VALIDATIONS,
  });
}

const WRITES_OF_ROLE_BINDINGS = {
  apiGroups: [ROLE_BINDINGS.group],
  apiVersions: [ROLE_BINDINGS.version],
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  resources: [ROLE_BINDINGS.plural],
};

/** In the order in which they use each other. */
const VARIABLES = {
  bindingName: 'variables.prefix + request.namespace',
  selected: '!(request.namespace in variables.excludeNamespaces) && variables.namespaceSelected',
  written: "request.operation == 'DELETE' ? oldObject : object",
  // Of what was there before, and of what is to be there.
  wasOurs: `request.operation == 'CREATE' || ${isOurs('oldObject')}`,
  isOurs: isOurs('variables.written'),
  hasOurSubject: lines(
    'variables.written.?subjects.orValue([]).size() == 1 && variables.written.subjects.all(subject,',
    `subject.kind == 'Group' && subject.name == variables.bindingName && subject.?apiGroup.orValue('') == '${RBAC_GROUP}' &&`,
    "subject.?namespace.orValue('') == '')",
  ),
  hasOurRole: lines(
    `variables.written.roleRef.apiGroup == '${RBAC_GROUP}' && variables.written.roleRef.kind == 'ClusterRole' &&`,
    'variables.written.roleRef.name == variables.clusterRole',
  ),
  // A namespace that leaves the selector keeps its binding, whatever is in it, without our label.
  isRelease: lines(
    "request.operation == 'UPDATE' && !variables.isOurs &&",
    'object.?subjects.orValue([]) == oldObject.?subjects.orValue([]) && object.roleRef == oldObject.roleRef',
  ),
} as const;

const VALIDATIONS = [
  {
    expression: 'variables.written.metadata.name == variables.bindingName',
    messageExpression: "'the operator may write no RoleBinding here but ' + variables.bindingName",
  },
  {
    expression: 'variables.wasOurs',
    message: `the operator may change and delete only RoleBindings with the label ${MANAGED_BY_LABEL}=${MANAGED_BY}`,
  },
  {
    expression: 'variables.isRelease || variables.selected',
    messageExpression:
      "'the operator may bind nobody in namespace ' + request.namespace + ': it is excluded, or not selected'",
  },
  {
    expression: 'variables.isRelease || variables.isOurs',
    message: `the operator may write only RoleBindings with the label ${MANAGED_BY_LABEL}=${MANAGED_BY}`,
  },
  {
    expression: "request.operation == 'DELETE' || variables.isRelease || variables.hasOurSubject",
    messageExpression: "'the operator may bind only the Group ' + variables.bindingName + ' here'",
  },
  {
    expression: "request.operation == 'DELETE' || variables.isRelease || variables.hasOurRole",
    messageExpression: "'the operator may bind only the ClusterRole ' + variables.clusterRole",
  },
  {
    // roleRef cannot be changed: such a binding is deleted and created again.
    expression: "request.operation != 'DELETE' || !variables.hasOurRole",
    messageExpression:
      "'the operator may delete a RoleBinding only where it refers to something else than ClusterRole ' + variables.clusterRole",
  },
  {
    expression: `request.operation == 'DELETE' || (${unchanged('finalizers')} && ${unchanged('ownerReferences')})`,
    message:
      'the operator may give a RoleBinding neither finalizers nor owner references, nor take them away',
  },
] as const;

function isOurs(binding: string): string {
  return `${binding}.metadata.?labels[?'${MANAGED_BY_LABEL}'].orValue('') == '${MANAGED_BY}'`;
}

/** None, where the binding is created. */
function unchanged(field: 'finalizers' | 'ownerReferences'): string {
  const before = `(request.operation == 'CREATE' ? [] : oldObject.metadata.?${field}.orValue([]))`;
  return `object.metadata.?${field}.orValue([]) == ${before}`;
}
