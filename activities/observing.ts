import type { Kube } from '../src/api/kube.ts';
import type { WatchedType } from '../src/api/watched.ts';
import type { ReferencedObject } from '../src/api/reference.ts';
import { isConverged, type Observe } from '../src/runs/decision.ts';
import { SILENT_LOGGER } from '../src/api/logger.ts';
import type { ResourceRef } from '../src/api/resource-ref.ts';
import { OutsideNotAsked } from '../src/engine/bound.ts';
import type { ChildrenSeen } from '../src/engine/children/decide.ts';
import { nextOfChildren } from '../src/engine/children/done.ts';
import { readsPods, type PodsFound } from '../src/engine/children/hanging.ts';
import type { ChildView } from '../src/engine/children/view.ts';
import { declaredBy, declaredTypes, ownerOf, withoutMissing } from '../src/engine/children/declared.ts';
import { type DefinedObservation, type LiveReads, type SeenResource } from '../src/engine/observation.ts';
import {
  isDeclaring,
  isHeld,
  callMaxMs,
  UNBOUND,
  type AnyDefinition,
  type LiveResource,
} from '../src/engine/definition.ts';
import { isLookup, nodeIn } from '../src/engine/lookups.ts';
import { belongingTo, ownedTypes, viewsOf, type OwnedView } from '../src/engine/owned.ts';
import { definedView, type DefinedView } from '../src/engine/view.ts';
import { NODES } from '../src/api/kinds.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { isOf } from '../src/kubernetes/errors.ts';
import { authorsKube, type Access } from './authors-kube.ts';
import { soon } from './authors-step.ts';
import { ChildrenClient, type LiveChildren } from './objects/children.ts';
import { refuseBesideHanging, untilGivenUp } from './hanging-code.ts';
import { unknownTo, type AttemptContext } from './reconciler.ts';
import { readOwned } from './objects/owned.ts';
import { readReferences } from './objects/references.ts';
import { readWatched } from './objects/watched.ts';
import { unlessSaid } from './telling.ts';

/** Reads what an author's controller decides from. */
export class Observing {
  readonly #definition: AnyDefinition;
  readonly #client: KubernetesClient;
  readonly #type: WatchedType;

  constructor(definition: AnyDefinition, client: KubernetesClient) {
    this.#definition = definition;
    this.#client = client;
    this.#type = definition.for;
  }

  /**
   * With a view of the watcher, the declared objects are as that shows them, and only the rest is read: each write of one is in conflict
   * unless it is the one that the watcher saw, or none. A thousand resources of one namespace would be slow if each listed its own.
   *
   * @param known the resource, where it need not be read
   */
  async observe(
    { ref, superseded, attempt, notDone, log = SILENT_LOGGER, ...its }: AttemptContext<DefinedObservation>,
    shown?: DefinedObservation,
    known?: DefinedView,
  ): Promise<DefinedObservation> {
    // Before the resource: an object that an orphaning deletion has just freed is then never seen with an owner that still looks alive.
    const owned = await this.#readAllOwned(ref);
    const view = known ?? (await this.readView(ref));
    if (view?.resource === undefined) return 'gone';
    const { resource } = view;
    if (!isObserved(view, resource, this.#definition)) return { view, owned, live: {} };
    const there = shown === undefined || shown === 'gone' ? undefined : shown.there;
    const asked = notDone === undefined ? {} : { notDone };
    let seen: SeenResource = { view, owned, live: {} };
    try {
      const referred = await readReferences(this.#client, this.#definition, resource);
      const references = referred?.objects ?? [];
      seen = { ...seen, referred };
      const declared = await this.#readChildren(
        resource,
        references,
        there && { ...shownTypes(shown), there: there.filter(({ ownerUid }) => ownerUid === ref.uid) },
      );
      const pods = await this.#readPods({ ...view, resource }, declared);
      const live = { ...(declared && { declared }), ...(pods && { pods }), ...asked };
      seen = { ...seen, live };
      const call = { of: { controller: this.#definition.name, uid: ref.uid }, what: 'observe' };
      refuseBesideHanging(call);
      const signal = soon(superseded);
      const unknown = unknownTo(its);
      const facts = {
        ...UNBOUND,
        resource,
        references,
        signal,
        log,
        unknown,
        kube: this.kubeWith({ signal }),
      };
      const asks = async (): Promise<unknown> => await this.#definition.observe?.(facts);
      const isAsked = this.#definition.observe !== undefined && !this.#definition.isUnobserved;
      const limits = { ...call, maxMs: callMaxMs(this.#definition), log };
      const observed: unknown = isAsked ? await untilGivenUp(limits, asks) : undefined;
      return { ...seen, live: { ...live, observed } };
    } catch (error) {
      if (superseded.aborted) throw error;
      return {
        ...seen,
        live: {
          ...seen.live,
          ...unlessSaid(error, OBSERVE_FAILED, { view, attempt, ref, type: this.#type }),
        },
      };
    }
  }

  async look(
    asked: Observe,
    observation: DefinedObservation,
    context: AttemptContext<DefinedObservation>,
  ): Promise<DefinedObservation | undefined> {
    if (observation === 'gone') return undefined;
    if (!isLookup(asked)) return observation.live && this.observe(context, withTheSameChildren(observation));
    const { view, live, referred } = observation;
    const { resource } = view;
    if (resource === undefined) return undefined;
    const { superseded, attempt, ref, log = SILENT_LOGGER } = context;
    const signal = soon(superseded);
    const references = referred?.objects ?? [];
    const unknown = unknownTo(context);
    const facts = {
      ...UNBOUND,
      ...{ resource, owned: viewsOf(observation.owned), references, signal, log, unknown },
      kube: this.kubeWith({ signal }),
    };
    try {
      const call = {
        of: { controller: this.#definition.name, uid: ref.uid },
        maxMs: callMaxMs(this.#definition),
        log,
      };
      const read = asked.lookups.map(async (key) => {
        const reading = () => this.#readLookup(key, facts);
        return [key, await untilGivenUp({ ...call, what: `lookup ${key}` }, reading)] as const;
      });
      const lookups = { ...observation.lookups, ...Object.fromEntries(await Promise.all(read)) };
      return { ...observation, lookups };
    } catch (error) {
      if (superseded.aborted) throw error;
      return {
        ...observation,
        live: { ...live, ...unlessSaid(error, OBSERVE_FAILED, { view, attempt, ref, type: this.#type }) },
      };
    }
  }

  #readLookup(key: string, facts: { readonly kube: Kube }): Promise<unknown> {
    const node = nodeIn(key);
    if (node !== undefined)
      return facts.kube.get({ type: NODES, name: node }).catch((error: unknown) => {
        // Roles of namespaces cannot allow it.
        if (!isOf(error, 'refused', 'access-denied')) throw error;
        return undefined;
      });
    if (this.#definition.isRehearsing && this.#definition.observeInPlan !== true)
      throw new OutsideNotAsked(`lookup ${key}`);
    const lookup = this.#definition.lookups?.[key];
    if (lookup === undefined) throw new Error(`there is no lookup ${key}; this is a bug`);
    return lookup.read({ ...facts });
  }

  /** Undefined where it is gone, is another one of the same name, or is of no interest. */
  async readView(ref: ResourceRef): Promise<DefinedView | undefined> {
    const object = await readWatched(this.#client, this.#type, ref);
    return object?.metadata.uid === ref.uid ? definedView(this.#definition, object) : undefined;
  }

  async #readAllOwned(ref: ResourceRef): Promise<readonly OwnedView[]> {
    const views: OwnedView[] = [];
    for (const owned of ownedTypes(this.#definition)) {
      const its = await readOwned(this.#client, owned, { type: this.#type, ref }).catch((error: unknown) => {
        if (!owned.optional || !isOf(error, 'api-missing')) throw error;
        return [];
      });
      views.push(...its);
    }
    return belongingTo(ref.uid, views);
  }

  /** Of a resource that is being deleted, what is left: nothing must be left behind, so it is read. */
  async #readChildren(
    resource: LiveResource,
    referred: readonly ReferencedObject[] = [],
    watched?: ListedChildren,
  ): Promise<LiveReads['declared']> {
    const { isBeingDeleted } = resource;
    const declare = (there: readonly ChildView[]) =>
      isBeingDeleted
        ? isDeclaring(this.#definition) && { wanted: [] }
        : declaredBy(this.#definition, resource, { references: referred, there });
    const known = isBeingDeleted ? undefined : watched;
    const declared = declare(known?.there ?? []);
    if (!declared) return undefined;
    const isByCurrent = 'isByCurrent' in declared && declared.isByCurrent;
    if ('outcome' in declared && (known !== undefined || !isByCurrent)) return declared;
    const listed = known ?? (await this.#listChildren(resource));
    const anew = known === undefined && isByCurrent ? declare(listed.there) : declared;
    if (!anew) return undefined;
    return 'wanted' in anew ? { ...withoutMissing(anew, listed.missing), ...listed } : anew;
  }

  #listChildren(resource: LiveResource): Promise<ListedChildren> {
    const children = new ChildrenClient(this.#client, ownerOf(this.#definition, resource));
    return children.list(declaredTypes(this.#definition), this.#definition.finalizer !== undefined);
  }

  /** Undefined: all are ready, or something else comes first. */
  async #readPods(
    view: DefinedView & { readonly resource: LiveResource },
    declared: LiveReads['declared'],
  ): Promise<PodsFound | undefined> {
    if (!readsPods(this.#definition) || declared === undefined || 'outcome' in declared) return undefined;
    const next = nextOfChildren(declared, view);
    const { resource } = view;
    if (resource.isBeingDeleted || next === undefined || !isConverged(next)) return undefined;
    const children = new ChildrenClient(this.#client, ownerOf(this.#definition, resource));
    try {
      return await children.podsOf(declared as LiveChildren);
    } catch (error) {
      // The roles that were installed may be older.
      if (isOf(error, 'access-denied')) return { sinceMs: 0 };
      throw error;
    }
  }

  kubeWith(access: Omit<Access, 'client' | 'controller'>): Kube {
    return authorsKube({ client: this.#client, controller: this.#definition.name, ...access });
  }
}

/** What the status says until `observe` succeeds, whatever it fails with: else each other message would be written, and tried again at once. */
const OBSERVE_FAILED = 'ObserveFailed';

/**
 * What its steps have read or written is not read again within a run: two reads, one of them of a watch that is behind, would say
 * one thing and then the other, again and again.
 */
export function withTheSameChildren(seen: DefinedObservation): DefinedObservation {
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

/** Nothing is asked of outside systems for a resource of which nothing is decided. */
function isObserved(
  { finalizers }: DefinedView,
  { isBeingDeleted, invalid }: LiveResource,
  definition: AnyDefinition,
): boolean {
  if (invalid !== undefined && !isBeingDeleted) return false;
  return !isBeingDeleted || definition.finalizer === undefined || isHeld(definition, finalizers);
}
