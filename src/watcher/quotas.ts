import { QUOTAS } from '../controllers/kinds.ts';
import type { Logger } from '../contract/logger.ts';
import type { KubernetesObject } from '../contract/object.ts';
import { SILENT, type Telemetry, type WatchState } from '../contract/telemetry.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import { identityOf, type Projection } from './projection.ts';
import { Reflector, type Change } from './reflector.ts';

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
  /** What it allows, as text; not how much of it is used, which changes all the time. */
  readonly allows: string;
}

/**
 * What the ResourceQuotas of each namespace allow: who raises one need not wait until what it refused is tried again. It only
 * saves time: where quotas may not be watched, everything is tried again nevertheless.
 */
export class Quotas {
  readonly #watches: readonly Reflector<Quota>[];
  /** By namespace, and then by the key of the quota. */
  readonly #allowed = new Map<string, Map<string, string>>();
  readonly #onChange: (namespace: string) => void;

  constructor({ client, namespaces, log, telemetry = SILENT, onChange }: QuotasOptions) {
    this.#onChange = onChange;
    const scopes = namespaces.length === 0 ? [undefined] : namespaces;
    this.#watches = scopes.map(
      (namespace) =>
        new Reflector<Quota>({
          client,
          log,
          path: resourcePath(QUOTAS, { namespace }),
          project: quotaIn,
          onChange: (change) => this.#changed(change),
          observer: telemetry.watch(KIND),
        }),
    );
  }

  start(): void {
    for (const watch of this.#watches) watch.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.stop()));
  }

  /** The same text as long as nobody changes what is allowed there; empty where nothing is limited. */
  in(namespace: string): string {
    return [...(this.#allowed.get(namespace)?.values() ?? [])].sort().join(', ');
  }

  get watchStates(): WatchState[] {
    return this.#watches.map(({ silenceSeconds, items }) => ({ ...KIND, silenceSeconds, known: items.size }));
  }

  #changed({ type, object: { key, allows } }: Change<Quota>): void {
    const [namespace = key] = key.split('/');
    const before = this.in(namespace);
    const quotas = this.#allowed.get(namespace) ?? new Map<string, string>();
    if (type === 'deleted') quotas.delete(key);
    else quotas.set(key, allows);
    if (quotas.size === 0) this.#allowed.delete(namespace);
    else this.#allowed.set(namespace, quotas);
    if (this.in(namespace) !== before) this.#onChange(namespace);
  }
}

/** Of no controller in particular. */
const KIND = { controller: 'all', resource: 'resourcequotas' };

function quotaIn(object: KubernetesObject): Quota {
  return { ...identityOf(object), allows: `${object.metadata.name} ${JSON.stringify(object['spec'] ?? {})}` };
}
