import type { Observe, Step } from '../src/contract/decision.ts';
import {
  controlled,
  isOfControls,
  type ControlObserve,
  type ControlOptions,
} from '../src/controllers/control/controlled.ts';
import { isControlStep, type ControlStep } from '../src/controllers/control/report.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import type { Performed, Reconciler, StepContext } from './reconcile.ts';

/** A step may be repeated while it is still in progress: then it shall not go on for long. */
const REQUEST_TIMEOUT_MS = 5_000;

export interface ControlledDependencies {
  readonly client: KubernetesClient;
  readonly options: ControlOptions;
}

/** The same reconciler, which follows the annotations that all controllers have in common. */
export function controlledReconciler<O, S extends Step, L extends Observe>(
  reconciler: Reconciler<O, S, L>,
  { client, options }: ControlledDependencies,
): Reconciler<O, S | ControlStep, L | ControlObserve> {
  const { type } = reconciler.controller.primary;

  async function report(
    { resourceVersion, control }: ControlStep,
    context: StepContext<O>,
  ): Promise<Performed<O>> {
    const { ref } = context;
    await client.request({
      method: 'PATCH',
      path: resourcePath(type, { ...ref, subresource: 'status' }),
      body: { metadata: { uid: ref.uid, resourceVersion }, status: control },
      timeoutMs: REQUEST_TIMEOUT_MS,
    });
    // Looking around is not part of the step: where that fails, the write is reported all the same.
    return { observation: undefined, did: [{ did: 'updated', what: 'the status' }] };
  }

  return {
    ...reconciler,
    controller: controlled(reconciler.controller, options),
    look: async (asked, observation, context) =>
      isOfControls(asked) ? undefined : reconciler.look?.(asked, observation, context),
    confirm: async (step, view, context) =>
      isControlStep(step) ? view : reconciler.confirm?.(step, view, context),
    perform: (step, observation, context) =>
      isControlStep(step) ? report(step, context) : reconciler.perform(step, observation, context),
  };
}
