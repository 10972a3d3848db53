import type { RunInput } from '../src/contract/run.ts';
import { reconcile, type Steps } from './reconcile.ts';

const steps: Steps = {
  createRoleBinding: { summary: "give the namespace's team its role" },
  updateRoleBinding: { summary: 'restore the subjects' },
  replaceRoleBinding: { summary: 'restore the role, by delete and create: roleRef is immutable' },
  releaseRoleBinding: { summary: 'stop managing the role binding, and leave it in place' },
};

/** Gives one namespace the RoleBinding of its team. */
export function namespaceRoleBinding(run: RunInput): Promise<string> {
  return reconcile(run, steps);
}
