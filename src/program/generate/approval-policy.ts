import type { ResourceType } from '../../api/resource-type.ts';
import {
  ANSWERED_BECAUSE_ANNOTATION,
  ANSWERED_BY_ANNOTATION,
  APPROVED_ANNOTATION,
  REJECTED_ANNOTATION,
} from '../../api/annotations.ts';
import { NAMESPACES } from '../../api/kinds.ts';
import {
  BY_THE_OPERATOR,
  lines,
  policySpec,
  type MatchCondition,
  type Requests,
} from './admission-policy.ts';

/*
 * An annotation names the person who approved a deletion, and anybody could write another name into it. The API server
 * knows who makes a request: this policy compares the two. Unlike the others, it is about everybody.
 *
 * @param where further conditions of a request
 */
export function approvalPolicy(
  types: readonly ResourceType[],
  where: readonly MatchCondition[] = [],
): object {
  return policySpec({
    requests: types.map(writesOf),
    conditions: [...where, { name: 'an-answer-changes', expression: AN_ANSWER_CHANGES }],
    variables: VARIABLES,
    validations: VALIDATIONS,
  });
}

/** A write of the status cannot change annotations, except of a Namespace: kubernetes/pkg/registry/core/namespace. */
function writesOf({ group, version, plural }: ResourceType): Requests {
  const subresources = plural === NAMESPACES.plural ? [`${plural}/status`, `${plural}/finalize`] : [];
  return {
    apiGroups: [group],
    apiVersions: [version],
    operations: ['CREATE', 'UPDATE'],
    resources: [plural, ...subresources],
  };
}

const ANSWER = [
  APPROVED_ANNOTATION,
  REJECTED_ANNOTATION,
  ANSWERED_BY_ANNOTATION,
  ANSWERED_BECAUSE_ANNOTATION,
];

/** Evaluated for everybody's writes of these kinds. An error here would stop them all. */
const AN_ANSWER_CHANGES = lines(
  `${listOf(ANSWER)}.exists(key, object.metadata.?annotations[?key] !=`,
  "(request.operation == 'CREATE' ? optional.none() : oldObject.metadata.?annotations[?key]))",
);

const VARIABLES = {
  isByOperator: BY_THE_OPERATOR,
  annotations: 'object.metadata.?annotations.orValue({})',
  annotationsBefore: "request.operation == 'CREATE' ? {} : oldObject.metadata.?annotations.orValue({})",
  hasApproval: `'${APPROVED_ANNOTATION}' in variables.annotations`,
  hasRejection: `'${REJECTED_ANNOTATION}' in variables.annotations`,
  isWritten: lines(
    `${listOf(ANSWER)}.exists(key, key in variables.annotations &&`,
    'variables.annotationsBefore[?key] != variables.annotations[?key])',
  ),
  // Taking a whole answer back needs no name. Taking a part away changes what the rest of it says.
  needsName: 'variables.isWritten || variables.hasApproval || variables.hasRejection',
  isNamed: `variables.annotations[?'${ANSWERED_BY_ANNOTATION}'].orValue('') == request.userInfo.username`,
} as const;

const VALIDATIONS = [
  {
    expression: '!variables.isByOperator',
    message: `the operator may neither approve nor reject: only people write ${APPROVED_ANNOTATION}, ${REJECTED_ANNOTATION} and who did`,
  },
  {
    expression: '!variables.needsName || variables.isNamed',
    messageExpression: `'whoever approves or rejects must be named: set the annotation ${ANSWERED_BY_ANNOTATION} to ' + request.userInfo.username + ' in the same request'`,
  },
  // Otherwise, removing the rejection would approve by accident.
  {
    expression: '!(variables.hasApproval && variables.hasRejection)',
    message: `a resource is either approved or rejected: remove ${APPROVED_ANNOTATION} or ${REJECTED_ANNOTATION} in the same request`,
  },
] as const;

function listOf(keys: readonly string[]): string {
  return `[${keys.map((key) => `'${key}'`).join(', ')}]`;
}
