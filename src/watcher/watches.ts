import { isNamespaceType, type ResourceType } from '../api/resource-type.ts';
import { type Watched } from '../engine/controller.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import { type AudienceOptions } from './audience.ts';
import { NamedObject } from './named-object.ts';
import type { Projection } from './known-objects.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';

/** Which objects, and in which form. */
export type WatchedObjects = Omit<Watched<unknown>, 'view'>;

export interface WatchRequest extends Pick<ReflectorOptions, 'client' | 'log'> {
  readonly watched: WatchedObjects;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
}

/** What one of those who share a watch has of it. */
export interface Joined<P = unknown> {
  readonly type: ResourceType;
  readonly watch: Reflector | NamedObject;
  readonly items: ReadonlyMap<string, P>;
  /** That its API is missing is no problem. */
  readonly isOptional: boolean;
}

interface Shown {
  readonly watch: Reflector;
  readonly object: Projection;
}

/** Source: the Kubernetes API concepts page, "Resource URIs". */
const OBJECT_PATH = /^(.+?)(?:\/namespaces\/([^/]+))?\/([^/]+)\/([^/]+)$/;

/** All watches of a process: one for all who ask for the same objects in the same form. */
export class Watches {
  readonly #watches = new Map<string, Reflector | NamedObject>();

  join<P extends Projection>(request: WatchRequest, audience: AudienceOptions<P>): Joined<P> {
    const { client, log, watched, namespace } = request;
    const { type, metadataOnly = false, fieldSelector, labelSelector } = watched;
    // A Role in a namespace lets its own Namespace be read. Other cluster-scoped types need a ClusterRole.
    const isOfOne = namespace !== undefined && isNamespaceType(type);
    const within = type.namespaced ? namespace : undefined;
    const path = resourcePath(type, isOfOne ? { name: namespace } : { namespace: within });
    const key = JSON.stringify([path, metadataOnly, fieldSelector, labelSelector]);
    const options = { client, log, path, metadataOnly, fieldSelector, labelSelector };
    const watch = this.#watches.get(key) ?? (isOfOne ? new NamedObject(options) : new Reflector(options));
    this.#watches.set(key, watch);
    return { type, watch, items: watch.join(audience), isOptional: watched.isOptional === true };
  }

  /** What each watch shows of the object at a path. */
  shownAt(path: string): readonly Shown[] {
    const [, root = '', namespace, plural = '', name = ''] = OBJECT_PATH.exec(path) ?? [];
    const everywhere = `${root}/${plural}`;
    const within = `${root}/namespaces/${namespace ?? ''}/${plural}`;
    const key = [...(namespace === undefined ? [] : [namespace]), decodeURIComponent(name)].join('/');
    return [...this.#watches.values()].flatMap((watch) => {
      if (!(watch instanceof Reflector) || (watch.path !== everywhere && watch.path !== within)) return [];
      return watch.shown(key).map((object) => ({ watch, object }));
    });
  }
}
