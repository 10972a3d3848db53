import type { Logger } from '../contract/logger.ts';
import type { KubernetesObject } from '../contract/object.ts';
import { SILENT, type Telemetry, type WatchState } from '../contract/telemetry.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import { NamedObject } from './named-object.ts';
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
  /** One of all, or one each: where one cannot be read, the others are. */
  readonly #watches: readonly (Reflector<Projection> | NamedObject<Projection>)[];

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
    this.#watches =
      namespaces.length === 0
        ? [new Reflector<Projection>({ ...common, path: resourcePath(NAMESPACES) })]
        : namespaces.map((name) => {
            const path = resourcePath(NAMESPACES, { name });
            return new NamedObject<Projection>({ ...common, path, everyMs: resyncMs });
          });
  }

  start(): void {
    for (const watch of this.#watches) watch.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.stop()));
  }

  isTerminating(namespace: string): boolean {
    return this.#watches.some(({ items }) => items.has(namespace));
  }

  /** What keeps the watches from working, one sentence each. */
  get problems(): string[] {
    return this.#watches.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
  }

  get watchStates(): WatchState[] {
    return this.#watches.map(({ silenceSeconds, items }) => ({ ...KIND, silenceSeconds, known: items.size }));
  }
}

/** Of no controller in particular. */
const KIND = { controller: 'all', resource: 'namespaces' };

function terminating(object: KubernetesObject): Projection | undefined {
  return object.metadata.deletionTimestamp === undefined ? undefined : identityOf(object);
}
