import type { Controller, Watched } from '../../../src/contract/controller.ts';
import { converged } from '../../../src/contract/decision.ts';
import type { KubernetesObject } from '../../../src/contract/object.ts';
import type { ResourceRef } from '../../../src/contract/resource.ts';
import { NAMESPACES } from '../../../src/controllers/kinds.ts';
import {
  projectChild,
  projectPrimary,
  type ChildProjection,
  type PrimaryProjection,
} from '../../../src/watcher/projection.ts';
import type { Evaluation } from '../../../src/watcher/evaluation.ts';
import { isSelected, shown } from './api-server.ts';
import { START_MS, type Objects } from './cluster.ts';
import { valueOf, type Datum } from './values.ts';

/** A watch: what it has shown, and what it has yet to show; each object as it was then. */
export interface Watch {
  known: Objects;
  events: WatchEvent[];
}

/** The object as it was then; null: it was gone. And whether others have changed it, where that matters. */
export type WatchEvent = readonly [key: string, object: Datum | null, isByOthers?: true];

/** What a delivered event comes to. */
export type Shown = { readonly isByOthers: boolean } & (
  | { readonly what: 'nothing' | 'a child' | 'its namespace' }
  | { readonly what: 'the resource'; readonly gone: ResourceRef | undefined }
);

/** All watches of a controller. */
export interface Watches {
  readonly watches: Record<string, Watch>;
  /** Their names in the order in which they have something to show, where that matters. */
  readonly order: string[];
}

/**
 * How watches show what changes: each its events one by one, however far they lag behind each other; the same, in the order
 * in which it all happened; or, of each watch, the latest of all objects that have changed since the last time.
 */
export type Delivery = 'one by one' | 'in order' | 'at once';

const PRIMARY = 'primary';
const NAMESPACE = 'namespace';

/** The watches of one controller, its view, and what it decides from that. All of it is the watcher's own code where that is pure. */
export class Watching {
  readonly #controller: Controller;
  readonly #watched: ReadonlyMap<string, Watched<unknown>>;
  readonly #evaluations = new Map<string, Evaluation | undefined>();
  readonly #delivery: Delivery;

  constructor(controller: Controller, delivery: Delivery) {
    this.#controller = controller;
    this.#delivery = delivery;
    const children = controller.children.map((child) => [child.type.plural, child] as const);
    const namespaces = { type: NAMESPACES, metadataOnly: true, view: () => ({}) } as const;
    this.#watched = new Map<string, Watched<unknown>>([
      [PRIMARY, controller.primary],
      ...children,
      ...(controller.endsWithNamespace ? ([[NAMESPACE, namespaces]] as const) : []),
    ]);
  }

  /** All lists are complete, and nothing has changed since. */
  listed(objects: Objects): Record<string, Watch> {
    const watches = [...this.#watched].map(([name, watched]) => [name, listed(watched, objects)]);
    return Object.fromEntries(watches) as Record<string, Watch>;
  }

  /** An object has changed: the watches that show it will do so. */
  note({ watches, order }: Watches, [key, object, isByOthers]: WatchEvent): void {
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
  due({ watches, order }: Watches): readonly string[] {
    if (this.#delivery === 'in order') return order.slice(0, 1);
    return Object.keys(watches).filter((name) => (watches[name]?.events.length ?? 0) > 0);
  }

  /** What is next to be shown is. */
  deliver({ watches, order }: Watches, name: string): Shown {
    const watch = watches[name];
    if (watch === undefined) return { what: 'nothing', isByOthers: false };
    if (this.#delivery === 'in order') order.shift();
    const events = this.#delivery === 'at once' ? firstOfEach(watch.events) : watch.events.slice(0, 1);
    watch.events = watch.events.filter((event) => !events.includes(event));
    const shown = events.map((event) => this.#apply(watch, name, event));
    const last = shown.at(-1) ?? { what: 'nothing' };
    return { ...last, isByOthers: events.some(([, , isByOthers]) => isByOthers) };
  }

  #apply(watch: Watch, name: string, [key, object]: WatchEvent): Shown {
    const before = watch.known[key];
    if (object === null) Reflect.deleteProperty(watch.known, key);
    else watch.known[key] = object;
    if (name === NAMESPACE) return { what: 'its namespace', isByOthers: false };
    if (name !== PRIMARY) return { what: 'a child', isByOthers: false };
    return { what: 'the resource', gone: this.#goneBy(before, object), isByOthers: false };
  }

  #goneBy(before: Datum | undefined, object: Datum | null): ResourceRef | undefined {
    const [was, is] = [before, object ?? undefined].map((each) => this.#primary(each));
    return was !== undefined && was.uid !== is?.uid ? this.#refOf(was) : undefined;
  }

  /** What the watcher knows of its resource, and what its controller decides from that. */
  evaluate(watches: Record<string, Watch>, clockMs: number): Evaluation | undefined {
    const known = Object.entries(watches).map(([name, watch]) => [name, watch.known]);
    const key = JSON.stringify([known, clockMs]);
    if (!this.#evaluations.has(key)) this.#evaluations.set(key, this.#evaluated(watches, clockMs));
    return this.#evaluations.get(key);
  }

  #evaluated(watches: Record<string, Watch>, clockMs: number): Evaluation | undefined {
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
    );
    const inputs = [primary.inputs, ...(controller.inputs?.(observation) ?? [])].join('; ');
    const decision = isTerminating(watches)
      ? converged('its namespace is being deleted')
      : controller.decide(observation, START_MS + clockMs);
    return { ref, decision, inputs, resourceVersion: primary.resourceVersion, observation };
  }

  #primary(datum: Datum | undefined): PrimaryProjection | undefined {
    const { primary } = this.#controller;
    return datum === undefined ? undefined : projectPrimary(primary, objectFor(primary, datum));
  }

  #refOf({ key, uid }: PrimaryProjection): ResourceRef {
    const [namespace = key, name = namespace] = key.split('/');
    return { controller: this.#controller.name, namespace, name, uid };
  }
}

/** Of each object, the latest of what comes before it goes. */
function withoutRepeated(events: readonly WatchEvent[]): WatchEvent[] {
  const shown: WatchEvent[] = [];
  for (const [key, object, isByOthers] of events) {
    const place = shown.findLastIndex(([each]) => each === key);
    const [, before, wasByOthers] = shown[place] ?? [key, null];
    const event: WatchEvent = isByOthers || wasByOthers ? [key, object, true] : [key, object];
    if (before === null || object === null) shown.push(event);
    else shown[place] = event;
  }
  return shown.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

/** What a new list shows: of each object the latest, where it is another than the one that is known. */
export function listedInstead({ known, events }: Watch): WatchEvent[] {
  return events.filter(([key, object], place) => {
    const isLatest = events.findLastIndex(([each]) => each === key) === place;
    return isLatest && (known[key] ?? null) !== object;
  });
}

function firstOfEach(events: readonly WatchEvent[]): readonly WatchEvent[] {
  return events.filter(([key], place) => events.findIndex(([each]) => each === key) === place);
}

function listed(watched: Watched<unknown>, objects: Objects): Watch {
  const known = Object.entries(objects).filter(([key, datum]) => isOf(watched, key) && shows(watched, datum));
  return { known: Object.fromEntries(known), events: [] };
}

function isOf({ type }: Watched<unknown>, key: string): boolean {
  return key.startsWith(`${type.plural}/`);
}

function shows(watched: Watched<unknown>, datum: Datum): boolean {
  return isSelected(valueOf<KubernetesObject>(datum), watched);
}

function objectFor(watched: Watched<unknown>, datum: Datum): KubernetesObject {
  return shown(valueOf<KubernetesObject>(datum), watched.metadataOnly ? { metadataOnly: true } : {});
}

function isTerminating(watches: Record<string, Watch>): boolean {
  return Object.values(watches[NAMESPACE]?.known ?? {}).some(
    (datum) => valueOf<KubernetesObject>(datum).metadata.deletionTimestamp !== undefined,
  );
}
