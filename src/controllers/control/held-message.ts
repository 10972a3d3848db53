import type { Answer } from '../../contract/control.ts';
import type { Held } from '../../contract/decision.ts';

/*
 * What conditions and Events say of a step that is held, and what is read from that again: commands go by the plan that a
 * condition names.
 */

/** `awaiting approval to delete 2 Pods (web-pod-a, web-pod-b); held is deletePods: there are 3 Pods …; plan 2-3f9c2a1b` */
export function heldMessage({ because, would, plan }: Pick<Held, 'because' | 'would' | 'plan'>): string {
  return `${because}; held is ${would}${plan === undefined ? '' : `; plan ${plan}`}`;
}

/** The id of the plan that such a message names: `2-3f9c2a1b`; undefined where it names none. */
export function planIn(message: string): string | undefined {
  return /; plan (\d{1,9}-[0-9a-f]{8})$/.exec(message)?.[1];
}

/** `approved by alice: the shop is closed`; `rejected by somebody` where the answer names nobody and no reason. */
export function answerInWords(answer: Answer): string {
  return `${answer.is} ${answererInWords(answer)}`;
}

/** `by alice: the shop is closed` */
export function answererInWords({ by, because }: Answer): string {
  return `by ${by === '' ? 'somebody' : by}${because === '' ? '' : `: ${because}`}`;
}

/** Whether a step is held because of an answer, as {@link answerInWords} puts it. */
export function isRejection(because: string): boolean {
  return because.startsWith('rejected by ');
}
