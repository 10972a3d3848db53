import type { Controller, ReferredState, Watched } from '../../src/engine/controller.ts';
import type { ResourceType } from '../../src/api/resource-type.ts';
import { isPaused, RECONCILE_REQUESTED_ANNOTATION } from '../../src/api/annotations.ts';
import { converged, isConverged, type NextStep } from '../../src/runs/decision.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { isSelectedBy, referredObjects, stateOf } from '../../src/engine/referred.ts';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import { keyOf as placeOf, NAMESPACES } from '../../src/api/kinds.ts';
import {
  identityFor,
  projectChild,
  projectPrimary,
  type ChildProjection,
  type PrimaryProjection,
} from '../../src/watcher/known-objects.ts';
import type { Evaluation } from '../../src/watcher/evaluation.ts';
import { isSelected, shown } from './api-server.ts';
import { START_MS, type StoredObjects } from './cluster.ts';
import { valueOf, type Datum } from './values.ts';

/** A watch: what it has shown, and what it has yet to show; each object as it was then. */
export interface Watch {
  known: StoredObjects;
  events: ShownEvent[];
}

/** The object as it was then; null: it was gone. And whether others have changed it, where that matters. */
export type ShownEvent = readonly [key: string, object: Datum | null, isByOthers?: true];

/** What a delivered event comes to. */
export type Shown = { readonly isByOthers: boolean } & (
  | { readonly what: 'nothing' | 'a child' | 'its namespace' }
  | { readonly what: 'the resource'; readonly gone: ResourceRef | undefined }
);

/** `src/watcher/looks.ts`, of one resource, without intervals. */
export interface RecheckState {
  requestedAt: string | null;
  /** How many looks were asked for. */
  count: number;
  /** Up to which of them a run was started or signalled. */
  done: number;
}

/** All watches of a controller. */
export interface WatchStates {
  readonly watches: Record<string, Watch>;
  /** Their names in the order in which they have something to show, where that matters. */
  readonly order: string[];
  look: RecheckState;
}

/** What the watcher sees. */
export type View = Pick<WatchStates, 'watches' | 'look'> & { readonly clockMs: number };

/**
 * How watches show what changes: each its events one by one, however far they lag behind each other; the same, in the order
 * in which it all happened; or, of each watch, the latest of all objects that have changed since the last time.
 */
export type Delivery = 'one by one' | 'in order' | 'at once';

const PRIMARY = 'primary';
const NAMESPACE = 'namespace';

/** The watches of one controller, its view, and what it decides from that. All of it is the watcher's own code where that is pure. */
export class WatcherModel {
  readonly #controller: Controller;
  readonly #watched: ReadonlyMap<string, Watched<unknown>>;
  readonly #evaluations = new Map<string, Evaluation | undefined>();
  readonly #primaries = new Map<Datum, PrimaryProjection | undefined>();
  readonly #delivery: Delivery;

  /** @param options `namespaces`: Namespaces are watched although the controller does not depend on them */
  constructor(
    controller: Controller,
    { delivery, namespaces: areWatched }: { readonly delivery: Delivery; readonly namespaces: boolean },
  ) {
    this.#controller = controller;
    this.#delivery = delivery;
    const children = controller.children.map((child) => [child.type.plural, child] as const);
    const namespaces = { type: NAMESPACES, metadataOnly: true, view: () => ({}) } as const;
    this.#watched = new Map<string, Watched<unknown>>([
      [PRIMARY, controller.primary],
      ...children,
      ...(controller.references ?? []).map(({ type }) => [referencesTo(type), referred(type)] as const),
      ...(controller.endsWithNamespace || areWatched ? ([[NAMESPACE, namespaces]] as const) : []),
    ]);
  }

  /** All lists are complete, and nothing has changed since. */
  listed(objects: StoredObjects): Record<string, Watch> {
    const watches = [...this.#watched].map(([name, watched]) => [name, listed(watched, objects)]);
    return Object.fromEntries(watches) as Record<string, Watch>;
  }

  /** Whatever was requested before the list is met by it. */
  lookAfterList(watches: Record<string, Watch>): RecheckState {
    const [datum] = Object.values(watches[PRIMARY]?.known ?? {});
    return { requestedAt: datum === undefined ? null : requestIn(datum), count: 0, done: 0 };
  }

  /** A run was started or signalled when so many looks were asked for. */
  looked({ look }: Pick<WatchStates, 'look'>, count: number): void {
    look.done = Math.max(look.done, count);
  }

  /** As the watch of Namespaces shows it. */
  isNamespacePaused(watches: Record<string, Watch>): boolean {
    return namespacesIn(watches).some(isPaused);
  }

  /** An object has changed: the watches that show it will do so. */
  note({ watches, order }: WatchStates, [key, object, isByOthers]: ShownEvent): void {
    for (const [name, watched] of this.#watched) {
      const watch = watches[name];
      if (watch === undefined || !isOf(watched, key)) continue;
      const now = object !== null && shows(watched, object) ? object : null;
      const [, before] = watch.events.findLast(([each]) => each === key) ?? [key, watch.known[key] ?? null];
      if (now === before) continue;
      watch.events.push(isByOthers ? [key, now, true] : [key, now]);
      if (this.#delivery === 'in order') order.push(name);
      if (this.#delivery === 'at once') watch.events = withoutRepeated(watch.events);
    }
  }

  /** The watches that have something to show next. */
  due({ watches, order }: WatchStates): readonly string[] {
    if (this.#delivery === 'in order') return order.slice(0, 1);
    return Object.keys(watches).filter((name) => (watches[name]?.events.length ?? 0) > 0);
  }

  /** What is next to be shown is. */
  deliver(state: WatchStates, name: string): Shown {
    const { watches, order } = state;
    const watch = watches[name];
    if (watch === undefined) return { what: 'nothing', isByOthers: false };
    if (this.#delivery === 'in order') order.shift();
    const events = this.#delivery === 'at once' ? firstOfEach(watch.events) : watch.events.slice(0, 1);
    watch.events = watch.events.filter((event) => !events.includes(event));
    const shown = events.map((event) => this.#apply(state, name, event));
    const last = shown.at(-1) ?? { what: 'nothing' };
    return { ...last, isByOthers: events.some(([, , isByOthers]) => isByOthers) };
  }

  #apply(state: WatchStates, name: string, [key, object]: ShownEvent): Shown {
    const watch = state.watches[name] ?? { known: {}, events: [] };
    const before = watch.known[key];
    if (object === null) Reflect.deleteProperty(watch.known, key);
    else watch.known[key] = object;
    // Only those that are being deleted or paused are kept.
    if (name === NAMESPACE)
      return {
        what: isSpecial(before) || isSpecial(object) ? 'its namespace' : 'nothing',
        isByOthers: false,
      };
    if (name !== PRIMARY) return { what: 'a child', isByOthers: false };
    noteRequest(state.look, { before, object });
    return { what: 'the resource', gone: this.#goneBy(before, object), isByOthers: false };
  }

  #goneBy(before: Datum | undefined, object: Datum | null): ResourceRef | undefined {
    const [was, is] = [before, object ?? undefined].map((each) => this.#primary(each));
    return was !== undefined && was.uid !== is?.uid ? this.#refOf(was) : undefined;
  }

  /** What the watcher knows of its resource, and what its controller decides from that. */
  evaluate({ watches, look, clockMs }: View): Evaluation | undefined {
    const known = Object.entries(watches).map(([name, watch]) => [name, watch.known]);
    const key = JSON.stringify([known, look, clockMs]);
    if (!this.#evaluations.has(key)) this.#evaluations.set(key, this.#evaluated({ watches, look, clockMs }));
    return this.#evaluations.get(key);
  }

  #evaluated({ watches, look, clockMs }: View): Evaluation | undefined {
    const [primary] = Object.values(watches[PRIMARY]?.known ?? {}).flatMap(
      (datum) => this.#primary(datum) ?? [],
    );
    if (primary === undefined) return undefined;
    const controller = this.#controller;
    const ref = this.#refOf(primary);
    const children = controller.children.flatMap((child) =>
      Object.values(watches[child.type.plural]?.known ?? {})
        .flatMap((datum) => projectChild(child, objectFor(child, datum)) ?? [])
        .filter(({ ownerKey }: ChildProjection) => ownerKey === primary.key),
    );
    const observation = controller.observation(
      primary.view,
      children.map(({ view }) => view),
      { ...identityFor(controller, primary), referred: this.#referredBy(primary, watches) },
    );
    const isNamespacePaused = this.isNamespacePaused(watches);
    const inputs = [
      primary.inputs,
      ...(controller.inputs?.(observation) ?? []),
      ...(isNamespacePaused ? ['its Namespace is paused'] : []),
      ...(look.count > 0 ? [`look ${look.count}`] : []),
    ].join('; ');
    const isDoomed = controller.endsWithNamespace === true && namespacesIn(watches).some(isTerminating);
    const circumstances = { isLive: false, isNamespacePaused };
    const decision = isDoomed
      ? converged('its namespace is being deleted')
      : withLook(look, controller.decide(observation, START_MS + clockMs, circumstances));
    const { resourceVersion } = primary;
    return {
      ref,
      decision,
      inputs,
      resourceVersion,
      observation,
      ...(look.count > 0 && { look: look.count }),
    };
  }

  /** As `src/watcher/references.ts` finds it. */
  #referredBy({ view }: PrimaryProjection, watches: Record<string, Watch>): ReferredState {
    const { references = [] } = this.#controller;
    const objects = references.flatMap((reference) => {
      const { type } = reference;
      const its = reference.of(view);
      const there = Object.values(watches[referencesTo(type)]?.known ?? {})
        .map((datum) => valueOf<KubernetesObject>(datum).metadata)
        .map((metadata) => ({ ...metadata, key: placeOf(metadata) }))
        .filter((object) => its.keys.includes(object.key) || isSelectedBy(its, object));
      return referredObjects(type, its.keys, there);
    });
    return stateOf(objects);
  }

  isReferred(key: string): boolean {
    return (this.#controller.references ?? []).some(({ type }) => isOf({ type }, key));
  }

  #primary(datum: Datum | undefined): PrimaryProjection | undefined {
    if (datum === undefined) return undefined;
    const { primary } = this.#controller;
    if (!this.#primaries.has(datum))
      this.#primaries.set(datum, projectPrimary(primary, objectFor(primary, datum)));
    return this.#primaries.get(datum);
  }

  #refOf({ key, uid }: PrimaryProjection): ResourceRef {
    const [namespace = key, name = namespace] = key.split('/');
    return { controller: this.#controller.name, namespace, name, uid };
  }
}

/** The name of the watch. */
function referencesTo({ plural }: ResourceType): string {
  return `references to ${plural}`;
}

function referred(type: ResourceType): Watched<unknown> {
  return { type, metadataOnly: true, view: () => ({}) };
}

/** Of each object, the latest of what comes before it goes. */
function withoutRepeated(events: readonly ShownEvent[]): ShownEvent[] {
  const shown: ShownEvent[] = [];
  for (const [key, object, isByOthers] of events) {
    const place = shown.findLastIndex(([each]) => each === key);
    const [, before, wasByOthers] = shown[place] ?? [key, null];
    const event: ShownEvent = isByOthers || wasByOthers ? [key, object, true] : [key, object];
    if (before === null || object === null) shown.push(event);
    else shown[place] = event;
  }
  return shown.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

/** What a new list shows: of each object the latest, where it is another than the one that is known. */
export function listedInstead({ known, events }: Watch): ShownEvent[] {
  return events.filter(([key, object], place) => {
    const isLatest = events.findLastIndex(([each]) => each === key) === place;
    return isLatest && (known[key] ?? null) !== object;
  });
}

function firstOfEach(events: readonly ShownEvent[]): readonly ShownEvent[] {
  return events.filter(([key], place) => events.findIndex(([each]) => each === key) === place);
}

function listed(watched: Watched<unknown>, objects: StoredObjects): Watch {
  const known = Object.entries(objects).filter(([key, datum]) => isOf(watched, key) && shows(watched, datum));
  return { known: Object.fromEntries(known), events: [] };
}

function isOf({ type }: Pick<Watched<unknown>, 'type'>, key: string): boolean {
  return key.startsWith(`${type.plural}/`);
}

function shows(watched: Watched<unknown>, datum: Datum): boolean {
  return isSelected(valueOf<KubernetesObject>(datum), watched);
}

function objectFor(watched: Watched<unknown>, datum: Datum): KubernetesObject {
  return shown(valueOf<KubernetesObject>(datum), watched.metadataOnly ? { metadataOnly: true } : {});
}

function namespacesIn(watches: Record<string, Watch>): readonly KubernetesObject[] {
  return Object.values(watches[NAMESPACE]?.known ?? {}).map((datum) => valueOf<KubernetesObject>(datum));
}

function isTerminating({ metadata }: KubernetesObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function isSpecial(datum: Datum | null | undefined): boolean {
  if (datum === null || datum === undefined) return false;
  const namespace = valueOf<KubernetesObject>(datum);
  return isTerminating(namespace) || isPaused(namespace);
}

/** A run that is open is signalled because of the inputs; where none is, the look calls for one. */
function withLook({ count, done }: RecheckState, decision: NextStep): NextStep {
  if (!isConverged(decision) || done >= count) return decision;
  return { do: 'observe', because: 'a reconcile was requested' };
}

function requestIn(datum: Datum): string | null {
  const { annotations = {} } = valueOf<KubernetesObject>(datum).metadata;
  return annotations[RECONCILE_REQUESTED_ANNOTATION] ?? null;
}

/** `Looks.seen` and `Looks.forget`. */
function noteRequest(
  look: RecheckState,
  { before, object }: { readonly before: Datum | undefined; readonly object: Datum | null },
): void {
  const requestedAt = object === null ? null : requestIn(object);
  const isNew = before === undefined || object === null || uidIn(before) !== uidIn(object);
  if (object === null) Object.assign(look, { count: 0, done: 0 });
  else if (requestedAt !== null && requestedAt !== look.requestedAt && !isNew) look.count += 1;
  look.requestedAt = requestedAt;
}

function uidIn(datum: Datum): string {
  return valueOf<KubernetesObject>(datum).metadata.uid;
}
