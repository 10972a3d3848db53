import type { RunInput } from '../src/contract/run.ts';
import { reconcile, type Steps } from './reconcile.ts';

const steps: Steps = {
  addFinalizer: { summary: 'keep the resource until its binary is removed from the nodes' },
  createJob: { summary: 'build' },
  deleteJob: { summary: 'stop or remove a Job' },
  createCleanupJob: { summary: 'remove the binary from a node' },
  updateStatus: { summary: 'update the status' },
  removeFinalizer: { summary: 'allow the resource to be deleted' },
};

/** Builds what one resource describes, and removes the binary when the resource goes. */
export function gitBuild(run: RunInput): Promise<string> {
  return reconcile(run, steps);
}
