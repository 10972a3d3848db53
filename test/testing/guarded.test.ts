import { expect, it } from '@jest/globals';
import type { AttemptContext } from '../../activities/reconciler.ts';
import type { Step } from '../../src/runs/decision.ts';
import type { AnyReconciler } from '../../testing/explorer/attempt.ts';
import { guarded } from '../../testing/explorer/guarded.ts';
import { deleteJust, plain, planFor } from '../support/controlled-decisions.ts';

/** A reconciler whose resource approves the deletion of just these, as the explorer guards it. */
function approving(...names: readonly string[]) {
  const approved = planFor(deleteJust(...names));
  const control = plain({ approval: 'required', approved });
  const performed = { observation: undefined, did: [] };
  const its: Partial<AnyReconciler> = {
    controller: { control: () => control } as unknown as AnyReconciler['controller'],
    perform: () => Promise.resolve(performed),
  };
  const explored = guarded(its as AnyReconciler);
  return (step: Step) => explored.perform(step, undefined, {} as unknown as AttemptContext);
}

it('the explorer lets a step delete the objects that are approved, and not as many others', async () => {
  const perform = approving('a');
  await expect(perform(deleteJust('a'))).resolves.toBeDefined();
  await expect(perform(deleteJust('b'))).rejects.toThrow('deletePods deletes what is not approved');
});
