import type { Logger } from '../api/logger.ts';
import type { KubernetesObject } from '../api/object.ts';
import { SILENT, type Telemetry, type WatchState } from '../runs/telemetry.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import { NamedObject } from './named-object.ts';
import { PAUSED_ANNOTATION } from '../api/annotations.ts';
import { identityOf, type Projection } from './known-objects.ts';
import { Reflector } from './reflector.ts';

const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces' };

export interface NamespacesOptions {
  readonly client: KubernetesClient;
  /** None: all namespaces. */
  readonly namespaces: readonly string[];
  /** How often those of some namespaces are read. Default: that of NamedObject. */
  readonly everyMs?: number;
  readonly log: Logger;
  readonly telemetry?: Pick<Telemetry, 'watch'> | undefined;
  /** Called with the name of a namespace whose deletion has begun, or that is paused, or is not any more. */
  readonly onChange: (namespace: string) => void;
}

/** What is kept of a Namespace that is being deleted or paused. */
interface Special extends Projection {
  readonly isTerminating: boolean;
  readonly isPaused: boolean;
}

interface Watch {
  readonly watch: Reflector | NamedObject;
  readonly items: ReadonlyMap<string, Special>;
}

/** Which namespaces are being deleted, and which are paused: only those are kept. */
export class Namespaces {
  /** One of all, or one each: where one cannot be read, the others are. */
  readonly #watches: readonly Watch[];
  readonly #covered: readonly string[];

  constructor({ client, namespaces, everyMs, log, telemetry = SILENT, onChange }: NamespacesOptions) {
    const common = { client, log, metadataOnly: true };
    const audience = {
      log,
      project: special,
      onChange: ({ object }: { readonly object: Special }) => onChange(object.key),
      observer: telemetry.watch(KIND),
    };
    this.#covered = namespaces;
    const watches =
      namespaces.length === 0
        ? [new Reflector({ ...common, path: resourcePath(NAMESPACES) })]
        : namespaces.map((name) => {
            const path = resourcePath(NAMESPACES, { name });
            return new NamedObject({ ...common, path, everyMs });
          });
    this.#watches = watches.map((watch) => ({ watch, items: watch.join(audience) }));
  }

  start(): void {
    for (const { watch } of this.#watches) watch.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#watches.map(({ watch }) => watch.stop()));
  }

  isTerminating(namespace: string): boolean {
    return this.#find(namespace)?.isTerminating ?? false;
  }

  /** As it was last seen; undefined where it is not known, or not yet. */
  isPaused(namespace: string): boolean | undefined {
    const { watch } = this.#watches[Math.max(0, this.#covered.indexOf(namespace))] ?? {};
    const isCovered = this.#covered.length === 0 || this.#covered.includes(namespace);
    return isCovered && watch?.hasSynced() === true ? (this.#find(namespace)?.isPaused ?? false) : undefined;
  }

  /** The same where a watch shows it; undefined as well where it is read only every so often, or the watch does not work. */
  isPausedByWatch(namespace: string): boolean | undefined {
    const isWatching = this.#covered.length === 0 && this.problems.length === 0;
    return isWatching ? this.isPaused(namespace) : undefined;
  }

  #find(namespace: string): Special | undefined {
    return this.#watches.flatMap(({ items }) => items.get(namespace) ?? [])[0];
  }

  /** What keeps the watches from working, one sentence each. */
  get problems(): string[] {
    return this.#watches.flatMap(({ watch: { problem } }) => (problem === undefined ? [] : [problem]));
  }

  get watchStates(): WatchState[] {
    return this.#watches.map(({ watch: { silenceSeconds }, items }) => ({
      ...KIND,
      silenceSeconds,
      known: items.size,
    }));
  }
}

/** Of no controller in particular. */
const KIND = { controller: 'all', resource: 'namespaces' };

function special(object: KubernetesObject): Special | undefined {
  const { deletionTimestamp, annotations = {} } = object.metadata;
  const isTerminating = deletionTimestamp !== undefined;
  const isPaused = annotations[PAUSED_ANNOTATION] === 'true';
  return isTerminating || isPaused ? { ...identityOf(object), isTerminating, isPaused } : undefined;
}
