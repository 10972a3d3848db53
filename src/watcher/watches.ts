import { type AudienceOptions } from './audience.ts';
import { NamedObject } from './named-object.ts';
import type { Projection } from './known-objects.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';

export interface WatchRequest extends ReflectorOptions {
  /** The path is that of one object, which may be read but not watched. */
  readonly isOfOne: boolean;
}

/** What one of those who share a watch has of it. */
export interface Joined {
  readonly watch: Reflector | NamedObject;
  readonly items: ReadonlyMap<string, unknown>;
}

/** All watches of a process: one for all who ask for the same objects in the same form. */
export class Watches {
  readonly #watches = new Map<string, Reflector | NamedObject>();

  join<P extends Projection>({ isOfOne, ...options }: WatchRequest, audience: AudienceOptions<P>): Joined {
    const { path, metadataOnly = false, fieldSelector = '', labelSelector = '' } = options;
    const key = JSON.stringify([path, metadataOnly, fieldSelector, labelSelector]);
    const watch = this.#watches.get(key) ?? (isOfOne ? new NamedObject(options) : new Reflector(options));
    this.#watches.set(key, watch);
    return { watch, items: watch.join(audience) };
  }
}
