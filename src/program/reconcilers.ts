import { definedReconciler } from '../../activities/defined-reconciler.ts';
import { dryRunning } from '../../activities/dry-run.ts';
import type { Reconciler } from '../../activities/reconciler.ts';
import type { AnyDefinition } from '../engine/definition.ts';
import { withPool, type KubernetesClient } from '../kubernetes/client.ts';
import { configured, type Program, type ProgramOptions } from './program.ts';

// Apart from program.ts, since a command that asks does not always need a client, which takes long to load.

/** By the names of their controllers. */
export type Reconcilers = Readonly<Record<string, Reconciler>>;

interface ReconcilersRequest {
  readonly client: KubernetesClient;
  readonly options: ProgramOptions;
}

/**
 * How the resources of each controller are read and written: by the step activities, and read by those who ask. Each
 * controller has connections of its own, so that none waits for the slow requests of another.
 */
export function reconcilersOf(program: Program, { client, options }: ReconcilersRequest): Reconcilers {
  const reconcilerOf = (each: AnyDefinition) => {
    const definition = configured(each, program, options);
    const own = withPool(client, each.name);
    const reconcilerWith = (its: KubernetesClient): Reconciler =>
      definedReconciler(definition, its, options.reconciliation);
    const rehearsing = reconcilerWith(dryRunning(own));
    const rehearse: typeof rehearsing.perform = (...asked) => rehearsing.perform(...asked);
    return { ...reconcilerWith(own), rehearse };
  };
  return Object.fromEntries(program.controllers.map((each) => [each.name, reconcilerOf(each)]));
}
