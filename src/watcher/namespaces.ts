import type { Logger } from '../contract/logger.ts';
import type { KubernetesObject } from '../contract/object.ts';
import { SILENT, type Telemetry, type WatchState } from '../contract/telemetry.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import { NamedObjects } from './named-objects.ts';
import { identityOf, type Projection } from './projection.ts';
import { Reflector } from './reflector.ts';

const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces' };

export interface NamespacesOptions {
  readonly client: KubernetesClient;
  /** None: all namespaces. */
  readonly namespaces: readonly string[];
  readonly resyncMs: number;
  readonly log: Logger;
  readonly telemetry?: Pick<Telemetry, 'watch'> | undefined;
  /** Called with the name of a namespace whose deletion has begun. */
  readonly onTerminating: (namespace: string) => void;
}

/**
 * Which namespaces are being deleted, for the controllers that do nothing in those: only the terminating ones are
 * kept.
 */
export class Namespaces {
  readonly #watch: Reflector<Projection> | NamedObjects<Projection>;

  constructor({ client, namespaces, resyncMs, log, telemetry = SILENT, onTerminating }: NamespacesOptions) {
    const common = {
      client,
      log,
      metadataOnly: true,
      project: terminating,
      onChange: ({ type, object }: { readonly type: string; readonly object: Projection }) => {
        if (type !== 'deleted') onTerminating(object.key);
      },
      observer: telemetry.watch(KIND),
    };
    const paths = namespaces.map((name) => resourcePath(NAMESPACES, { name }));
    this.#watch =
      namespaces.length === 0
        ? new Reflector<Projection>({ ...common, path: resourcePath(NAMESPACES) })
        : new NamedObjects<Projection>({ ...common, paths, everyMs: resyncMs });
  }

  start(): void {
    this.#watch.start();
  }

  async stop(): Promise<void> {
    await this.#watch.stop();
  }

  isTerminating(namespace: string): boolean {
    return this.#watch.items.has(namespace);
  }

  /** What keeps the watch from working, in a sentence. */
  get problems(): string[] {
    return this.#watch.problem === undefined ? [] : [this.#watch.problem];
  }

  get watchState(): WatchState {
    return { ...KIND, silenceSeconds: this.#watch.silenceSeconds, known: this.#watch.items.size };
  }
}

/** Of no controller in particular. */
const KIND = { controller: 'all', resource: 'namespaces' };

function terminating(object: KubernetesObject): Projection | undefined {
  return object.metadata.deletionTimestamp === undefined ? undefined : identityOf(object);
}
