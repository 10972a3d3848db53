import { fieldsOf } from '../src/api/fields.ts';
import { writesStatus } from '../src/api/controller.ts';
import { type Action, type Step } from '../src/runs/decision.ts';
import type { KubernetesObject } from '../src/api/object.ts';
import type { ResourceRef } from '../src/api/resource-ref.ts';
import { definedController } from '../src/engine/defined-controller.ts';
import { noteKeyOf } from '../src/engine/note.ts';
import type { ChildStep } from '../src/engine/children/decide.ts';
import { declaredBy, ownerOf, withoutMissing } from '../src/engine/children/declared.ts';
import {
  isAuthorsStep,
  isChildStep,
  isLibraryStep,
  type DefinedObservation,
  type LiveReads,
  type LibraryStep,
  type SeenResource,
} from '../src/engine/observation.ts';
import {
  isExternal,
  stepsOf,
  type AnyDefinition,
  type AuthorsStep,
  type LiveResource,
} from '../src/engine/definition.ts';
import { ControllerError, isNever, neverCause, saying } from '../src/engine/failing.ts';
import type { ControlOptions } from '../src/engine/holds/holds.ts';
import { stepUnderWay } from '../src/engine/watched.ts';
import { remaining } from '../src/engine/lookups.ts';
import { viewsOf, type OwnedView } from '../src/engine/owned.ts';
import { definedView, type DefinedView } from '../src/engine/view.ts';
import type { KubernetesClient, RequestOptions } from '../src/kubernetes/client.ts';
import { ApiError, isOf } from '../src/kubernetes/errors.ts';
import { kubeOf } from '../src/kubernetes/kube.ts';
import { REQUEST_TIMEOUT_MS, waitForBudget } from './authors-kube.ts';
import { doStep } from './authors-step.ts';
import { ChildrenClient, type LiveChildren } from './objects/children.ts';
import { dryRunning } from './dry-run.ts';
import { Folded } from './objects/folded.ts';
import { changeOf, requireKept } from './overridden.ts';
import {
  PartlyDone,
  unknownTo,
  type AttemptContext,
  type Confirmation,
  type Performed,
  type Reconciler,
} from './reconciler.ts';
import { Observing, withTheSameChildren } from './observing.ts';
import { causeOfFailure, isGoneBy, isNewsOf, isSaidByAuthor, isTelling } from './telling.ts';
import { withOverride, withRefused } from './refusals.ts';

/** How the resources of an author's controller are read, and how its steps are done. */
export function definedReconciler(
  its: AnyDefinition,
  server: KubernetesClient,
  controls: ControlOptions = {},
): Reconciler<DefinedObservation> {
  const definition = saying(its);
  const client = inWordsOf(definition, server);
  const kube = kubeOf(client);
  const observing = new Observing(definition, client);
  const type = definition.for;
  const isReadLess = Object.values(stepsOf(definition)).some(({ reads = 'all' }) => reads !== 'all');
  return {
    controller: definedController(its, controls),
    isExternal: (step) => Object.hasOwn(stepsOf(definition), step) && isExternal(definition, step),
    observe: (...asked) => observing.observe(...asked),
    look: (...asked) => observing.look(...asked),
    ...definition.limits,
    ...(isReadLess && {
      confirm,
      isShown: (observation: DefinedObservation) =>
        observation !== 'gone' && observation.isOwnedShown === true,
      hasShown: (shown: DefinedObservation, written: DefinedObservation) =>
        shown !== 'gone' && written !== 'gone' && shown.view.resourceVersion === written.view.resourceVersion,
    }),
    perform: async (step, observation, context) =>
      withLookups(await perform(step, observation, context), { step, observation, context }),
    withRefusal(observation, refusal, name) {
      if (refusal.because === 'overridden') return withOverride(observation, refusal, definition);
      // Who only looks has waited since: what was refused is tried again.
      return name === 'observe' ? observation : withRefused(observation, refusal, definition);
    },
    rehearse: (step, observation, context) =>
      isChildStep(step)
        ? writeChildren(dryRunning(client), step, { observation, context, isRehearsing: true })
        : Promise.resolve({ observation: undefined, did: [] }),
  };

  function perform(
    step: Step,
    observation: DefinedObservation,
    context: AttemptContext<DefinedObservation>,
  ): Promise<Performed<DefinedObservation>> {
    if (isLibraryStep(step)) return write(step, observation, context.ref);
    if (isChildStep(step)) return writeChildren(client, step, { observation, context });
    if (isAuthorsStep(step)) return run(step, observation, context);
    throw new Error(`nobody has decided on step ${step.do}; this is a bug`);
  }

  /** Lookups are kept until a step forgets them, whatever has to be observed anew. */
  async function withLookups(
    performed: Performed<DefinedObservation>,
    { step, observation: before, context }: Doing,
  ): Promise<Performed<DefinedObservation>> {
    const read = before === 'gone' ? undefined : before.lookups;
    if (read === undefined) return performed;
    const { forgets } = isAuthorsStep(step) ? (stepsOf(definition)[step.do] ?? {}) : {};
    const lookups = remaining(read, forgets);
    // Nothing is kept where nobody can tell what there is: that is found out, and said, by whoever observes next.
    const after =
      performed.observation ??
      (context.superseded.aborted
        ? undefined
        : await observing.observe(context, performed.view).catch(() => undefined));
    if (after === undefined || after === 'gone') return performed;
    return { ...performed, observation: { ...after, lookups } };
  }

  async function confirm(
    step: Step,
    shown: DefinedObservation,
    context: AttemptContext<DefinedObservation>,
  ): Promise<Confirmation<DefinedObservation>> {
    if (shown === 'gone') return 'unknown';
    const reads = readBefore(step, shown);
    if (reads === 'cache') return 'as shown';
    const { view: seen, isOwnedShown, lookups } = shown;
    if (reads === 'resource') {
      if (isOwnedShown) return shown.live ? 'as shown' : { observation: { ...shown, live: {} } };
      const view = await observing.readView(context.ref);
      if (view === undefined) return { observation: 'gone' };
      if (view.resourceVersion === seen.resourceVersion)
        return { observation: { ...shown, view, live: {}, isOwnedShown: true } };
    }
    // A finalizer is removed only from the resource that was decided from.
    const isKnown = isOwnedShown === true || step.do === 'removeFinalizer';
    const known = isKnown && !seen.hasOtherFinalizers ? seen : undefined;
    const live = await observing.observe(context, undefined, known);
    return { observation: live === 'gone' || lookups === undefined ? live : { ...live, lookups } };
  }

  /** A write of the resource alone is conditional on its version, and reads nothing. What may be in progress is told after a look at what there is. */
  function readBefore(step: Step, { view, live }: SeenResource): 'cache' | 'resource' | 'all' {
    if (isAuthorsStep(step)) return stepsOf(definition)[step.do]?.reads ?? 'all';
    const isToldAnew = live === undefined && stepUnderWay(view) !== undefined;
    if (definition.children !== undefined || isToldAnew) return 'all';
    const isOfFinalizers = step.do === 'addFinalizer' && view.hasOtherFinalizers === true;
    return step.do === 'removeFinalizer' || isOfFinalizers ? 'all' : 'cache';
  }

  async function writeChildren(
    writer: KubernetesClient,
    step: ChildStep,
    { observation, context, isRehearsing }: WritingChildren,
  ): Promise<Performed<DefinedObservation>> {
    const seen = liveOf(step, observation);
    const { view, live } = seen;
    const children = new ChildrenClient(writer, ownerOf(definition, view.resource), {
      isRehearsing: isRehearsing ?? definition.isRehearsing,
    });
    const end = await children.perform(step, live.declared as LiveChildren, context);
    const isOutdated = definition.observe !== undefined && end.did.length > 0;
    const declared = declaredAnew(view.resource, seen, end.children);
    const after = { ...live, declared, ...(isOutdated && { isOutdated }) };
    return { ...end, observation: { ...seen, live: after } };
  }

  /** What is declared may depend on what was just written. */
  function declaredAnew(
    resource: LiveResource,
    { referred }: SeenResource,
    children: LiveChildren,
  ): LiveReads['declared'] {
    if (!children.isByCurrent || resource.isBeingDeleted) return children;
    const { there } = children;
    const anew = declaredBy(definition, resource, { references: referred?.objects ?? [], there });
    return anew === undefined || 'outcome' in anew
      ? anew
      : { ...children, ...withoutMissing(anew, children.missing) };
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
    if (isStatus) requireKept(step.status, fieldsOf(written['status']), type);
    const did = [DID[step.do]];
    const changed = changeOf(sent, written, client.fieldManager);
    return { observation: after(observation, written), view: withTheSameChildren(observation), did, changed };
  }

  function changeOfMetadata(step: Exclude<LibraryStep, { do: 'updateStatus' }>): object {
    return 'note' in step
      ? { annotations: { [noteKeyOf(definition)]: step.note } }
      : { finalizers: step.finalizers };
  }

  /** What the author observes outside is observed anew. */
  function after(before: DefinedObservation, written: KubernetesObject): DefinedObservation | undefined {
    if (before === 'gone') return undefined;
    if (before.live === undefined) return isReadLess ? shownAfter(before, written) : undefined;
    // What has failed for good, or has to wait, is not tried once more.
    const isAskedAgain = definition.observe !== undefined || before.live.unobserved !== undefined;
    const { never, waiting } = before.live;
    if (isAskedAgain && (never ?? waiting) === undefined) return undefined;
    const view = definedView(definition, written);
    const declared = view && declaredAfter(view, before);
    return declared && { ...before, view, live: { ...before.live, ...declared } };
  }

  /** What it owns is as the watch shows it, still. */
  function shownAfter(before: SeenResource, written: KubernetesObject): DefinedObservation | undefined {
    const view = definition.children === undefined ? definedView(definition, written) : undefined;
    return view && { ...before, view, isOwnedShown: true };
  }

  /** What is declared may follow from the status that was just written. Undefined: what there is of it has to be read. */
  function declaredAfter(
    { resource }: DefinedView,
    { live, referred }: SeenResource,
  ): Pick<LiveReads, 'declared'> | undefined {
    const before = live?.declared;
    if (before === undefined || resource === undefined || resource.isBeingDeleted) return {};
    const there = 'there' in before ? before.there : [];
    const anew = declaredBy(definition, resource, { references: referred?.objects ?? [], there });
    if (anew === undefined || 'outcome' in anew) return { declared: anew };
    return 'outcome' in before
      ? undefined
      : { declared: { ...before, ...withoutMissing(anew, before.missing) } };
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
      unknown: unknownTo(context),
    };
    try {
      const { status, ...performed } = await doStep<DefinedObservation>({
        ...{ definition, step, context, facts },
        goneNow: goneFrom(owned, context),
        isInVain: () => folded.isAnyLost,
        after: () => (isExternal(definition, step.do) ? undefined : folded.observation),
        kubeFor: ({ allow, onWritten, ...hooks }) =>
          observing.kubeWith({
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
      if (status !== undefined) await record(status, { step: step.do, ref: context.ref, did: performed.did });
      return performed;
    } catch (error) {
      const [failure, did] = error instanceof PartlyDone ? [error.cause, error.did] : [error, []];
      if (isGoneBy(failure, { ref: context.ref, type })) return { observation: 'gone', did };
      const after = (more: LiveReads) => ({
        observation: {
          ...observation,
          ...(live === undefined && { isOwnedShown: true as const }),
          live: { ...live, ...more },
        },
        did,
      });
      if (isOf(failure, 'disruption-budget')) return after({ waiting: waitForBudget(failure) });
      // What was remembered says it first, unless it does already: then the attempt fails with it.
      const isRefusal = isOf(failure, 'refused', 'access-denied') || isSaidByAuthor(failure);
      if (isRefusal && isTelling(view))
        return {
          ...after({
            refused: { step: step.do, cause: causeOfFailure(failure, { ref: context.ref, type }) },
          }),
          refusal: failure,
        };
      if (isNever(failure)) return after({ never: neverCause(failure) });
      const { attempt } = context;
      const isTold = failure instanceof ControllerError && live !== undefined;
      if (!isTold || !isNewsOf(failure, failure.asCause.reason, { view, attempt })) throw error;
      return { ...after({ refused: { step: step.do, cause: failure.asCause } }), isUnknown: true };
    }
  }

  /** What a system has said is true whatever the resource is by now. @throws PartlyDone: nobody knows it, so the next attempt has the same key */
  async function record(
    status: object,
    { step, ref, did }: { step: string; ref: ResourceRef; did: readonly Action[] },
  ): Promise<void> {
    const mistake = (error: unknown) => {
      const failing = { reason: 'StepFailed', what: `the status that step ${step} returns`, asks: true };
      return new PartlyDone(new ControllerError(definition.name, failing, error), did);
    };
    if (!writesStatus(definition)) throw mistake(new Error('the controller writes the status of no kind'));
    const at = { ...ref, type, subresource: 'status' } as const;
    const sent = { metadata: { uid: ref.uid }, status };
    await kube.patch(at, sent, { timeoutMs: REQUEST_TIMEOUT_MS }).catch((error: unknown) => {
      throw error instanceof ApiError && !isOf(error, 'refused')
        ? new PartlyDone(error, did)
        : mistake(error);
    });
  }
}

interface WritingChildren {
  readonly observation: DefinedObservation;
  readonly context: AttemptContext<DefinedObservation>;
  readonly isRehearsing?: boolean;
}

/** A step, and what it was decided from. */
interface Doing {
  readonly step: Step;
  readonly observation: DefinedObservation;
  readonly context: AttemptContext<DefinedObservation>;
}

/** Of the views that a step was given: those that the watch, which showed them when the step began, shows no more. */
function goneFrom(
  owned: readonly OwnedView[],
  { watched }: AttemptContext<DefinedObservation>,
): () => ReadonlySet<unknown> {
  const shown = (): ReadonlySet<string> => {
    const seen = watched?.();
    return new Set(seen === undefined || seen === 'gone' ? [] : seen.owned.map(({ uid }) => uid));
  };
  const atFirst = shown();
  return () => {
    if (atFirst.size === 0) return atFirst;
    const now = shown();
    const gone = owned.filter(({ uid }) => atFirst.has(uid) && !now.has(uid));
    return new Set(gone.map(({ view }) => view).filter((view) => typeof view === 'object'));
  };
}

/** The same client, whose writes fail in the words of the controller where it has some. */
function inWordsOf(definition: AnyDefinition, client: KubernetesClient): KubernetesClient {
  if (definition.refusal === undefined) return client;
  return {
    server: client.server,
    fieldManager: client.fieldManager,
    watch: (options) => client.watch(options),
    close: (graceMs) => client.close(graceMs),
    request: <T>(options: RequestOptions) =>
      client.request<T>(options).catch((error: unknown) => {
        if (!(error instanceof ApiError) || options.method === 'GET') throw error;
        const said = definition.refusal?.(error);
        throw said === undefined ? error : error.as(said);
      }),
  };
}

function liveOf({ do: step }: Step, observation: DefinedObservation) {
  const { live, view } = observation === 'gone' ? {} : observation;
  if (observation === 'gone' || live === undefined || view?.resource === undefined)
    throw new Error(`step ${step} was decided without a look at its resource; this is a bug`);
  return { ...observation, live, view: { ...view, resource: view.resource } };
}

const DID = {
  addFinalizer: { did: 'added', what: 'the finalizer' },
  removeFinalizer: { did: 'removed', what: 'the finalizer' },
  updateStatus: { did: 'updated', what: 'the status' },
  updateState: { did: 'noted', what: 'what was found' },
} as const;
