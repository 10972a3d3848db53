import { OUR_PREFIX, RBAC_GROUP } from '../../src/controllers/kinds.ts';
import { LABELS } from '../labels.ts';

/*
 * What RBAC cannot say: as what the operator may write objects. docs/adr/0020 says why it is done like this.
 */

const ADMISSION = 'admissionregistration.k8s.io/v1';

/**
 * The label of the ClusterRoleBinding whose service accounts the policies are about. They ask the binding, since
 * Kustomize changes namespaces and names there, but never inside of an expression.
 */
export const POLICY_LABEL = `${OUR_PREFIX}admission-policy`;

export interface PolicyNames {
  /** Of the policy and of its binding. */
  readonly name: string;
  /** The value of POLICY_LABEL. */
  readonly label: string;
}

/** Some requests, as a rule of `matchConstraints` has them. */
export interface Requests {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}

/** What a policy says of some requests, in CEL. */
export interface PolicyRules {
  readonly requests: readonly Requests[];
  /** Which of them it is about: those that all of these hold of. Default: those of the operator. */
  readonly conditions?: readonly MatchCondition[];
  /** By name, in the order in which they use each other. */
  readonly variables: Readonly<Record<string, string>>;
  readonly validations: readonly Validation[];
}

interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

interface Validation {
  readonly expression: string;
  readonly message?: string;
  readonly messageExpression?: string;
}

/** The policy, and what puts it in force. */
export function admissionPolicy(names: PolicyNames, rules: PolicyRules): readonly object[] {
  return [policyOf(names, rules), inForce(names)];
}

function policyOf({ name }: PolicyNames, rules: PolicyRules): object {
  const { requests, conditions = [OF_THE_OPERATOR], variables, validations } = rules;
  return {
    apiVersion: ADMISSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name, labels: LABELS },
    spec: {
      failurePolicy: 'Fail',
      paramKind: { apiVersion: `${RBAC_GROUP}/v1`, kind: 'ClusterRoleBinding' },
      matchConstraints: { matchPolicy: 'Equivalent', resourceRules: requests },
      matchConditions: conditions,
      variables: Object.entries(variables).map(([variable, expression]) => ({ name: variable, expression })),
      validations: validations.map((validation) => ({ ...validation, reason: 'Forbidden' })),
    },
  };
}

function inForce({ name, label }: PolicyNames): object {
  return {
    apiVersion: ADMISSION,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name, labels: LABELS },
    spec: {
      policyName: name,
      // Without the binding, the operator has no rights that could be limited; to deny would stop everybody.
      paramRef: { selector: { matchLabels: { [POLICY_LABEL]: label } }, parameterNotFoundAction: 'Allow' },
      validationActions: ['Deny', 'Audit'],
    },
  };
}

/** Asked of every request that a policy matches, whoever makes it: an error here would stop everybody. */
export const BY_THE_OPERATOR = lines(
  "has(params.subjects) && params.subjects.exists(subject, subject.kind == 'ServiceAccount' && has(subject.namespace) &&",
  "request.userInfo.username == 'system:serviceaccount:' + subject.namespace + ':' + subject.name)",
);

const OF_THE_OPERATOR: MatchCondition = { name: 'by-the-operator', expression: BY_THE_OPERATOR };

/** One expression, broken where the code is. */
export function lines(...parts: readonly string[]): string {
  return parts.join(' ');
}
