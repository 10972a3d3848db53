import type { StatusPatch, StatusWrite } from '../../src/engine/observation.ts';
import type { NextStep } from '../../src/runs/decision.ts';

/** What a decision writes into the status. @throws Error where it is something else */
export function statusIn(decision: NextStep | undefined): StatusPatch {
  if (decision === undefined || !isStatusWrite(decision))
    throw new Error(`it does ${decision?.do ?? 'nothing'}`);
  return decision.status;
}

export function isStatusWrite(decision: NextStep): decision is StatusWrite {
  return decision.do === 'updateStatus' && 'status' in decision;
}
