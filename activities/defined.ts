import { isKind, type AnyKind, type ResourceOf } from '../src/api/controller.ts';
import type { WatchedType } from '../src/api/watched.ts';
import type { Step } from '../src/contract/decision.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { kindController } from '../src/controllers/defined/controller.ts';
import {
  isLibraryStep,
  type DefinedObservation,
  type DefinedStep,
  type LibraryStep,
} from '../src/controllers/defined/decide.ts';
import {
  isExternal,
  stepsOf,
  type AnyDefinition,
  type AuthorsStep,
} from '../src/controllers/defined/definition.ts';
import { definedView, resourceOf } from '../src/controllers/defined/view.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { kubeOf } from '../src/kubernetes/kube.ts';
import { authorsKube, REQUEST_TIMEOUT_MS } from './authors-kube.ts';
import { asStep, doStep, soon } from './authors-step.ts';
import { changeOf } from './overridden.ts';
import type { Performed, Reconciler, StepContext } from './reconciler.ts';
import { viewedReconciler } from './viewed.ts';

/** How the resources of an author's controller are read, and how its steps are done. */
export function definedReconciler(
  definition: AnyDefinition,
  client: KubernetesClient,
): Reconciler<unknown, Step> {
  return isKind(definition.for as WatchedType)
    ? kindReconciler(definition, client)
    : viewedReconciler(definition, client);
}

/** Of a kind of `defineKind`. */
export function kindReconciler(
  definition: AnyDefinition,
  client: KubernetesClient,
): Reconciler<DefinedObservation, DefinedStep> {
  const kube = kubeOf(client);
  const type = definition.for as AnyKind;
  return {
    controller: kindController(definition),
    isExternal: (step) => Object.hasOwn(stepsOf(definition), step) && isExternal(definition, step),
    observe,
    perform: (step, observation, context) =>
      isLibraryStep(step) ? write(step, context.ref) : run(step, observation, context),
  };

  async function observe({ ref, superseded }: StepContext<DefinedObservation>): Promise<DefinedObservation> {
    const object = await kube.get({ ...ref, type }, { timeoutMs: REQUEST_TIMEOUT_MS });
    if (object?.metadata.uid !== ref.uid) return 'gone';
    const view = definedView(object);
    const resource = resourceOf(type, object);
    if (!isObserved(resource, definition)) return { view, live: { resource } };
    const signal = soon(superseded);
    const observed: unknown = await asStep(
      async () =>
        (await definition.observe?.({ resource, signal, kube: authorsKube({ client, signal }) })) as unknown,
    );
    return { view, live: { resource, observed } };
  }

  async function write(step: LibraryStep, ref: ResourceRef): Promise<Performed<DefinedObservation>> {
    const { uid } = ref;
    const { resourceVersion } = step;
    const isStatus = step.do === 'updateStatus';
    const sent = isStatus
      ? { metadata: { uid, resourceVersion }, status: step.status }
      : { metadata: { uid, resourceVersion, finalizers: step.finalizers } };
    const at = { ...ref, type, ...(isStatus && { subresource: 'status' as const }) };
    const written = await kube.patch(at, sent, { timeoutMs: REQUEST_TIMEOUT_MS });
    return { observation: undefined, did: [DID[step.do]], changed: changeOf(sent, written) };
  }

  function run(
    step: AuthorsStep,
    observation: DefinedObservation,
    context: StepContext<DefinedObservation>,
  ): Promise<Performed<DefinedObservation>> {
    if (observation === 'gone' || observation.live === undefined)
      throw new Error(`step ${step.do} was decided without a look at its resource; this is a bug`);
    const { resource, observed } = observation.live;
    const signal = isExternal(definition, step.do) ? soon(context.superseded) : undefined;
    return doStep<DefinedObservation>({
      ...{ definition, step, context, facts: { resource, owned: [], observed } },
      after: () => undefined,
      kubeFor: (hooks) => authorsKube({ client, ...hooks, ...(signal && { signal }) }),
    });
  }
}

const DID = {
  addFinalizer: { did: 'added', what: 'the finalizer' },
  removeFinalizer: { did: 'removed', what: 'the finalizer' },
  updateStatus: { did: 'updated', what: 'the status' },
} as const;

/** Nothing is asked of outside systems for a resource of which nothing is decided. */
function isObserved(
  { isBeingDeleted, invalid, metadata }: ResourceOf<AnyKind>,
  { finalizer }: AnyDefinition,
): boolean {
  if (!isBeingDeleted) return invalid === undefined;
  return finalizer !== undefined && metadata.finalizers?.includes(finalizer) === true;
}
