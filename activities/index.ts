import { dispatching, stepActivities, type ReconcileDependencies, type StepActivities } from './reconcile.ts';
import { reconcilersFor, type ReconcilersRequest } from './reconcilers.ts';

export interface ActivityDependencies extends ReconcileDependencies, ReconcilersRequest {}

/** All activities, by the names that workflows call them by. */
export function activitiesFor({ client, options, ...dependencies }: ActivityDependencies): StepActivities {
  const activities = Object.entries(reconcilersFor({ client, options })).map(
    ([name, reconciler]) => [name, stepActivities(reconciler, dependencies)] as const,
  );
  return dispatching(Object.fromEntries(activities));
}
