import type { StepInput } from '../src/contract/run.ts';
import type { StepResult } from '../src/contract/decision.ts';
import { stepActivities, type ReconcileDependencies, type StepActivities } from './reconcile.ts';
import { reconcilersFor, type ReconcilersRequest } from './reconcilers.ts';

export interface ActivityDependencies extends ReconcileDependencies, ReconcilersRequest {}

/** All activities, by the names that workflows call them by. */
export function activitiesFor({ client, options, ...dependencies }: ActivityDependencies): StepActivities {
  const activities = Object.entries(reconcilersFor({ client, options })).map(
    ([name, reconciler]) => [name, stepActivities(reconciler, dependencies)] as const,
  );
  return dispatching(Object.fromEntries(activities));
}

/** Some steps of several controllers have one name, such as `updateStatus`: the resource says whose it is. */
export function dispatching(byController: Readonly<Record<string, StepActivities>>): StepActivities {
  const names = new Set(Object.values(byController).flatMap((activities) => Object.keys(activities)));
  const dispatch =
    (name: string) =>
    async (input: StepInput): Promise<StepResult> => {
      const { controller } = input.ref;
      const activity = byController[controller]?.[name];
      if (activity === undefined) throw new Error(`controller ${controller} has no step ${name}`);
      return await activity(input);
    };
  return Object.fromEntries([...names].map((name) => [name, dispatch(name)]));
}
