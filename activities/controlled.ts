import type { ResourceType } from '../src/api/resource-type.ts';
import type { Observe, Step } from '../src/runs/decision.ts';
import {
  controlled,
  isOfControls,
  type ControlObserve,
  type ControlOptions,
} from '../src/engine/holds/controlled.ts';
import { isControlStep, type ControlStep } from '../src/engine/holds/report.ts';
import { fieldsOf, type Fields } from '../src/api/fields.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { REQUEST_TIMEOUT_MS } from './authors-kube.ts';
import { ApiError } from '../src/kubernetes/errors.ts';
import { kubeOf } from '../src/kubernetes/kube.ts';
import { changeOf } from './overridden.ts';
import type { Performed, Reconciler, AttemptContext } from './reconciler.ts';

export interface ControlledDependencies {
  readonly client: KubernetesClient;
  readonly options: ControlOptions;
}

function fieldsMissing(sent: object, kept: Fields): readonly string[] {
  return Object.keys(sent).filter((field) => kept[field] === undefined);
}

/** An older CRD prunes what it does not know: the same would be written again and again. */
function outdatedCrd({ group, plural }: ResourceType, fields: readonly string[]): ApiError {
  const named = fields.map((field) => `status.${field}`).join(', ');
  const message = `the CustomResourceDefinition ${plural}.${group} is of an older version and has no ${named}; apply the CRDs of this version of the operator`;
  return new ApiError(message, { classification: 'api-missing' });
}

/** The same reconciler, which follows the annotations that all controllers have in common. */
export function controlledReconciler<O, S extends Step, L extends Observe>(
  reconciler: Reconciler<O, S, L>,
  { client, options }: ControlledDependencies,
): Reconciler<O, S | ControlStep, L | ControlObserve> {
  const { type } = reconciler.controller.primary;

  async function report(
    { resourceVersion, control }: ControlStep,
    context: AttemptContext<O>,
  ): Promise<Performed<O>> {
    const { ref } = context;
    const sent = { metadata: { uid: ref.uid, resourceVersion }, status: control };
    const at = { ...ref, type, subresource: 'status' } as const;
    const written = await kubeOf(client).patch(at, sent, { timeoutMs: REQUEST_TIMEOUT_MS });
    const dropped = fieldsMissing(control, fieldsOf(written['status']));
    if (dropped.length > 0) throw outdatedCrd(type, dropped);
    // Looking around is not part of the step: where that fails, the write is reported all the same.
    const did = [{ did: 'updated', what: 'the status' }];
    return { observation: undefined, did, changed: changeOf(sent, written, client.fieldManager) };
  }

  async function confirm(step: S | ControlStep, view: O, context: AttemptContext<O>) {
    return isControlStep(step) ? view : reconciler.confirm?.(step, view, context);
  }

  return {
    ...reconciler,
    controller: controlled(reconciler.controller, options),
    look: async (asked, observation, context) =>
      isOfControls(asked) ? undefined : reconciler.look?.(asked, observation, context),
    ...(reconciler.confirm !== undefined && { confirm }),
    perform: (step, observation, context) =>
      isControlStep(step) ? report(step, context) : reconciler.perform(step, observation, context),
  };
}
