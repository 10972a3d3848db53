import type {
  ReferenceWatch,
  References as ReferencesOf,
  ReferencedObject,
  ReferredState,
  ResourceType,
} from '../contract/controller.ts';
import type { KubernetesObject } from '../contract/object.ts';
import { isSelectedBy, referredObjects, stateOf } from '../contract/references.ts';
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

/** Which resources of a controller refer to which objects, whether there are any or not. */
export class ReferenceIndex {
  readonly #options: ReferencesOptions;
  readonly #types: readonly ReferredObjects[];

  constructor(options: ReferencesOptions) {
    this.#options = options;
    this.#types = options.references.map((reference) => {
      const objects: ReferredObjects = new ReferredObjects(
        reference,
        options.watch(reference.type, {
          project: (object) => referred(object, reference.isSelected),
          onChange: (change) => {
            for (const key of objects.referrersOf(change)) options.onChange(key);
          },
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
    for (const [place, reference] of this.#options.references.entries())
      this.#types[place]?.set(key, reference.of(view));
  }

  forget(key: string): void {
    for (const objects of this.#types) objects.set(key, undefined);
  }

  /** Undefined where there is nothing to refer to, or not all of it is watched. */
  stateFor(key: string): ReferredState | undefined {
    if (this.#types.length === 0) return undefined;
    const { namespace } = this.#options;
    if (namespace !== undefined && !this.#types.every((each) => each.isWithin(key, namespace)))
      return undefined;
    return stateOf(this.#types.flatMap((each) => each.referredBy(key)));
  }
}

/** The objects of one type that may be referred to. */
class ReferredObjects {
  readonly joined: Joined<Referred>;
  readonly #type: ResourceType;
  /** By the key of the resource. */
  readonly #references = new Map<string, ReferencesOf>();
  /** The keys of resources by the key of an object. */
  readonly #referrers = new Map<string, Set<string>>();
  readonly #selecting = new Set<string>();

  constructor({ type }: ReferenceWatch<unknown>, joined: Joined<Referred>) {
    this.#type = type;
    this.joined = joined;
  }

  set(key: string, references: ReferencesOf | undefined): void {
    for (const object of this.#references.get(key)?.keys ?? []) {
      const referrers = this.#referrers.get(object);
      referrers?.delete(key);
      if (referrers?.size === 0) this.#referrers.delete(object);
    }
    this.#selecting.delete(key);
    this.#references.delete(key);
    if (references === undefined) return;
    this.#references.set(key, references);
    if (references.labels !== undefined) this.#selecting.add(key);
    for (const object of references.keys)
      this.#referrers.set(object, (this.#referrers.get(object) ?? new Set()).add(key));
  }

  referrersOf(change: ObjectChange<Referred>): Set<string> {
    const states = [change.object, ...('before' in change ? [change.before] : [])];
    const selecting = [...this.#selecting].filter((key) =>
      states.some((state) => isSelectedBy(this.#of(key), state)),
    );
    return new Set([...(this.#referrers.get(change.object.key) ?? []), ...selecting]);
  }

  referredBy(key: string): readonly ReferencedObject[] {
    const references = this.#of(key);
    const { items } = this.joined;
    const named = references.keys.flatMap((object) => items.get(object) ?? []);
    const selected =
      references.labels === undefined
        ? []
        : [...items.values()].filter((object) => isSelectedBy(references, object));
    return referredObjects(this.#type, references.keys, [...named, ...selected]);
  }

  /** Whether all that the resource refers to is in this namespace. */
  isWithin(key: string, namespace: string): boolean {
    const { keys, labels } = this.#of(key);
    if (keys.length === 0 && labels === undefined) return true;
    return this.#type.namespaced && keys.every((object) => object.startsWith(`${namespace}/`));
  }

  #of(key: string): ReferencesOf {
    return this.#references.get(key) ?? { keys: [] };
  }
}

function referred(object: KubernetesObject, isSelected: boolean): Referred {
  const { namespace, labels } = object.metadata;
  return { ...identityOf(object), ...(isSelected && { namespace, labels }) };
}
