import { StepError } from '../src/api/step-error.ts';
import type { AnyKind, ResourceOf, Running } from '../src/api/controller.ts';
import type { Kube, Selection } from '../src/api/kube.ts';
import type { ResourceType } from '../src/contract/controller.ts';
import type { KubernetesList, KubernetesObject } from '../src/contract/object.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { definedController } from '../src/controllers/defined/controller.ts';
import {
  isLibraryStep,
  LIBRARY_STEPS,
  type AnyDefinition,
  type AuthorsStep,
  type DefinedObservation,
  type DefinedStep,
  type LibraryStep,
} from '../src/controllers/defined/decide.ts';
import { definedView, resourceOf } from '../src/controllers/defined/view.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { ApiError } from '../src/kubernetes/errors.ts';
import { kubeOf } from '../src/kubernetes/kube.ts';
import { eachPage } from '../src/kubernetes/pages.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import { changeOf } from './overridden.ts';
import type { Performed, Reconciler, StepContext } from './reconciler.ts';

const REQUEST_TIMEOUT_MS = 5_000;
/** An attempt counts as unknown for 15 s after it began. */
const RUN_TIMEOUT_MS = 10_000;

/** How the resources of an author's controller are read, and how its steps are done. */
export function definedReconciler(
  definition: AnyDefinition,
  client: KubernetesClient,
): Reconciler<DefinedObservation, DefinedStep> {
  const kube = kubeOf(client);
  const type = definition.for as AnyKind;
  return {
    controller: definedController(definition),
    isExternal: (step) => !Object.hasOwn(LIBRARY_STEPS, step),
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
      () => definition.observe({ resource, signal, kube: authorsKube(client, signal) }) as Promise<unknown>,
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
    return {
      observation: undefined,
      did: [DID[step.do]],
      changed: changeOf(sent, written, client.fieldManager),
    };
  }

  async function run(
    { do: name, data }: AuthorsStep,
    observation: DefinedObservation,
    { superseded, idempotencyKey: keyOf }: StepContext<DefinedObservation>,
  ): Promise<Performed<DefinedObservation>> {
    if (observation === 'gone' || observation.live === undefined)
      throw new Error(`step ${name} was decided without a look at its resource; this is a bug`);
    const { resource, observed } = observation.live;
    const step = (definition.steps as Readonly<Record<string, AnyStep>>)[name];
    if (step === undefined) throw new Error(`controller ${definition.name} has no step ${name}`);
    const signal = soon(superseded);
    const idempotencyKey = keyOf?.() ?? '';
    const running = { resource, observed, signal, idempotencyKey, kube: authorsKube(client, signal) };
    const [did = '', ...what] = (await asStep(() => step.run(running, data))).split(' ');
    return { observation: undefined, did: [{ did, what: what.join(' ') }] };
  }
}

interface AnyStep {
  run(running: Running<AnyKind, unknown>, data: unknown): Promise<string>;
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

function authorsKube(client: KubernetesClient, signal: AbortSignal): Kube {
  const kube = kubeOf(client);
  const how = { timeoutMs: REQUEST_TIMEOUT_MS, signal };
  return {
    get: (at) => kube.get(at, how),
    create: (type, object) => kube.create(type, object, how),
    patch: (at, patch) => kube.patch(at, patch, how),
    delete: (at, conditions) => kube.delete(at, conditions),
    async list<T extends KubernetesObject>(type: ResourceType, { namespace, labelSelector }: Selection = {}) {
      const items: KubernetesObject[] = [];
      const path = resourcePath(type, { namespace });
      const onPage = (page: KubernetesList) => items.push(...(page.items ?? []));
      await eachPage({ client, path, labelSelector }, { onPage, ...how });
      // The author says what the type has.
      return items as unknown as readonly T[];
    },
  };
}

function soon(superseded: AbortSignal): AbortSignal {
  return AbortSignal.any([superseded, AbortSignal.timeout(RUN_TIMEOUT_MS)]);
}

/** What outside systems said has the same consequences as what the API server says. */
async function asStep<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    const { classification, message, retryAfterMs, advice } = error;
    throw new ApiError(message, { classification, retryAfterMs, advice });
  }
}
