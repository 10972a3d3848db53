import { dryRunning } from '../../activities/dry-run.ts';
import type { Reconciler } from '../../activities/reconciler.ts';
import { withPool, type KubernetesClient } from '../kubernetes/client.ts';
import type { ControllerOptions, Program, ProgramController } from './program.ts';

/** By the names of their controllers. */
export type Reconcilers = Readonly<Record<string, Reconciler>>;

interface ReconcilersRequest {
  readonly client: KubernetesClient;
  readonly options: ControllerOptions;
}

/**
 * How the resources of each controller are read and written: by the step activities, and read by those who ask. Each
 * controller has connections of its own, so that none waits for the slow requests of another.
 */
export function reconcilersOf(program: Program, { client, options }: ReconcilersRequest): Reconcilers {
  const controlledOf = (each: ProgramController) => {
    const own = withPool(client, each.name);
    const reconcilerWith = (its: KubernetesClient) => each.reconciler(its, options);
    const rehearsing = reconcilerWith(dryRunning(own));
    const rehearse: typeof rehearsing.perform = (...asked) => rehearsing.perform(...asked);
    return { ...reconcilerWith(own), rehearse };
  };
  return Object.fromEntries(program.controllers.map((each) => [each.name, controlledOf(each)]));
}
