import type { ControllerName, ControllerOptions } from '../src/controllers/index.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { gitBuildReconciler } from './git-build.ts';
import { roleBindingReconciler } from './namespace-role-binding.ts';
import { podLabelReconciler } from './pod-label.ts';
import { podSetReconciler } from './pod-set.ts';
import { dispatching, stepActivities, type ReconcileDependencies, type StepActivities } from './reconcile.ts';

export interface ActivityDependencies extends ReconcileDependencies {
  readonly client: KubernetesClient;
  readonly options: ControllerOptions;
}

/** All activities, by the names that workflows call them by. */
export function activitiesFor({ client, options, ...dependencies }: ActivityDependencies): StepActivities {
  return dispatching({
    'pod-label': stepActivities(podLabelReconciler(client), dependencies),
    'namespace-role-binding': stepActivities(
      roleBindingReconciler(client, options.roleBinding),
      dependencies,
    ),
    'pod-set': stepActivities(podSetReconciler(client), dependencies),
    'git-build': stepActivities(gitBuildReconciler(client, options.build), dependencies),
  } satisfies Record<ControllerName, StepActivities>);
}
