import type { RunInput } from '../src/contract/run.ts';
import { reconcile, type Steps } from './reconcile.ts';

const steps: Steps = {
  addLabel: { summary: 'add the label with the name of the Pod' },
  removeLabel: { summary: 'remove the label with the name of the Pod' },
};

/** Brings the label of one Pod in line with its annotation. */
export function podLabel(run: RunInput): Promise<string> {
  return reconcile(run, steps);
}
