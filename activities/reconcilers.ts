import type { Observe, Step } from '../src/contract/decision.ts';
import type { ControllerName, ControllerOptions } from '../src/controllers/index.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { controlledReconciler } from './controlled.ts';
import { gitBuildReconciler } from './git-build.ts';
import { roleBindingReconciler } from './namespace-role-binding.ts';
import { podLabelReconciler } from './pod-label.ts';
import { podSetReconciler } from './pod-set.ts';
import type { Reconciler } from './reconcile.ts';

export interface ReconcilersRequest {
  readonly client: KubernetesClient;
  readonly options: ControllerOptions;
}

/** How the resources of each controller are read and written: by the step activities, and read by those who ask. */
export function reconcilersFor({
  client,
  options,
}: ReconcilersRequest): Readonly<Record<ControllerName, Reconciler<unknown, Step>>> {
  const controlled = <O, S extends Step, L extends Observe>(reconciler: Reconciler<O, S, L>) =>
    controlledReconciler(reconciler, { client, options: options.reconciliation });
  return {
    'pod-label': controlled(podLabelReconciler(client)),
    'namespace-role-binding': controlled(roleBindingReconciler(client, options.roleBinding)),
    'pod-set': controlled(podSetReconciler(client)),
    'git-build': controlled(gitBuildReconciler(client, options.build)),
  };
}
