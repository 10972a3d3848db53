import type { Control } from '../../src/contract/control.ts';
import type { Step } from '../../src/contract/decision.ts';
import type { AnyReconciler } from './attempt.ts';
import { Violation } from './explorer.ts';
import { countIn } from './people.ts';

/** Whoever decided it, no step is performed that the annotations hold back in the very observation that it goes by. */
export function guarded(its: AnyReconciler): AnyReconciler {
  return {
    ...its,
    async perform(step, observation, context) {
      const control = its.controller.control?.(observation);
      const isNamespacePaused = (await context.isNamespacePaused?.()) ?? false;
      const wrong = isHeldBack(step, control, isNamespacePaused);
      if (wrong !== undefined) throw new Violation(`${step.do} ${wrong}`);
      return its.perform(step, observation, context);
    },
  };
}

function isHeldBack(
  step: Step,
  control: Control | undefined,
  isNamespacePaused: boolean,
): string | undefined {
  if (step.do === 'updateStatus') return undefined;
  const isPaused = control?.isPaused === true || isNamespacePaused;
  if (isPaused && control?.isBeingDeleted !== true) return 'is performed although there is a pause';
  const { count = 0 } = step.deletes ?? {};
  const isUncovered = control?.isApprovalRequired === true && count > 0 && !isCovered(count, control);
  return isUncovered ? 'deletes what is not approved' : undefined;
}

function isCovered(count: number, { answer, reported }: Control): boolean {
  if (answer?.is !== 'approved' || answer.plan === reported?.lastHandledApproval) return false;
  return countIn(answer.plan) >= count;
}
