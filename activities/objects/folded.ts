import { matchesLabels, parseLabelSelector } from '../../src/api/label-selector.ts';
import type { WatchedType } from '../../src/api/watched.ts';
import type { ObjectAt } from '../../src/api/kube.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { stepsOf, type AnyDefinition, type AuthorsStep } from '../../src/engine/definition.ts';
import type { SeenResource } from '../../src/engine/observation.ts';
import { ownedTypes, ownedView, ownerKeyByType } from '../../src/engine/owned.ts';
import { definedView } from '../../src/engine/view.ts';
import { keyOf } from '../../src/api/kinds.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import type { AuthorWrite, AcceptedWrite } from '../authors-kube.ts';

/** What is known after the writes of a step: what was observed before it, with the server's answers. */
export class Folded {
  readonly #definition: AnyDefinition;
  readonly #type: WatchedType;
  #seen: SeenResource;
  /** The paths of objects whose state is not known. */
  readonly #unknown = new Set<string>();
  #isAnyLost = false;

  constructor(definition: AnyDefinition, before: SeenResource) {
    this.#definition = definition;
    this.#type = definition.for;
    this.#seen = before;
  }

  /** Undefined: something has to be observed. What is declared, and what the resource refers to, follows from all of it. */
  get observation(): SeenResource | undefined {
    const isOfMore = ['observe', 'children', 'references'].some((member) => member in this.#definition);
    return isOfMore || this.#unknown.size > 0 ? undefined : this.#seen;
  }

  /** Whether a created object does not belong to the resource: something has changed it on its way. */
  get isAnyLost(): boolean {
    return this.#isAnyLost;
  }

  isResource({ type, namespace, name }: ObjectAt): boolean {
    const { view } = this.#seen;
    return isSameType(type, this.#type) && name === view.name && (namespace ?? '') === view.namespace;
  }

  /** @throws Error if the step may not write so */
  check({ do: step }: AuthorsStep, { at, sent }: AuthorWrite): void {
    if (stepsOf(this.#definition)[step]?.reads !== 'cache') return;
    const { resourceVersion } = this.#seen.view;
    if (!this.isResource(at) || sent?.metadata?.resourceVersion !== resourceVersion)
      throw new Error(
        `step ${step} says reads: "cache", so it may only patch its resource, with its resourceVersion`,
      );
  }

  written({ verb, at, uid, answer }: AcceptedWrite): void {
    const path = resourcePath(at.type, { name: at.name, namespace: at.namespace });
    this.#seen = { ...this.#seen, owned: this.#seen.owned.filter((each) => each.uid !== uid) };
    // A scale does not say what the object is.
    const seen = answer && verb !== 'scale' ? this.#with(at, answer) : undefined;
    if (seen === undefined) {
      this.#unknown.add(path);
      this.#isAnyLost ||=
        verb === 'create' && ownedTypes(this.#definition).some((each) => isSameType(each, at.type));
    } else {
      this.#unknown.delete(path);
      this.#seen = seen;
    }
  }

  /** Undefined where the object is neither the resource nor belongs to it. */
  #with(at: ObjectAt, answer: KubernetesObject): SeenResource | undefined {
    const { view, owned } = this.#seen;
    if (this.isResource(at)) {
      const after = definedView(this.#definition, answer);
      return after && { ...this.#seen, view: after };
    }
    const its = ownedTypes(this.#definition).find((each) => isSameType(each, at.type));
    const place = { name: view.name, ...(this.#type.namespaced && { namespace: view.namespace }) };
    if (its === undefined || !isSelected(its, answer)) return undefined;
    if (ownerKeyByType(this.#type, its, answer) !== keyOf(place)) return undefined;
    const seen = ownedView(its, answer);
    const others = owned.filter(({ uid }) => uid !== answer.metadata.uid);
    return { ...this.#seen, owned: [...others, ...(seen === undefined ? [] : [seen])] };
  }
}

/** Whether the watch shows it. */
function isSelected({ labelSelector }: WatchedType, { metadata }: KubernetesObject): boolean {
  return (
    labelSelector === undefined || matchesLabels(parseLabelSelector(labelSelector), metadata.labels ?? {})
  );
}

function isSameType(one: ObjectAt['type'], other: ObjectAt['type']): boolean {
  return one.plural === other.plural && one.group === other.group;
}
