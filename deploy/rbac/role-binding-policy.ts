import {
  MANAGED_BY,
  MANAGED_BY_LABEL,
  OUR_PREFIX,
  RBAC_GROUP,
  ROLE_BINDINGS,
} from '../../src/controllers/kinds.ts';

/*
 * What RBAC cannot say: which RoleBindings the operator may write. Its roles let it write any, in any namespace, as
 * long as it refers to the one ClusterRole. docs/adr/0020 says why it is done like this.
 */

const ADMISSION = 'admissionregistration.k8s.io/v1';

/**
 * The label of the ClusterRoleBinding whose service accounts a policy is about. The policy asks the binding, since
 * Kustomize changes namespaces and names there, but never inside of an expression.
 */
export const POLICY_LABEL = `${OUR_PREFIX}role-binding-policy`;

/** CEL expressions: where an option of the operator changes what it writes, they follow. */
export interface PolicyOptions {
  /** A string. */
  readonly prefix: string;
  /** A string. */
  readonly clusterRole: string;
  /** A list of strings. */
  readonly excludeNamespaces: string;
  /** Whether `--namespace-selector` matches `namespaceObject`. */
  readonly namespaceSelected: string;
}

export interface PolicyNames {
  /** Of the policy and of its binding. */
  readonly name: string;
  /** The value of POLICY_LABEL. */
  readonly label: string;
}

/** The policy, and what puts it in force. */
export function roleBindingPolicy(names: PolicyNames, options: PolicyOptions): readonly object[] {
  return [policyOf(names, options), inForce(names)];
}

function policyOf({ name }: PolicyNames, options: PolicyOptions): object {
  return {
    apiVersion: ADMISSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      paramKind: { apiVersion: `${RBAC_GROUP}/v1`, kind: 'ClusterRoleBinding' },
      matchConstraints: { matchPolicy: 'Equivalent', resourceRules: [WRITES_OF_ROLE_BINDINGS] },
      matchConditions: [{ name: 'by-the-operator', expression: BY_THE_OPERATOR }],
      variables: variables(options),
      validations: VALIDATIONS.map((validation) => ({ ...validation, reason: 'Forbidden' })),
    },
  };
}

const WRITES_OF_ROLE_BINDINGS = {
  apiGroups: [ROLE_BINDINGS.group],
  apiVersions: [ROLE_BINDINGS.version],
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  resources: [ROLE_BINDINGS.plural],
};

/** The options come first, in this order: docs/deploying.md counts them. */
function variables({ prefix, clusterRole, excludeNamespaces, namespaceSelected }: PolicyOptions) {
  const all = { prefix, clusterRole, excludeNamespaces, namespaceSelected, ...VARIABLES };
  return Object.entries(all).map(([name, expression]) => ({ name, expression }));
}

function inForce({ name, label }: PolicyNames): object {
  return {
    apiVersion: ADMISSION,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: {
      policyName: name,
      // Without the binding, the operator has no rights that could be limited; to deny would stop everybody.
      paramRef: { selector: { matchLabels: { [POLICY_LABEL]: label } }, parameterNotFoundAction: 'Allow' },
      validationActions: ['Deny', 'Audit'],
    },
  };
}

/** Asked of every request about RoleBindings, whoever makes it: an error here would stop everybody. */
const BY_THE_OPERATOR = lines(
  "has(params.subjects) && params.subjects.exists(subject, subject.kind == 'ServiceAccount' && has(subject.namespace) &&",
  "request.userInfo.username == 'system:serviceaccount:' + subject.namespace + ':' + subject.name)",
);

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

/** One expression, broken where this file is. */
function lines(...parts: readonly string[]): string {
  return parts.join(' ');
}
