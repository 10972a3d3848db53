import type { ReferenceWatch, References as ReferencesOf, ReferredState } from '../engine/controller.ts';
import type { ReferencedObject } from '../api/reference.ts';
import type { ResourceType } from '../api/resource-type.ts';
import type { KubernetesObject } from '../api/object.ts';
import { isSelectedBy, referredObjects, stateOf } from '../engine/referred.ts';
import { identityOf, type ObjectChange, type Projection } from './known-objects.ts';
import type { Joined } from './watches.ts';

/** What is kept of an object that may be referred to. */
interface Referred extends Projection {
  readonly namespace?: string | undefined;
  /** Only where some are selected by their labels. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export interface ReferencesOptions {
  readonly references: readonly ReferenceWatch<unknown>[];
  /** The only namespace that is watched; undefined: all are. */
  readonly namespace: string | undefined;
  readonly watch: (
    type: ResourceType,
    audience: {
      readonly project: (object: KubernetesObject) => Referred;
      readonly onChange: (change: ObjectChange<Referred>) => void;
    },
  ) => Joined<Referred>;
  /** Called with the key of a resource when something that it refers to has changed, is new or is gone. */
  readonly onChange: (key: string) => void;
}

/** Resources that refer to the same. */
interface Referrers {
  readonly text: string;
  /** By the place of the type. */
  readonly references: readonly ReferencesOf[];
  /** The keys of the resources. */
  readonly keys: Set<string>;
  /** What they refer to, as it is. Kept only where several resources do. */
  state?: ReferredState | undefined;
}

/** Which resources of a controller refer to which objects, whether there are any or not. */
export class ReferenceIndex {
  readonly #options: ReferencesOptions;
  readonly #types: readonly ReferredObjects[];
  readonly #byText = new Map<string, Referrers>();
  /** By the key of a resource. */
  readonly #byKey = new Map<string, Referrers>();

  constructor(options: ReferencesOptions) {
    this.#options = options;
    this.#types = options.references.map((reference, place) => {
      const objects: ReferredObjects = new ReferredObjects(
        { ...reference, place },
        options.watch(reference.type, {
          project: (object) => referred(object, reference.isSelected),
          onChange: (change) => this.#changed(objects.take(change)),
        }),
      );
      return objects;
    });
  }

  get watches(): readonly Joined<Referred>[] {
    return this.#types.map(({ joined }) => joined);
  }

  /** @param view of the resource as it is now */
  seen(key: string, view: unknown): void {
    if (this.#types.length === 0) return;
    const references = this.#options.references.map((each) => each.of(view));
    const text = JSON.stringify(references);
    const referrers = this.#byText.get(text) ?? this.#add({ text, references, keys: new Set() });
    if (referrers.keys.has(key)) return;
    this.forget(key);
    referrers.keys.add(key);
    this.#byKey.set(key, referrers);
  }

  forget(key: string): void {
    const referrers = this.#byKey.get(key);
    this.#byKey.delete(key);
    referrers?.keys.delete(key);
    if (referrers?.keys.size !== 0) return;
    this.#byText.delete(referrers.text);
    for (const objects of this.#types) objects.forget(referrers);
  }

  /** Undefined where there is nothing to refer to, or not all of it is watched. */
  stateFor(key: string): ReferredState | undefined {
    if (this.#types.length === 0) return undefined;
    const referrers = this.#byKey.get(key);
    if (referrers === undefined) return stateOf([]);
    const { namespace } = this.#options;
    if (namespace !== undefined && !this.#types.every((each) => each.isWithin(referrers, namespace)))
      return undefined;
    const state = referrers.state ?? stateOf(this.#types.flatMap((each) => each.referredBy(referrers)));
    if (referrers.keys.size > 1) referrers.state = state;
    return state;
  }

  #add(referrers: Referrers): Referrers {
    this.#byText.set(referrers.text, referrers);
    for (const objects of this.#types) objects.add(referrers);
    return referrers;
  }

  #changed(all: ReadonlySet<Referrers>): void {
    for (const referrers of all) referrers.state = undefined;
    for (const { keys } of all) for (const key of keys) this.#options.onChange(key);
  }
}

interface ReferredType extends Pick<ReferenceWatch<unknown>, 'type' | 'isSelected'> {
  readonly place: number;
}

/** The objects of one type that may be referred to. */
class ReferredObjects {
  readonly joined: Joined<Referred>;
  readonly #type: ReferredType;
  /** Who names an object, by its key. */
  readonly #naming = new SetsByWord<Referrers>();
  /** Who selects objects, by the last of the words that these must have. */
  readonly #selecting = new SetsByWord<Referrers>();
  /** The keys of the objects by their words. */
  readonly #objects = new SetsByWord<string>();

  constructor(type: ReferredType, joined: Joined<Referred>) {
    this.#type = type;
    this.joined = joined;
  }

  add(referrers: Referrers): void {
    this.#naming.add(referrers, this.#of(referrers).keys);
    this.#selecting.add(referrers, this.#selector(referrers).slice(-1));
  }

  forget(referrers: Referrers): void {
    this.#naming.delete(referrers, this.#of(referrers).keys);
    this.#selecting.delete(referrers, this.#selector(referrers).slice(-1));
  }

  /** @returns who refers to the object as it was, or as it is */
  take(change: ObjectChange<Referred>): ReadonlySet<Referrers> {
    const { object } = change;
    const [before, after] = change.type === 'deleted' ? [object] : [change.before, object];
    if (before !== undefined) this.#objects.delete(object.key, this.#wordsOf(before));
    if (after !== undefined) this.#objects.add(object.key, this.#wordsOf(after));
    const states = [before, after].filter((state) => state !== undefined);
    return new Set([...this.#naming.at(object.key), ...states.flatMap((state) => this.#selectorsOf(state))]);
  }

  referredBy(referrers: Referrers): readonly ReferencedObject[] {
    const references = this.#of(referrers);
    const [fewest = []] = this.#selector(referrers)
      .map((word) => this.#objects.at(word))
      .sort((one, other) => one.size - other.size);
    const { items } = this.joined;
    const named = references.keys.flatMap((key) => items.get(key) ?? []);
    const selected = [...fewest].flatMap((key) => items.get(key) ?? []);
    return referredObjects(this.#type.type, references.keys, [
      ...named,
      ...selected.filter((object) => isSelectedBy(references, object)),
    ]);
  }

  /** Whether all that they refer to is in this namespace. */
  isWithin(referrers: Referrers, namespace: string): boolean {
    const { keys, labels } = this.#of(referrers);
    if (keys.length === 0 && labels === undefined) return true;
    return this.#type.type.namespaced && keys.every((object) => object.startsWith(`${namespace}/`));
  }

  #selectorsOf(state: Referred): readonly Referrers[] {
    return this.#wordsOf(state)
      .flatMap((word) => [...this.#selecting.at(word)])
      .filter((referrers) => isSelectedBy(this.#of(referrers), state));
  }

  /** The words of all objects that are selected; empty: none are. */
  #selector(referrers: Referrers): readonly string[] {
    const references = this.#of(referrers);
    return references.labels === undefined ? [] : wordsOf(references);
  }

  #wordsOf(state: Referred): readonly string[] {
    return this.#type.isSelected ? wordsOf(state) : [];
  }

  #of({ references }: Referrers): ReferencesOf {
    return references[this.#type.place] ?? { keys: [] };
  }
}

/** What an index finds an object by, or all objects that are selected. */
function wordsOf({ namespace, labels = {} }: Pick<Referred, 'namespace' | 'labels'>): readonly string[] {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return ['', ...(namespace === undefined ? [] : [`/${namespace}`]), ...pairs];
}

class SetsByWord<T> {
  readonly #sets = new Map<string, Set<T>>();

  at(word: string): ReadonlySet<T> {
    return this.#sets.get(word) ?? new Set();
  }

  add(value: T, words: readonly string[]): void {
    for (const word of words) this.#sets.set(word, (this.#sets.get(word) ?? new Set()).add(value));
  }

  delete(value: T, words: readonly string[]): void {
    for (const word of words) {
      const set = this.#sets.get(word);
      set?.delete(value);
      if (set?.size === 0) this.#sets.delete(word);
    }
  }
}

function referred(object: KubernetesObject, isSelected: boolean): Referred {
  const { namespace, labels } = object.metadata;
  return { ...identityOf(object), ...(isSelected && { namespace, labels }) };
}
