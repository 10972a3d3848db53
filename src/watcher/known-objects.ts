import { hash } from 'node:crypto';
import type { Controller } from '../engine/controller.ts';
import type { Identity, KubernetesObject } from '../api/object.ts';

export type ObjectChange<P extends Projection> =
  /** `before` is set for `modified` alone. */
  | { readonly type: 'added' | 'modified'; readonly object: P; readonly before?: P }
  /** `object` is the last known. */
  | { readonly type: 'deleted'; readonly object: P };

/** Names one state of one object, whether it is of interest or not. */
export interface Sighting<P extends Projection> extends Projection {
  /** Undefined: not of interest, treated as absent. */
  readonly projection: P | undefined;
}

/** So many of the latest departures are remembered, to know a late event of theirs. */
const MOST_DEPARTURES = 1024;

/** The projections of the objects that exist, and what changes about them. */
export class KnownObjects<P extends Projection> {
  readonly #items = new Map<string, P>();
  /** UID to the resourceVersion at which the object left. */
  readonly #departures = new Map<string, string>();
  readonly #onChange: (change: ObjectChange<P>) => void;

  constructor(onChange: (change: ObjectChange<P>) => void) {
    this.#onChange = onChange;
  }

  get items(): ReadonlyMap<string, P> {
    return this.#items;
  }

  /** A list is the truth, even where its versions are lower: the server's database may have been restored. */
  listed(seen: Sighting<P>): void {
    this.#apply(seen);
  }

  /** Ends a list: what it did not hold is gone. */
  listEnded(keys: ReadonlySet<string>): void {
    this.#departures.clear();
    for (const known of this.#items.values()) {
      if (!keys.has(known.key)) this.#remove(known);
    }
  }

  /** An event that is older than what is known, as a repeated or late one, changes nothing. */
  changed(seen: Sighting<P>): void {
    if (!this.#isLate(seen)) this.#apply(seen);
  }

  vanished(seen: Projection): void {
    if (this.#isLate(seen)) return;
    const known = this.#items.get(seen.key);
    this.#noteDeparture(seen);
    // A late event of a predecessor says nothing about the object that has its name now.
    if (known?.uid === seen.uid) this.#remove(known);
  }

  #apply(seen: Sighting<P>): void {
    const known = this.#items.get(seen.key);
    if (seen.projection) this.#keep(seen.projection, known);
    else if (known) {
      this.#noteDeparture(seen);
      this.#remove(known);
    }
  }

  #keep(next: P, known: P | undefined): void {
    if (known?.uid === next.uid && known.resourceVersion === next.resourceVersion) return;
    // Deleted and recreated between two observations: the previous object is gone.
    if (known && known.uid !== next.uid) this.#remove(known);
    this.#items.set(next.key, next);
    if (known?.uid === next.uid) this.#onChange({ type: 'modified', object: next, before: known });
    else this.#onChange({ type: 'added', object: next });
  }

  #remove(known: P): void {
    this.#items.delete(known.key);
    this.#onChange({ type: 'deleted', object: known });
  }

  #isLate(seen: Projection): boolean {
    const lastSeen = this.#items.get(seen.key)?.resourceVersion ?? this.#departures.get(seen.uid);
    return lastSeen !== undefined && isOlder(seen.resourceVersion, lastSeen);
  }

  #noteDeparture({ uid, resourceVersion }: Projection): void {
    this.#departures.delete(uid);
    this.#departures.set(uid, resourceVersion);
    const [oldest] = this.#departures.keys();
    if (oldest !== undefined && this.#departures.size > MOST_DEPARTURES) this.#departures.delete(oldest);
  }
}

/**
 * Whether a resourceVersion is older than another of the same resource type. Kubernetes' own are decimal
 * numbers that may be compared (KEP-5504); of any other kind none is older.
 */
export function isOlder(version: string, than: string): boolean {
  if (!DECIMAL.test(version) || !DECIMAL.test(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}

const DECIMAL = /^[1-9]\d*$/;

/** What the watcher keeps of an object. */
export interface Projection {
  /** The object's own: `<namespace>/<name>`, or `<name>` where it is cluster-scoped. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface PrimaryProjection extends Projection {
  readonly view: unknown;
  /** Its generation, deletion and our annotations: what is news to an open run of any controller. */
  readonly inputs: string;
  /** When its deletion was asked for, in milliseconds since the epoch, where our finalizer holds it. */
  readonly deletedAtMs?: number;
}

export interface ChildProjection extends Projection {
  readonly view: unknown;
  /** The key of the resource that it belongs to. */
  readonly ownerKey: string;
}

const OUR_ANNOTATIONS = 'durable-operator.dev/';

/** @param finalizer the controller's; default: it has none */
export function projectPrimary(
  watched: Controller['primary'],
  object: KubernetesObject,
  finalizer?: string,
): PrimaryProjection | undefined {
  const view = watched.view(object);
  if (view === undefined) return undefined;
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  const isHeld = deletionTimestamp !== undefined && finalizers.some((each) => each === finalizer);
  return {
    ...identityOf(object),
    view,
    inputs: inputsOf(object),
    ...(isHeld && { deletedAtMs: Date.parse(deletionTimestamp) }),
  };
}

export function projectChild(
  watched: Controller['children'][number],
  object: KubernetesObject,
): ChildProjection | undefined {
  const ownerKey = watched.ownerKey(object);
  if (ownerKey === undefined) return undefined;
  const view = watched.view(object);
  return view === undefined ? undefined : { ...identityOf(object), view, ownerKey };
}

export function identityOf({ metadata }: KubernetesObject): Projection {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { key: namespace === undefined ? name : `${namespace}/${name}`, uid, resourceVersion };
}

/** The same for a controller. */
export function identityFor({ primary }: Controller, { key, uid, resourceVersion }: Projection): Identity {
  if (!primary.type.namespaced) return { name: key, uid, resourceVersion };
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name, uid, resourceVersion };
}

function inputsOf({ metadata }: KubernetesObject): string {
  const { generation, deletionTimestamp, annotations = {} } = metadata;
  const ours = Object.entries(annotations)
    .filter(([name]) => name.startsWith(OUR_ANNOTATIONS))
    .map(([name, value]) => `${name}=${value}`)
    .sort();
  const parts = [
    ...(generation === undefined ? [] : [`generation ${generation}`]),
    ...(deletionTimestamp === undefined ? [] : ['deleted']),
    ...ours,
  ];
  return comparable(parts.join(', '));
}

/** Longer texts are kept as a hash. */
const READABLE_MAX = 200;

/** What is kept of a text that is only compared: anyone may write 256 KiB of annotations on each of a thousand objects. */
export function comparable(text: string): string {
  return text.length <= READABLE_MAX ? text : `sha256 ${hash('sha256', text)}`;
}
