import { LRUCache } from 'lru-cache';
import { RESOURCE_QUOTAS } from '../api/kinds.ts';
import type { Logger } from '../api/logger.ts';
import type { KubernetesObject } from '../api/object.ts';
import { SILENT, type Telemetry, type WatchState } from '../runs/telemetry.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import { comparable, identityOf, type ObjectChange, type Projection } from './known-objects.ts';
import { Reflector } from './reflector.ts';

export interface QuotasOptions {
  readonly client: KubernetesClient;
  /** None: all namespaces. */
  readonly namespaces: readonly string[];
  readonly log: Logger;
  readonly telemetry?: Pick<Telemetry, 'watch'> | undefined;
  /** Called with the name of a namespace whose quotas allow something else than before. */
  readonly onChange: (namespace: string) => void;
}

interface Quota extends Projection {
  /** What it allows, to be compared; not how much of it is used, which changes all the time. */
  readonly allows: string;
}

interface Watch {
  readonly reflector: Reflector;
  readonly items: ReadonlyMap<string, Quota>;
}

/** Those of which nobody asks, such as namespaces that are gone, are forgotten first. */
const NAMESPACES_MAX = 10_000;

/**
 * How often somebody has changed what the ResourceQuotas of a namespace allow: who raises one need not wait until what it
 * refused is tried again. It only saves time: where quotas may not be watched, everything is tried again nevertheless.
 */
export class Quotas {
  readonly #watches: readonly Watch[];
  /** What each allows, by its key. */
  readonly #allowed = new Map<string, string>();
  /** By namespace. */
  readonly #changes = new LRUCache<string, number>({ max: NAMESPACES_MAX });
  readonly #onChange: (namespace: string) => void;

  constructor({ client, namespaces, log, telemetry = SILENT, onChange }: QuotasOptions) {
    this.#onChange = onChange;
    const scopes = namespaces.length === 0 ? [undefined] : namespaces;
    this.#watches = scopes.map((namespace) => {
      const reflector = new Reflector({ client, log, path: resourcePath(RESOURCE_QUOTAS, { namespace }) });
      const items = reflector.join<Quota>({
        log,
        project: quotaIn,
        onChange: (change) => this.#changed(change, reflector.hasSynced()),
        observer: telemetry.watch(KIND),
      });
      return { reflector, items };
    });
  }

  start(): void {
    for (const { reflector } of this.#watches) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#watches.map(({ reflector }) => reflector.stop()));
  }

  /** Another text each time somebody has changed what is allowed there; empty where nobody has, since this process watches. */
  in(namespace: string): string {
    const changes = this.#changes.get(namespace);
    return changes === undefined ? '' : `quotas changed ${changes}`;
  }

  get watchStates(): WatchState[] {
    return this.#watches.map(({ reflector: { silenceSeconds }, items }) => ({
      ...KIND,
      silenceSeconds,
      known: items.size,
    }));
  }

  /** @param hasSynced what the first list shows is no change: a process that starts must not end backoffs */
  #changed({ type, object: { key, allows } }: ObjectChange<Quota>, hasSynced: boolean): void {
    const before = this.#allowed.get(key);
    const after = type === 'deleted' ? undefined : allows;
    if (after === undefined) this.#allowed.delete(key);
    else this.#allowed.set(key, after);
    if (!hasSynced || after === before) return;
    const [namespace = key] = key.split('/');
    this.#changes.set(namespace, (this.#changes.get(namespace) ?? 0) + 1);
    this.#onChange(namespace);
  }
}

/** Of no controller in particular. */
const KIND = { controller: 'all', resource: 'resourcequotas' };

function quotaIn(object: KubernetesObject): Quota {
  return { ...identityOf(object), allows: comparable(JSON.stringify(object['spec'] ?? {})) };
}
