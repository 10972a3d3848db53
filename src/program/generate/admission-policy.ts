import { RBAC_GROUP } from '../../api/kinds.ts';

/*
 * Admission policies say what RBAC cannot: the contents of the objects that the operator may write. The charts name
 * them and put them in force. docs/adr/0020 has the reasons.
 */

/** Some requests, as a rule of `matchConstraints` has them. */
export interface Requests {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}

/** What a policy says of some requests. All expressions are CEL, in which the chart may fill in values. */
export interface PolicyRules {
  readonly requests: readonly Requests[];
  /** The policy is about the requests that meet all of them. Default: those of the operator. */
  readonly conditions?: readonly MatchCondition[];
  /** By name. A variable may use those before it. */
  readonly variables: Readonly<Record<string, string>>;
  readonly validations: readonly Validation[];
}

export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

interface Validation {
  readonly expression: string;
  readonly message?: string;
  readonly messageExpression?: string;
}

/** The `spec` of a ValidatingAdmissionPolicy. */
export function policySpec(rules: PolicyRules): object {
  const { requests, conditions = [OF_THE_OPERATOR], variables, validations } = rules;
  return {
    failurePolicy: 'Fail',
    paramKind: { apiVersion: `${RBAC_GROUP}/v1`, kind: 'ClusterRoleBinding' },
    matchConstraints: { matchPolicy: 'Equivalent', resourceRules: requests },
    matchConditions: conditions,
    variables: Object.entries(variables).map(([name, expression]) => ({ name, expression })),
    validations: validations.map((validation) => ({ ...validation, reason: 'Forbidden' })),
  };
}

/**
 * Whether the operator makes the request. The policies ask the ClusterRoleBinding for its accounts, because Kustomize
 * can change names there, but not inside an expression. An error here would stop everybody's requests.
 */
export const BY_THE_OPERATOR = lines(
  "has(params.subjects) && params.subjects.exists(subject, subject.kind == 'ServiceAccount' && has(subject.namespace) &&",
  "request.userInfo.username == 'system:serviceaccount:' + subject.namespace + ':' + subject.name)",
);

const OF_THE_OPERATOR: MatchCondition = { name: 'by-the-operator', expression: BY_THE_OPERATOR };

/** One expression, broken where the code is. */
export function lines(...parts: readonly string[]): string {
  return parts.join(' ');
}
