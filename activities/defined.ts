import type { WatchedType } from '../src/api/watched.ts';
import type { Cause } from '../src/contract/cause.ts';
import type { ReferencedObject } from '../src/contract/controller.ts';
import type { Refusal, Step } from '../src/contract/decision.ts';
import type { KubernetesObject } from '../src/contract/object.ts';
import { truncate } from '../src/contract/text.ts';
import { causeOfOverride } from '../src/contract/refusal.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { OutsideNotAsked } from '../src/controllers/defined/bound.ts';
import { definedController } from '../src/controllers/defined/controller.ts';
import { noteKeyOf } from '../src/controllers/defined/note.ts';
import type { ChildStep } from '../src/controllers/defined/children/decide.ts';
import type { ChildView } from '../src/controllers/defined/children/view.ts';
import { declaredBy, declaredTypes, ownerOf } from '../src/controllers/defined/children/declared.ts';
import {
  isAuthorsStep,
  isChildStep,
  isLibraryStep,
  type DefinedObservation,
  type DefinedStep,
  type LiveReads,
  type LibraryStep,
} from '../src/controllers/defined/observation.ts';
import {
  isExternal,
  isHeld,
  stepsOf,
  UNBOUND,
  type AnyDefinition,
  type AuthorsStep,
} from '../src/controllers/defined/definition.ts';
import { belongingTo, ownedTypes, viewsOf, type OwnedView } from '../src/controllers/defined/owned.ts';
import type { LiveResource } from '../src/controllers/defined/definition.ts';
import { definedView, type DefinedView } from '../src/controllers/defined/view.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { causeOfError } from '../src/kubernetes/causes.ts';
import { ApiError, isOf } from '../src/kubernetes/errors.ts';
import { kubeOf } from '../src/kubernetes/kube.ts';
import { authorsKube, REQUEST_TIMEOUT_MS } from './authors-kube.ts';
import { asStep, doStep, soon } from './authors-step.ts';
import { ChildrenClient, type LiveChildren } from './children.ts';
import { dryRunning } from './dry-run.ts';
import { Folded } from './folded.ts';
import { changeOf } from './overridden.ts';
import type { Performed, Reconciler, AttemptContext } from './reconciler.ts';
import { readOwned } from './owned.ts';
import { readReferences } from './references.ts';
import { readWatched } from './watched.ts';

/** How the resources of an author's controller are read, and how its steps are done. */
export function definedReconciler(
  definition: AnyDefinition,
  client: KubernetesClient,
): Reconciler<DefinedObservation, DefinedStep> {
  const kube = kubeOf(client);
  const type = definition.for as WatchedType;
  const isReadLess = Object.values(stepsOf(definition)).some(({ reads = 'all' }) => reads !== 'all');
  return {
    controller: definedController(definition),
    isExternal: (step) => Object.hasOwn(stepsOf(definition), step) && isExternal(definition, step),
    observe,
    ...(isReadLess && { confirm }),
    perform: (step, observation, context) => {
      if (isLibraryStep(step)) return write(step, observation, context.ref);
      return isChildStep(step)
        ? writeChildren(client, step, { observation, context })
        : run(step, observation, context);
    },
    withRefusal: (observation, refusal) =>
      refusal.because === 'overridden' ? withOverride(observation, refusal) : observation,
    rehearse: (step, observation, context) =>
      isChildStep(step)
        ? writeChildren(dryRunning(client), step, { observation, context })
        : Promise.resolve({ observation: undefined, did: [] }),
  };

  /**
   * With a view of the watcher, the declared objects are as that shows them, and only the rest is read: each write of one is in conflict
   * unless it is the one that the watcher saw, or none. A thousand resources of one namespace would be slow if each listed its own.
   */
  async function observe(
    { ref, superseded, attempt }: AttemptContext<DefinedObservation>,
    shown?: DefinedObservation,
  ): Promise<DefinedObservation> {
    // Before the resource: an object that an orphaning deletion has just freed is then never seen with an owner that still looks alive.
    const owned = await readAllOwned(ref);
    const view = await readView(ref);
    if (view?.resource === undefined) return 'gone';
    const { resource } = view;
    if (!isObserved(view, resource, definition)) return { view, owned, live: {} };
    const referred = await readReferences(client, definition, resource);
    const there = shown === undefined || shown === 'gone' ? undefined : shown.there;
    const its = there?.filter(({ ownerUid }) => ownerUid === ref.uid);
    const declared = await readChildren(resource, referred?.objects, its);
    const seen = { view, owned, referred };
    const live = { ...(declared && { declared }) };
    const signal = soon(superseded);
    const references = referred?.objects ?? [];
    const facts = { ...UNBOUND, resource, references, signal, kube: authorsKube({ client, signal }) };
    try {
      const observed = await asStep(async () => (await definition.observe?.(facts)) as unknown);
      return { ...seen, live: { ...live, observed } };
    } catch (error) {
      if (superseded.aborted || !isNewsOf(error, OBSERVE_FAILED, { view, attempt })) throw error;
      const unobserved = { ...causeOfFailure(error, ref), reason: OBSERVE_FAILED };
      return { ...seen, live: { ...live, unobserved } };
    }
  }

  async function confirm(
    step: DefinedStep,
    shown: DefinedObservation,
    { ref }: AttemptContext<DefinedObservation>,
  ): Promise<DefinedObservation | undefined> {
    const { reads = 'all' } = isAuthorsStep(step) ? (stepsOf(definition)[step.do] ?? {}) : {};
    if (reads === 'cache') return shown;
    if (reads === 'all' || shown === 'gone') return undefined;
    const view = await readView(ref);
    return view === undefined ? 'gone' : { ...shown, view };
  }

  /** Undefined where it is gone, is another one of the same name, or is of no interest. */
  async function readView(ref: ResourceRef): Promise<DefinedView | undefined> {
    const object = await readWatched(client, type, ref);
    return object?.metadata.uid === ref.uid ? definedView(definition, object) : undefined;
  }

  async function readAllOwned(ref: ResourceRef): Promise<readonly OwnedView[]> {
    const types = ownedTypes(definition);
    const views = await Promise.all(types.map((owned) => readOwned(client, owned, { type, ref })));
    return belongingTo(ref.uid, views.flat());
  }

  /** Of a resource that is being deleted, what is left: nothing must be left behind, so it is read. */
  async function readChildren(
    resource: LiveResource,
    referred: readonly ReferencedObject[] = [],
    watched?: readonly ChildView[],
  ): Promise<LiveReads['declared']> {
    const declared = resource.isBeingDeleted
      ? definition.children && { wanted: [] }
      : declaredBy(definition, resource, referred);
    if (declared === undefined || 'outcome' in declared) return declared;
    if (watched !== undefined && !resource.isBeingDeleted) return { ...declared, there: watched };
    const children = new ChildrenClient(client, ownerOf(definition, resource));
    const there = await children.list(declaredTypes(definition), definition.finalizer !== undefined);
    return { ...declared, there };
  }

  async function writeChildren(
    writer: KubernetesClient,
    step: ChildStep,
    {
      observation,
      context,
    }: { observation: DefinedObservation; context: AttemptContext<DefinedObservation> },
  ): Promise<Performed<DefinedObservation>> {
    const { view, live } = liveOf(step, observation);
    const children = new ChildrenClient(writer, ownerOf(definition, view.resource));
    const end = await children.perform(step, live.declared as LiveChildren, context.now);
    const after = { ...liveOf(step, observation), live: { ...live, declared: end.children } };
    return { ...end, observation: after };
  }

  async function write(
    step: LibraryStep,
    observation: DefinedObservation,
    ref: ResourceRef,
  ): Promise<Performed<DefinedObservation>> {
    const { uid } = ref;
    const { resourceVersion } = step;
    const isStatus = step.do === 'updateStatus';
    const metadata = { uid, resourceVersion };
    const sent = isStatus
      ? { metadata, status: step.status }
      : { metadata: { ...metadata, ...changeOfMetadata(step) } };
    const at = { ...ref, type, ...(isStatus && { subresource: 'status' as const }) };
    const written = await kube.patch(at, sent, { timeoutMs: REQUEST_TIMEOUT_MS });
    const did = [DID[step.do]];
    const changed = changeOf(sent, written, client.fieldManager);
    return { observation: after(observation, written), did, changed };
  }

  function changeOfMetadata(step: Exclude<LibraryStep, { do: 'updateStatus' }>): object {
    return 'note' in step
      ? { annotations: { [noteKeyOf(definition)]: step.note } }
      : { finalizers: step.finalizers };
  }

  /** What the author observes outside is observed anew. */
  function after(before: DefinedObservation, written: KubernetesObject): DefinedObservation | undefined {
    if (before === 'gone' || before.live === undefined || definition.observe !== undefined) return undefined;
    const view = definedView(definition, written);
    return view && { ...before, view };
  }

  async function run(
    step: AuthorsStep,
    observation: DefinedObservation,
    context: AttemptContext<DefinedObservation>,
  ): Promise<Performed<DefinedObservation>> {
    if (observation === 'gone')
      throw new Error(`step ${step.do} was decided without a resource; this is a bug`);
    const { view, owned, referred, live } = observation;
    const { resource } = view;
    const folded = new Folded(definition, observation);
    const facts = {
      ...{ resource, owned: viewsOf(owned), observed: live?.observed },
      references: referred?.objects ?? [],
    };
    try {
      return await doStep<DefinedObservation>({
        ...{ definition, step, context, facts },
        after: () => (isExternal(definition, step.do) ? undefined : folded.observation),
        kubeFor: ({ allow, onWritten, ...hooks }) =>
          authorsKube({
            client,
            ...hooks,
            isMetadataOnly: (at) => type.metadataOnly === true && folded.isResource(at),
            allow: (asked) => {
              allow(asked);
              folded.check(step, asked);
            },
            onWritten: (written) => {
              folded.written(written);
              onWritten(written);
            },
          }),
      });
    } catch (error) {
      if (isGoneBy(error, context.ref)) return { observation: 'gone', did: [] };
      // What was remembered says it first, unless it does already: then the attempt fails with it.
      if (live === undefined || !isTelling(view)) throw error;
      const saying = (refused: Cause) => ({
        observation: { ...observation, live: { ...live, refused } },
        did: [],
      });
      if (isOf(error, 'refused', 'access-denied'))
        return { ...saying(causeOfFailure(error, context.ref)), refusal: error };
      const { attempt } = context;
      if (error instanceof ApiError || !isNewsOf(error, STEP_FAILED, { view, attempt })) throw error;
      return saying({ ...causeOfFailure(error, context.ref), reason: STEP_FAILED });
    }
  }

  /** A resource that is gone by then is not a failure. */
  function isGoneBy(error: unknown, { name }: ResourceRef): boolean {
    return isOf(error, 'not-found') && error.details?.name === name && error.details.kind === type.plural;
  }

  function causeOfFailure(error: unknown, { namespace, name }: ResourceRef): Cause {
    const about = { resource: `${type.kind.toLowerCase()}/${name} -n ${namespace}`, namespace };
    if (error instanceof ApiError) return causeOfError(error, about);
    const message = truncate(error instanceof Error ? error.message : String(error), MESSAGE_MAX);
    const advice = [
      `correct the controller ${definition.name}: its code has failed; the log of the operator shows where`,
    ];
    return { reason: STEP_FAILED, message, advice };
  }
}

/** What the status says until `observe` succeeds, whatever it fails with: else each other message would be written, and tried again at once. */
const OBSERVE_FAILED = 'ObserveFailed';
/** The code of a step has a bug. */
const STEP_FAILED = 'StepFailed';
/** What goes away by itself within so many attempts changes no status. */
const ATTEMPTS_UNTOLD = 2;
/** How much of the message of a bug a condition holds. */
const MESSAGE_MAX = 500;

/** Whether the status has to say that the author's code has failed, before the attempt fails. */
function isNewsOf(
  error: unknown,
  code: string,
  { view, attempt = 1 }: { view: DefinedView; attempt?: number | undefined },
): boolean {
  if (error instanceof OutsideNotAsked || isOf(error, 'retry-after') || isTold(view, code)) return false;
  return isOf(error, 'refused', 'access-denied') || attempt > ATTEMPTS_UNTOLD;
}

function isTold({ conditions, generation, observedGeneration }: DefinedView, code: string): boolean {
  const isSaid = conditions.some(({ type, reason }) => type === 'Ready' && reason === code);
  return isSaid && observedGeneration === generation;
}

/** Whether there is a place that says why a step has failed. */
function isTelling({ status, note }: DefinedView): boolean {
  return status !== undefined || note !== undefined;
}

function liveOf({ do: step }: Step, observation: DefinedObservation) {
  const { live, view } = observation === 'gone' ? {} : observation;
  if (observation === 'gone' || live === undefined || view?.resource === undefined)
    throw new Error(`step ${step} was decided without a look at its resource; this is a bug`);
  return { ...observation, live, view: { ...view, resource: view.resource } };
}

function withOverride(observation: DefinedObservation, { message }: Refusal): DefinedObservation {
  if (observation === 'gone' || observation.live?.declared === undefined) return observation;
  const { declared, ...live } = observation.live;
  if ('outcome' in declared) return observation;
  const refused = causeOfOverride(message);
  return { ...observation, live: { ...live, declared: { ...declared, refused } } };
}

const DID = {
  addFinalizer: { did: 'added', what: 'the finalizer' },
  removeFinalizer: { did: 'removed', what: 'the finalizer' },
  updateStatus: { did: 'updated', what: 'the status' },
  updateState: { did: 'noted', what: 'what was found' },
} as const;

/** Nothing is asked of outside systems for a resource of which nothing is decided. */
function isObserved(
  { finalizers }: DefinedView,
  { isBeingDeleted, invalid }: LiveResource,
  definition: AnyDefinition,
): boolean {
  if (invalid !== undefined && !isBeingDeleted) return false;
  return !isBeingDeleted || definition.finalizer === undefined || isHeld(definition, finalizers);
}
