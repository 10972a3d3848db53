import type { Observe, Step } from '../src/contract/decision.ts';
import type { ControllerName, ControllerOptions } from '../src/controllers/index.ts';
import { withPool, type KubernetesClient } from '../src/kubernetes/client.ts';
import { controlledReconciler } from './controlled.ts';
import { dryRunning } from './dry-run.ts';
import { gitBuildReconciler } from './git-build.ts';
import { roleBindingReconciler } from './namespace-role-binding.ts';
import { podLabelReconciler } from './pod-label.ts';
import { podSetReconciler } from './pod-set.ts';
import type { Reconciler } from './reconciler.ts';

export interface ReconcilersRequest {
  readonly client: KubernetesClient;
  readonly options: ControllerOptions;
}

/**
 * How the resources of each controller are read and written: by the step activities, and read by those who ask. Each
 * controller has connections of its own, so that none waits for the slow requests of another.
 */
export function reconcilersFor({
  client,
  options,
}: ReconcilersRequest): Readonly<Record<ControllerName, Reconciler<unknown, Step>>> {
  const controlled = <O, S extends Step, L extends Observe>(
    name: ControllerName,
    make: (own: KubernetesClient) => Reconciler<O, S, L>,
  ) => {
    const own = withPool(client, name);
    const reconcilerWith = (its: KubernetesClient) =>
      controlledReconciler(make(its), { client: its, options: options.reconciliation });
    const rehearsing = reconcilerWith(dryRunning(own));
    const rehearse: typeof rehearsing.perform = (...asked) => rehearsing.perform(...asked);
    return { ...reconcilerWith(own), rehearse };
  };
  return {
    'pod-label': controlled('pod-label', podLabelReconciler),
    'namespace-role-binding': controlled('namespace-role-binding', (own) =>
      roleBindingReconciler(own, options.roleBinding),
    ),
    'pod-set': controlled('pod-set', podSetReconciler),
    'git-build': controlled('git-build', (own) =>
      gitBuildReconciler(own, options.build, options.reconciliation.namespaces),
    ),
  };
}
