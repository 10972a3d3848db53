import type { Control } from '../../src/engine/holds/control.ts';
import type { Step } from '../../src/runs/decision.ts';
import { answerTo, planOf } from '../../src/engine/holds/approval.ts';
import type { AnyReconciler } from './attempt.ts';
import { Violation } from './explorer.ts';

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
  const { deletes } = step;
  if (control?.isApprovalRequired !== true || deletes === undefined || deletes.count === 0) return undefined;
  // The ID of a plan tells which objects it names, by their UIDs: as many others are not approved.
  const isApproved = answerTo(planOf(step, deletes, control), control)?.is === 'approved';
  return isApproved ? undefined : 'deletes what is not approved';
}
