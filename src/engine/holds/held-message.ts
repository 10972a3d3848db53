import { PAUSED_ANNOTATION } from '../../api/annotations.ts';
import { type ApprovalAnswer } from './control.ts';
import type { Held } from '../../runs/decision.ts';

/*
 * What conditions and Events say of a step that is held.
 */

/** `awaiting approval to delete 2 Pods (web-pod-a, web-pod-b); on hold: deletePods: there are 3 Pods …; plan 2-3f9c2a1b` */
export function heldMessage({ message, would, plan }: Pick<Held, 'message' | 'would' | 'plan'>): string {
  return `${message}; on hold: ${would}${plan === undefined ? '' : ofPlan(plan)}`;
}

/** Whether such a message is about this plan. */
export function isAboutPlan(message: string, plan: string): boolean {
  return message.endsWith(ofPlan(plan));
}

function ofPlan(plan: string): string {
  return `; plan ${plan}`;
}

/** How far an answer can be believed. */
interface Checked {
  readonly areApproversChecked?: boolean;
}

/** `approved by alice: the shop is closed`; `approved; who did is not checked; said to be alice`. */
export function answerInWords(answer: ApprovalAnswer, checked: Checked): string {
  const { did, what } = partsOfAnswer(answer, checked);
  return `${did} ${what}`;
}

/** The same as an action. */
export function partsOfAnswer(answer: ApprovalAnswer, { areApproversChecked = false }: Checked) {
  const { is, by, because } = answer;
  if (areApproversChecked && by !== '')
    return { did: is, what: `by ${by}${because === '' ? '' : `: ${because}`}` };
  const said = [by && `said to be ${by}`, because && `reason: ${because}`].filter((words) => words !== '');
  return { did: `${is};`, what: ['who did is not checked', ...said].join('; ') };
}

/** `paused by the annotation durable-operator.dev/paused of its Namespace` */
export function pausedBy(whose: 'resource' | 'Namespace'): string {
  return `paused by the annotation ${PAUSED_ANNOTATION}${whose === 'Namespace' ? ' of its Namespace' : ''}`;
}
