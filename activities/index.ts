import type { Observe, Step } from '../src/contract/decision.ts';
import type { ControllerName, ControllerOptions } from '../src/controllers/index.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { controlledReconciler } from './controlled.ts';
import { gitBuildReconciler } from './git-build.ts';
import { roleBindingReconciler } from './namespace-role-binding.ts';
import { podLabelReconciler } from './pod-label.ts';
import { podSetReconciler } from './pod-set.ts';
import {
  dispatching,
  stepActivities,
  type ReconcileDependencies,
  type Reconciler,
  type StepActivities,
} from './reconcile.ts';

export interface ActivityDependencies extends ReconcileDependencies {
  readonly client: KubernetesClient;
  readonly options: ControllerOptions;
}

/** All activities, by the names that workflows call them by. */
export function activitiesFor({ client, options, ...dependencies }: ActivityDependencies): StepActivities {
  const steps = <O, S extends Step, L extends Observe>(reconciler: Reconciler<O, S, L>) =>
    stepActivities(
      controlledReconciler(reconciler, { client, options: options.reconciliation }),
      dependencies,
    );
  return dispatching({
    'pod-label': steps(podLabelReconciler(client)),
    'namespace-role-binding': steps(roleBindingReconciler(client, options.roleBinding)),
    'pod-set': steps(podSetReconciler(client)),
    'git-build': steps(gitBuildReconciler(client, options.build)),
  } satisfies Record<ControllerName, StepActivities>);
}
