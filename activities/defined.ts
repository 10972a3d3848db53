import type { Kube } from '../src/api/kube.ts';
import type { WatchedType } from '../src/api/watched.ts';
import { writesStatus } from '../src/api/controller.ts';
import type { Cause } from '../src/contract/cause.ts';
import type { ReferencedObject } from '../src/contract/controller.ts';
import { isConverged, type Action, type Observe, type Refusal, type Step } from '../src/contract/decision.ts';
import { SILENT_LOGGER } from '../src/contract/logger.ts';
import type { KubernetesObject } from '../src/contract/object.ts';
import { causeOfOverride } from '../src/contract/refusal.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { OutsideNotAsked } from '../src/controllers/defined/bound.ts';
import { definedController } from '../src/controllers/defined/controller.ts';
import { noteKeyOf } from '../src/controllers/defined/note.ts';
import type { ChildrenSeen, ChildStep } from '../src/controllers/defined/children/decide.ts';
import { nextOfChildren } from '../src/controllers/defined/children/done.ts';
import { readsPods, type PodsFound } from '../src/controllers/defined/children/hanging.ts';
import type { ChildView } from '../src/controllers/defined/children/view.ts';
import {
  childSummaries,
  declaredBy,
  declaredTypes,
  ownerOf,
  withoutMissing,
} from '../src/controllers/defined/children/declared.ts';
import {
  isAuthorsStep,
  isChildStep,
  isLibraryStep,
  type DefinedObservation,
  type DefinedStep,
  type LiveReads,
  type LibraryStep,
  type SeenResource,
} from '../src/controllers/defined/observation.ts';
import {
  isDeclaring,
  isExternal,
  isHeld,
  callMaxMs,
  stepsOf,
  UNBOUND,
  type AnyDefinition,
  type AuthorsStep,
} from '../src/controllers/defined/definition.ts';
import { causeWithin } from '../src/controllers/defined/findings.ts';
import { ControllerError, isNever, neverCause, saying } from '../src/controllers/defined/failing.ts';
import { isLookup, nodeIn, remaining } from '../src/controllers/defined/lookups.ts';
import { isSaid } from '../src/controllers/defined/watched.ts';
import { belongingTo, ownedTypes, viewsOf, type OwnedView } from '../src/controllers/defined/owned.ts';
import type { AnyLookups, LiveResource } from '../src/controllers/defined/definition.ts';
import { definedView, type DefinedView } from '../src/controllers/defined/view.ts';
import { NODES } from '../src/controllers/kinds.ts';
import type { KubernetesClient, RequestOptions } from '../src/kubernetes/client.ts';
import { causeOfError } from '../src/kubernetes/causes.ts';
import { ApiError, isOf } from '../src/kubernetes/errors.ts';
import { kubeOf } from '../src/kubernetes/kube.ts';
import { authorsKube, REQUEST_TIMEOUT_MS, waitForBudget, type Access } from './authors-kube.ts';
import { doStep, soon } from './authors-step.ts';
import { stepName } from '../src/controllers/defined/children/decide.ts';
import { ChildrenClient, type LiveChildren } from './children.ts';
import { dryRunning } from './dry-run.ts';
import { Folded } from './folded.ts';
import { refuseBesideHanging, untilGivenUp } from './hanging.ts';
import { changeOf } from './overridden.ts';
import {
  ATTEMPTS_UNTOLD,
  PartlyDone,
  unknownTo,
  type Performed,
  type Reconciler,
  type AttemptContext,
} from './reconciler.ts';
import { readOwned } from './owned.ts';
import { readReferences } from './references.ts';
import { readWatched } from './watched.ts';

/** How the resources of an author's controller are read, and how its steps are done. */
export function definedReconciler(
  its: AnyDefinition,
  server: KubernetesClient,
): Reconciler<DefinedObservation, DefinedStep> {
  const definition = saying(its);
  const client = inWordsOf(definition, server);
  const kube = kubeOf(client);
  const type = definition.for as WatchedType;
  const isReadLess = Object.values(stepsOf(definition)).some(({ reads = 'all' }) => reads !== 'all');
  return {
    controller: definedController(its),
    isExternal: (step) => Object.hasOwn(stepsOf(definition), step) && isExternal(definition, step),
    observe,
    look,
    ...definition.limits,
    ...(isReadLess && { confirm }),
    perform: async (step, observation, context) =>
      withLookups(await perform(step, observation, context), { step, observation, context }),
    withRefusal(observation, refusal, name) {
      if (refusal.because === 'overridden') return withOverride(observation, refusal);
      // Who only looks has waited since: what was refused is tried again.
      return name === 'observe' ? observation : withRefused(observation, refusal, definition);
    },
    rehearse: (step, observation, context) =>
      isChildStep(step)
        ? writeChildren(dryRunning(client), step, { observation, context, isRehearsing: true })
        : Promise.resolve({ observation: undefined, did: [] }),
  };

  /**
   * With a view of the watcher, the declared objects are as that shows them, and only the rest is read: each write of one is in conflict
   * unless it is the one that the watcher saw, or none. A thousand resources of one namespace would be slow if each listed its own.
   */
  async function observe(
    { ref, superseded, attempt, notDone, log = SILENT_LOGGER, ...its }: AttemptContext<DefinedObservation>,
    shown?: DefinedObservation,
  ): Promise<DefinedObservation> {
    // Before the resource: an object that an orphaning deletion has just freed is then never seen with an owner that still looks alive.
    const owned = await readAllOwned(ref);
    const view = await readView(ref);
    if (view?.resource === undefined) return 'gone';
    const { resource } = view;
    if (!isObserved(view, resource, definition)) return { view, owned, live: {} };
    const there = shown === undefined || shown === 'gone' ? undefined : shown.there;
    const asked = notDone === undefined ? {} : { notDone };
    let seen: SeenResource = { view, owned, live: {} };
    try {
      const referred = await readReferences(client, definition, resource);
      const references = referred?.objects ?? [];
      seen = { ...seen, referred };
      const declared = await readChildren(
        resource,
        references,
        there && { ...shownTypes(shown), there: there.filter(({ ownerUid }) => ownerUid === ref.uid) },
      );
      const pods = await readPods({ ...view, resource }, declared);
      const live = { ...(declared && { declared }), ...(pods && { pods }), ...asked };
      seen = { ...seen, live };
      const call = { of: { controller: definition.name, uid: ref.uid }, what: 'observe' };
      refuseBesideHanging(call);
      const signal = soon(superseded);
      const unknown = unknownTo(its);
      const facts = { ...UNBOUND, resource, references, signal, log, unknown, kube: kubeWith({ signal }) };
      const asks = async (): Promise<unknown> =>
        definition.isUnobserved ? undefined : await definition.observe?.(facts);
      const observed: unknown = await untilGivenUp({ ...call, maxMs: callMaxMs(definition), log }, asks);
      return { ...seen, live: { ...live, observed } };
    } catch (error) {
      if (superseded.aborted) throw error;
      return {
        ...seen,
        live: { ...seen.live, ...unlessSaid(error, OBSERVE_FAILED, { view, attempt, ref }) },
      };
    }
  }

  async function look(
    asked: Observe,
    observation: DefinedObservation,
    context: AttemptContext<DefinedObservation>,
  ): Promise<DefinedObservation | undefined> {
    if (observation === 'gone' || observation.live === undefined) return undefined;
    if (!isLookup(asked)) return observe(context, withTheSameChildren(observation));
    const { view, live, referred } = observation;
    const { resource } = view;
    if (resource === undefined) return undefined;
    const { superseded, attempt, ref, log = SILENT_LOGGER } = context;
    const signal = soon(superseded);
    const references = referred?.objects ?? [];
    const unknown = unknownTo(context);
    const facts = { ...UNBOUND, resource, references, signal, log, unknown, kube: kubeWith({ signal }) };
    try {
      const call = { of: { controller: definition.name, uid: ref.uid }, maxMs: callMaxMs(definition), log };
      const read = asked.lookups.map(async (key) => {
        const reading = () => readLookup(key, facts);
        return [key, await untilGivenUp({ ...call, what: `lookup ${key}` }, reading)] as const;
      });
      const lookups = { ...live.lookups, ...Object.fromEntries(await Promise.all(read)) };
      return { ...observation, live: { ...live, lookups } };
    } catch (error) {
      if (superseded.aborted) throw error;
      return {
        ...observation,
        live: { ...live, ...unlessSaid(error, OBSERVE_FAILED, { view, attempt, ref }) },
      };
    }
  }

  function readLookup(key: string, facts: { readonly kube: Kube }): Promise<unknown> {
    const node = nodeIn(key);
    if (node !== undefined) return facts.kube.get({ type: NODES, name: node });
    if (definition.isRehearsing && definition.observeInPlan !== true)
      throw new OutsideNotAsked(`lookup ${key}`);
    const lookup = (definition.lookups as AnyLookups | undefined)?.[key];
    if (lookup === undefined) throw new Error(`there is no lookup ${key}; this is a bug`);
    return lookup.read({ ...facts });
  }

  function perform(
    step: DefinedStep,
    observation: DefinedObservation,
    context: AttemptContext<DefinedObservation>,
  ): Promise<Performed<DefinedObservation>> {
    if (isLibraryStep(step)) return write(step, observation, context.ref);
    return isChildStep(step)
      ? writeChildren(client, step, { observation, context })
      : run(step, observation, context);
  }

  /** Lookups are kept until a step forgets them, whatever has to be observed anew. */
  async function withLookups(
    performed: Performed<DefinedObservation>,
    { step, observation: before, context }: Doing,
  ): Promise<Performed<DefinedObservation>> {
    const read = before === 'gone' ? undefined : before.live?.lookups;
    if (read === undefined) return performed;
    const { forgets } = isAuthorsStep(step) ? (stepsOf(definition)[step.do] ?? {}) : {};
    const lookups = remaining(read, forgets);
    // Nothing is kept where nobody can tell what there is: that is found out, and said, by whoever observes next.
    const after =
      performed.observation ??
      (context.superseded.aborted
        ? undefined
        : await observe(context, performed.view).catch(() => undefined));
    if (after === undefined || after === 'gone' || after.live === undefined) return performed;
    return { ...performed, observation: { ...after, live: { ...after.live, lookups } } };
  }

  /** What was remembered says first what has failed. @throws the error where it says so already, or cannot, or may go away */
  function unlessSaid(
    error: unknown,
    reason: string,
    { view, attempt, ref }: { view: DefinedView; attempt: number | undefined; ref: ResourceRef },
  ): Pick<LiveReads, 'never' | 'unobserved'> {
    if (isNever(error)) return { never: neverCause(error) };
    const cause =
      error instanceof ControllerError ? error.asCause : { ...causeOfFailure(error, ref), reason };
    if (!isNewsOf(error, cause.reason, { view, attempt })) throw error;
    return { unobserved: causeWithin(view, cause) };
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

  function kubeWith(access: Omit<Access, 'client' | 'controller'>): Kube {
    return authorsKube({ client, controller: definition.name, ...access });
  }

  /** Undefined where it is gone, is another one of the same name, or is of no interest. */
  async function readView(ref: ResourceRef): Promise<DefinedView | undefined> {
    const object = await readWatched(client, type, ref);
    return object?.metadata.uid === ref.uid ? definedView(definition, object) : undefined;
  }

  async function readAllOwned(ref: ResourceRef): Promise<readonly OwnedView[]> {
    const types = ownedTypes(definition);
    const views = await Promise.all(
      types.map((owned) =>
        readOwned(client, owned, { type, ref }).catch((error: unknown) => {
          if (!owned.optional || !isOf(error, 'api-missing')) throw error;
          return [];
        }),
      ),
    );
    return belongingTo(ref.uid, views.flat());
  }

  /** Of a resource that is being deleted, what is left: nothing must be left behind, so it is read. */
  async function readChildren(
    resource: LiveResource,
    referred: readonly ReferencedObject[] = [],
    watched?: ListedChildren,
  ): Promise<LiveReads['declared']> {
    const { isBeingDeleted } = resource;
    const declare = (there: readonly ChildView[]) =>
      isBeingDeleted
        ? isDeclaring(definition) && { wanted: [] }
        : declaredBy(definition, resource, { references: referred, there });
    const known = isBeingDeleted ? undefined : watched;
    const declared = declare(known?.there ?? []);
    if (!declared) return undefined;
    const isByCurrent = 'isByCurrent' in declared && declared.isByCurrent;
    if ('outcome' in declared && (known !== undefined || !isByCurrent)) return declared;
    const listed = known ?? (await listChildren(resource));
    const anew = known === undefined && isByCurrent ? declare(listed.there) : declared;
    if (!anew) return undefined;
    return 'wanted' in anew ? { ...withoutMissing(anew, listed.missing), ...listed } : anew;
  }

  function listChildren(resource: LiveResource): Promise<ListedChildren> {
    const children = new ChildrenClient(client, ownerOf(definition, resource));
    return children.list(declaredTypes(definition), definition.finalizer !== undefined);
  }

  /** Undefined: all are ready, or something else comes first. */
  async function readPods(
    view: DefinedView & { readonly resource: LiveResource },
    declared: LiveReads['declared'],
  ): Promise<PodsFound | undefined> {
    if (!readsPods(definition) || declared === undefined || 'outcome' in declared) return undefined;
    const next = nextOfChildren(declared, view);
    const { resource } = view;
    if (resource.isBeingDeleted || next === undefined || !isConverged(next)) return undefined;
    const children = new ChildrenClient(client, ownerOf(definition, resource));
    try {
      return await children.podsOf(declared as LiveChildren);
    } catch (error) {
      // The roles that were installed may be older.
      if (isOf(error, 'access-denied')) return { sinceMs: 0 };
      throw error;
    }
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
    if (before === 'gone' || before.live === undefined) return undefined;
    // What has failed for good, or has to wait, is not tried once more.
    const isAskedAgain = definition.observe !== undefined || before.live.unobserved !== undefined;
    const { never, waiting } = before.live;
    if (isAskedAgain && (never ?? waiting) === undefined) return undefined;
    const view = definedView(definition, written);
    const declared = view && declaredAfter(view, before);
    return declared && { ...before, view, live: { ...before.live, ...declared } };
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
        after: () => (isExternal(definition, step.do) ? undefined : folded.observation),
        kubeFor: ({ allow, onWritten, ...hooks }) =>
          kubeWith({
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
      if (isGoneBy(failure, context.ref)) return { observation: 'gone', did };
      const after = (more: LiveReads) => ({
        observation: { ...observation, live: { ...live, ...more } },
        did,
      });
      if (isOf(failure, 'disruption-budget')) return after({ waiting: waitForBudget(failure) });
      // What was remembered says it first, unless it does already: then the attempt fails with it.
      const isRefusal = isOf(failure, 'refused', 'access-denied') || isSaidByAuthor(failure);
      if (isRefusal && live !== undefined && isTelling(view))
        return { ...after({ refused: causeOfFailure(failure, context.ref) }), refusal: failure };
      if (isNever(failure)) return after({ never: neverCause(failure) });
      const { attempt } = context;
      const isTold = failure instanceof ControllerError && live !== undefined;
      if (!isTold || !isNewsOf(failure, failure.asCause.reason, { view, attempt })) throw error;
      return { ...after({ refused: failure.asCause }), isUnknown: true };
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

  /** A resource that is gone by then is not a failure. */
  function isGoneBy(error: unknown, { name }: ResourceRef): boolean {
    return isOf(error, 'not-found') && error.details?.name === name && error.details.kind === type.plural;
  }

  /** @throws the error itself where it is neither of the API server nor of an outside system */
  function causeOfFailure(error: unknown, { namespace, name }: ResourceRef): Cause {
    if (!(error instanceof ApiError)) throw error;
    return causeOfError(error, { resource: `${type.kind.toLowerCase()}/${name} -n ${namespace}`, namespace });
  }
}

/**
 * What its steps have read or written is not read again within a run: two reads, one of them of a watch that is behind, would say
 * one thing and then the other, again and again.
 */
function withTheSameChildren(seen: DefinedObservation): DefinedObservation {
  const { declared } = (seen === 'gone' ? undefined : seen.live) ?? {};
  if (seen === 'gone' || declared === undefined || 'outcome' in declared) return seen;
  const { there, missing } = declared;
  return { ...seen, there, ...(missing && { missing }) };
}

/** What there is of declared objects, and the optional types whose API is missing. */
type ListedChildren = Pick<ChildrenSeen, 'there' | 'missing'>;

function shownTypes(shown: DefinedObservation | undefined): Pick<ChildrenSeen, 'missing'> {
  return shown === undefined || shown === 'gone' || shown.missing === undefined
    ? {}
    : { missing: shown.missing };
}

interface WritingChildren {
  readonly observation: DefinedObservation;
  readonly context: AttemptContext<DefinedObservation>;
  readonly isRehearsing?: boolean;
}

/** A step, and what it was decided from. */
interface Doing {
  readonly step: DefinedStep;
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

/** What the status says until `observe` succeeds, whatever it fails with: else each other message would be written, and tried again at once. */
const OBSERVE_FAILED = 'ObserveFailed';

/** Whether the status has to say that the author's code has failed, before the attempt fails. */
function isNewsOf(
  error: unknown,
  code: string,
  { view, attempt = 1 }: { view: DefinedView; attempt?: number | undefined },
): boolean {
  if (!isTelling(view) || isOf(error, 'retry-after') || isSaid(view, code)) return false;
  if (error instanceof ControllerError && !error.mayPass) return true;
  return isOf(error, 'refused', 'access-denied') || attempt > ATTEMPTS_UNTOLD;
}

/** Whether the controller has words of its own for it. */
function isSaidByAuthor(error: unknown): error is ApiError {
  return error instanceof ApiError && error.said !== undefined;
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
  const overridden = causeOfOverride(message);
  return { ...observation, live: { ...live, declared: { ...declared, overridden } } };
}

/** Another process may have tried it. */
function withRefused(
  observation: DefinedObservation,
  refusal: Refusal,
  definition: AnyDefinition,
): DefinedObservation {
  if (observation === 'gone' || observation.live?.declared === undefined) return observation;
  const { declared, ...live } = observation.live;
  const steps = childSummaries(definition);
  if ('outcome' in declared) return observation;
  const { namespace: home, name } = observation.view;
  // The words of a refusal do not say where it was.
  const placeOf = (step: string) =>
    declared.wanted.find((each) => [stepName('create', each), stepName('apply', each)].includes(step))
      ?.namespace ?? home;
  const resource = `${(definition.for as WatchedType).kind.toLowerCase()}/${name} -n ${home}`;
  const refused = [...(refusal.others ?? []), refusal].flatMap(({ step, because, message }) =>
    step !== undefined && Object.hasOwn(steps, step) && (because === 'refused' || because === 'access-denied')
      ? [
          {
            step,
            cause: causeOfError(new ApiError(message, { classification: because }), {
              resource,
              namespace: placeOf(step),
            }),
          },
        ]
      : [],
  );
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
