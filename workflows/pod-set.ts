import type { RunInput } from '../src/contract/run.ts';
import { reconcile, type Steps } from './reconcile.ts';

const steps: Steps = {
  releasePods: { summary: 'release Pods that lost the labels' },
  adoptPods: { summary: 'adopt Pods that have the labels and no controller' },
  createPods: { summary: 'create missing Pods' },
  deletePods: { summary: 'delete surplus Pods' },
  updateStatus: { summary: 'update the status' },
};

/** Brings the Pods of one PodSet to the desired number. */
export function podSet(run: RunInput): Promise<string> {
  return reconcile(run, steps);
}
