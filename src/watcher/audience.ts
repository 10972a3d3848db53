import type { Logger } from '../api/logger.ts';
import type { KubernetesObject } from '../api/object.ts';
import { SILENT_WATCH, type WatchObserver } from '../runs/telemetry.ts';
import {
  type ObjectChange,
  identityOf,
  KnownObjects,
  type Projection,
  type Sighting,
} from './known-objects.ts';

export interface AudienceOptions<P extends Projection> {
  /** Undefined: not of interest, treated as absent. Its `key` must be `namespace/name`, or `name`. */
  readonly project: (object: KubernetesObject) => P | undefined;
  /** Called once a change, in order. A throw is logged, never fatal. */
  readonly onChange: (change: ObjectChange<P>) => void;
  readonly log: Logger;
  /** Default: not observed. */
  readonly observer?: WatchObserver | undefined;
}

/** What a reflector tells each of those who share it. */
export type Told = Pick<
  Audience<Projection>,
  'listed' | 'listEnded' | 'changed' | 'vanished' | 'observer' | 'changes' | 'items'
>;

/** One of those who share a reflector: what it keeps of each object. */
export class Audience<P extends Projection> {
  readonly observer: WatchObserver;
  readonly #options: AudienceOptions<P>;
  readonly #known: KnownObjects<P>;
  #changes = 0;

  constructor(options: AudienceOptions<P>) {
    this.#options = options;
    this.observer = options.observer ?? SILENT_WATCH;
    this.#known = new KnownObjects<P>((change) => this.#report(change));
  }

  /** How many were told so far. */
  get changes(): number {
    return this.#changes;
  }

  get items(): ReadonlyMap<string, P> {
    return this.#known.items;
  }

  listed(object: KubernetesObject): void {
    this.#known.listed(this.#see(object));
  }

  /** @param keys of the whole list */
  listEnded(keys: ReadonlySet<string>): void {
    this.#known.listEnded(keys);
  }

  changed(object: KubernetesObject): void {
    this.#known.changed(this.#see(object));
  }

  vanished(object: KubernetesObject): void {
    this.#known.vanished(identityOf(object));
  }

  #see(object: KubernetesObject): Sighting<P> {
    return { ...identityOf(object), projection: this.#project(object) };
  }

  #project(object: KubernetesObject): P | undefined {
    try {
      return this.#options.project(object);
    } catch (error) {
      this.#options.log.error(
        { object: identityOf(object).key, err: error },
        'cannot parse an object; ignoring it',
      );
      return undefined;
    }
  }

  #report(change: ObjectChange<P>): void {
    this.#changes += 1;
    try {
      this.#options.onChange(change);
    } catch (error) {
      this.#options.log.error(
        { object: change.object.key, err: error },
        `cannot handle the change "${change.type}"`,
      );
    }
  }
}
