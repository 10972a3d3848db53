import type { Outcome, Pass } from '../../contract/run.ts';
import type { SeenNamespace } from './decide.ts';

export interface RoleBindingActivities {
  /** Brings one namespace's RoleBinding to what is wanted. Safe to repeat. */
  bindNamespace(pass: Pass<SeenNamespace>): Promise<Outcome>;
}
