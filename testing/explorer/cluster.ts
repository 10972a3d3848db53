import type { ResourceType } from '../../src/api/resource-type.ts';
import type { KubernetesObject, ObjectMeta } from '../../src/api/object.ts';
import { datumOf, valueOf, versionAfter, type Datum } from './values.ts';

/** The objects that there are, by their keys: `pods/web`; outside of the home of the world, `pods/other-namespace/web`. */
export type StoredObjects = Record<string, Datum>;

/** @param elsewhere the namespace; undefined: it is at home, or has none */
export function objectKey(
  { plural }: Pick<ResourceType, 'plural'>,
  name: string,
  elsewhere?: string,
): string {
  return elsewhere === undefined ? `${plural}/${name}` : `${plural}/${elsewhere}/${name}`;
}

/** @param home undefined: one namespace is all that a world has */
export function elsewhere(home: string | undefined, namespace: string | undefined): string | undefined {
  return home === undefined || namespace === home ? undefined : namespace;
}

/** Called after each change, with what was there and what is there now. */
export type OnChange = (key: string, object: Datum | undefined) => void;

/** When the exploration begins. */
export const START_MS = Date.parse('2026-11-21T12:00:00Z');

export interface ClusterOptions {
  /** Since the exploration began. */
  readonly clockMs: number;
  readonly freshUid: () => string;
  readonly onChange: OnChange;
  /** The namespace whose objects have short keys. Default: all have. */
  readonly home?: string | undefined;
  /** The digest of an object that is referred to is made from its version, which then has to stay as it is. Default: none is. */
  readonly isReferred?: (key: string) => boolean;
}

/** What the API server keeps. A change of an object gives it a new resourceVersion. */
export class SimulatedCluster {
  readonly #objects: StoredObjects;
  readonly #options: ClusterOptions;

  constructor(objects: StoredObjects, options: ClusterOptions) {
    this.#objects = objects;
    this.#options = options;
  }

  get now(): string {
    return new Date(START_MS + this.#options.clockMs).toISOString().replace('.000Z', 'Z');
  }

  /** The same for the same objects in the same versions. */
  get text(): string {
    return this.keys()
      .map((key) => `${key} ${this.#objects[key]}`)
      .join();
  }

  keys(): readonly string[] {
    return Object.keys(this.#objects).sort();
  }

  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the caller says what it reads
  get<T extends KubernetesObject = KubernetesObject>(key: string): T | undefined {
    const datum = this.#objects[key];
    return datum === undefined ? undefined : valueOf<T>(datum);
  }

  /** Of a type, with their keys, in the order of these. */
  list<T extends KubernetesObject = KubernetesObject>({ plural }: Pick<ResourceType, 'plural'>): Found<T>[] {
    return Object.keys(this.#objects)
      .filter((key) => key.startsWith(`${plural}/`))
      .sort()
      .map((key) => ({ key, object: valueOf<T>(this.#objects[key] ?? '') }));
  }

  /** A new object: what it lacks of metadata, the server gives it. */
  create(type: ResourceType, object: Created): KubernetesObject {
    const { name, uid = this.#options.freshUid() } = object.metadata;
    const key = objectKey(type, name, elsewhere(this.#options.home, object.metadata.namespace));
    const metadata = {
      generation: 1,
      creationTimestamp: this.now,
      ...object.metadata,
      uid,
      resourceVersion: this.#versionAfter(key, { uid }),
    };
    const created = { kind: type.kind, ...object, metadata };
    this.#put(key, created);
    return created;
  }

  /** @returns the object as it is then; the same one where nothing of it changes */
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the caller says what it reads
  change<T extends KubernetesObject>(key: string, change: (object: T) => KubernetesObject): KubernetesObject {
    const before = this.get<T>(key);
    if (before === undefined) throw new Error(`there is no ${key}`);
    const after = change(before);
    if (datumOf(after) === this.#objects[key]) return before;
    const metadata = { ...after.metadata, resourceVersion: this.#versionAfter(key, before.metadata) };
    const changed = { ...after, metadata };
    if (metadata.deletionTimestamp !== undefined && isEmpty(metadata.finalizers)) {
      this.remove(key);
      return changed;
    }
    this.#put(key, changed);
    return changed;
  }

  changeMetadata(key: string, changes: (metadata: ObjectMeta) => Partial<ObjectMeta>): void {
    this.change(key, (object) => ({
      ...object,
      metadata: { ...object.metadata, ...changes(object.metadata) },
    }));
  }

  /** Deletion is asked for: the object goes once it has no finalizers. */
  markDeleted(key: string, finalizers: readonly string[]): void {
    this.changeMetadata(key, (metadata) => ({
      finalizers: [...(metadata.finalizers ?? []), ...finalizers],
      deletionTimestamp: metadata.deletionTimestamp ?? this.now,
      // Whoever asks for a deletion changes the generation: apiserver, registry/rest/delete.go, `BeforeDelete`.
      ...(metadata.generation !== undefined && { generation: metadata.generation + 1 }),
    }));
  }

  remove(key: string): void {
    Reflect.deleteProperty(this.#objects, key);
    this.#options.onChange(key, undefined);
  }

  #versionAfter(key: string, { uid, resourceVersion }: Versioned): string {
    if (this.#options.isReferred?.(key) !== true) return versionAfter(uid, resourceVersion);
    return `revision-${Number(resourceVersion?.replace(/\D+/, '') ?? 0) + 1}`;
  }

  #put(key: string, object: KubernetesObject): void {
    const datum = datumOf(object);
    this.#objects[key] = datum;
    this.#options.onChange(key, datum);
  }
}

interface Versioned {
  readonly uid: string;
  readonly resourceVersion?: string;
}

export interface Found<T extends KubernetesObject> {
  readonly key: string;
  readonly object: T;
}

/** An object as somebody creates it. */
export interface Created {
  readonly metadata: Pick<ObjectMeta, 'name'> & Partial<ObjectMeta>;
  readonly [field: string]: unknown;
}

function isEmpty(list: readonly unknown[] | undefined): boolean {
  return list === undefined || list.length === 0;
}
