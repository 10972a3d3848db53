import type { OwnedType, WatchedType } from '../src/api/watched.ts';
import type { ObjectAt } from '../src/contract/kube.ts';
import type { KubernetesObject } from '../src/contract/object.ts';
import { stepsOf, type AnyDefinition, type AuthorsStep } from '../src/controllers/defined/definition.ts';
import {
  observationOf,
  ownedView,
  ownerKeyByType,
  type ViewedResource,
  type ViewedObservation,
} from '../src/controllers/defined/viewed.ts';
import { keyOf } from '../src/controllers/kinds.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import type { AuthorWrite, AcceptedWrite } from './authors-kube.ts';

/** What is known after the writes of a step: what was observed before it, with the server's answers. */
export class Folded {
  readonly #definition: AnyDefinition;
  readonly #type: WatchedType;
  #seen: ViewedResource;
  /** The paths of objects whose state is not known. */
  readonly #unknown = new Set<string>();

  constructor(definition: AnyDefinition, before: ViewedResource) {
    this.#definition = definition;
    this.#type = definition.for as WatchedType;
    this.#seen = before;
  }

  /** Undefined: something has to be observed. */
  get observation(): ViewedObservation | undefined {
    return this.#unknown.size > 0 ? undefined : this.#seen;
  }

  isResource({ type, namespace, name }: ObjectAt): boolean {
    const { metadata } = this.#seen.resource;
    return isSameType(type, this.#type) && name === metadata.name && namespace === metadata.namespace;
  }

  /** @throws Error if the step may not write so */
  check({ do: step }: AuthorsStep, { at, sent }: AuthorWrite): void {
    if (stepsOf(this.#definition)[step]?.reads !== 'cache') return;
    const { resourceVersion } = this.#seen.resource.metadata;
    if (!this.isResource(at) || sent?.metadata?.resourceVersion !== resourceVersion)
      throw new Error(
        `step ${step} says reads: "cache", so it may only patch its resource, with its resourceVersion`,
      );
  }

  written({ at, uid, answer }: AcceptedWrite): void {
    const path = resourcePath(at.type, { name: at.name, namespace: at.namespace });
    this.#seen = { ...this.#seen, owned: this.#seen.owned.filter((each) => each.uid !== uid) };
    const seen = answer && this.#with(at, answer);
    if (seen === undefined) this.#unknown.add(path);
    else {
      this.#unknown.delete(path);
      this.#seen = seen;
    }
  }

  /** Undefined where the object is neither the resource nor belongs to it. */
  #with(at: ObjectAt, answer: KubernetesObject): ViewedResource | undefined {
    const { resource, owned } = this.#seen;
    if (this.isResource(at)) return observationOf(this.#definition, answer, owned);
    const owns = (this.#definition.owns ?? []) as readonly OwnedType<unknown>[];
    const its = owns.find((each) => isSameType(each, at.type));
    if (its === undefined || ownerKeyByType(this.#type, its, answer) !== keyOf(resource.metadata))
      return undefined;
    const view = ownedView(its, answer);
    const others = owned.filter(({ uid }) => uid !== answer.metadata.uid);
    return { ...this.#seen, owned: [...others, ...(view === undefined ? [] : [view])] };
  }
}

function isSameType(one: ObjectAt['type'], other: ObjectAt['type']): boolean {
  return one.plural === other.plural && one.group === other.group;
}
