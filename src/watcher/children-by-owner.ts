import type { ChildProjection } from './known-objects.ts';

/** The children of all resources of a controller. */
export class ChildrenByOwner {
  /** By the key of the resource that they belong to, and then by the place of their type and their own key. */
  readonly #children = new Map<string, Map<string, ChildProjection>>();

  viewsOf(ownerKey: string): unknown[] {
    return [...(this.#children.get(ownerKey)?.values() ?? [])].map(({ view }) => view);
  }

  /** @param place of the type among the children of the controller */
  keep(place: number, child: ChildProjection): void {
    const siblings = this.#children.get(child.ownerKey) ?? new Map<string, ChildProjection>();
    siblings.set(`${place}/${child.key}`, child);
    this.#children.set(child.ownerKey, siblings);
  }

  forget(place: number, { ownerKey, key }: ChildProjection): void {
    const siblings = this.#children.get(ownerKey);
    siblings?.delete(`${place}/${key}`);
    if (siblings?.size === 0) this.#children.delete(ownerKey);
  }
}
