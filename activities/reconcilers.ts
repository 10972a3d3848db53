import type { Step } from '../src/contract/decision.ts';
import type { ControllerName, ControllerOptions } from '../src/controllers/index.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
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
  return {
    'pod-label': podLabelReconciler(client),
    'namespace-role-binding': roleBindingReconciler(client, options.roleBinding),
    'pod-set': podSetReconciler(client),
    'git-build': gitBuildReconciler(client, options.build),
  };
}
