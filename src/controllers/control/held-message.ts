import { PAUSED_ANNOTATION, type Answer } from '../../contract/control.ts';
import type { Held } from '../../contract/decision.ts';

/*
 * What conditions and Events say of a step that is held.
 */

/** `awaiting approval to delete 2 Pods (web-pod-a, web-pod-b); on hold: deletePods: there are 3 Pods …; plan 2-3f9c2a1b` */
export function heldMessage({ because, would, plan }: Pick<Held, 'because' | 'would' | 'plan'>): string {
  return `${because}; on hold: ${would}${plan === undefined ? '' : ofPlan(plan)}`;
}

/** Whether such a message is about this plan. */
export function isAboutPlan(message: string, plan: string): boolean {
  return message.endsWith(ofPlan(plan));
}

function ofPlan(plan: string): string {
  return `; plan ${plan}`;
}

/** `approved by alice: the shop is closed`; `rejected by somebody` where the answer names nobody and no reason. */
export function answerInWords(answer: Answer): string {
  return `${answer.is} ${answererInWords(answer)}`;
}

/** `by alice: the shop is closed` */
export function answererInWords({ by, because }: Answer): string {
  return `by ${by === '' ? 'somebody' : by}${because === '' ? '' : `: ${because}`}`;
}

/** `paused by the annotation durable-operator.dev/paused of its Namespace` */
export function pausedBy(whose: 'resource' | 'Namespace'): string {
  return `paused by the annotation ${PAUSED_ANNOTATION}${whose === 'Namespace' ? ' of its Namespace' : ''}`;
}
