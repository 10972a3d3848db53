import { MANAGED_BY, MANAGED_BY_LABEL, RBAC_GROUP, ROLE_BINDINGS } from '../../src/api/kinds.ts';
import { lines, policySpec } from '../../src/program/generate/admission-policy.ts';

/*
 * Limits which RoleBindings the operator may write. Its roles let it write any, in any namespace, that refers to the
 * one ClusterRole.
 */
export function roleBindingPolicy(): object {
  return policySpec({
    requests: [WRITES_OF_ROLE_BINDINGS],
    variables: { ...OPTIONS, ...VARIABLES },
    validations: VALIDATIONS,
  });
}

/** From the values of the chart. */
const OPTIONS = {
  prefix: '{{ .Values.roleBinding.prefix | toJson }}',
  clusterRole: '{{ .Values.roleBinding.clusterRole | toJson }}',
  excludeNamespaces: '{{ .Values.roleBinding.excludeNamespaces | toJson }}',
  namespaceSelected: '{{ include "operator.namespaceSelected" . }}',
} as const;

const WRITES_OF_ROLE_BINDINGS = {
  apiGroups: [ROLE_BINDINGS.group],
  apiVersions: [ROLE_BINDINGS.version],
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  resources: [ROLE_BINDINGS.plural],
};

const VARIABLES = {
  bindingName: 'variables.prefix + request.namespace',
  selected: '!(request.namespace in variables.excludeNamespaces) && variables.namespaceSelected',
  written: "request.operation == 'DELETE' ? oldObject : object",
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
  // When a namespace leaves the selector, the operator only takes its label off the binding.
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
    // roleRef cannot be changed, so such a binding is deleted and created again.
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

/** On creation, there must be none. */
function unchanged(field: 'finalizers' | 'ownerReferences'): string {
  const before = `(request.operation == 'CREATE' ? [] : oldObject.metadata.?${field}.orValue([]))`;
  return `object.metadata.?${field}.orValue([]) == ${before}`;
}
