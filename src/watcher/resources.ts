import type { Controller, Projection, Verdict, Watched } from '../contract/controller.ts';
import { NO_WORK } from '../contract/controller.ts';
import type { Logger } from '../contract/logger.ts';
import type { ResourceRef } from '../contract/resource.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import { Reflector, type Change } from './reflector.ts';

/** A resource as the watcher last saw it, and what its controller says to that. */
export interface Evaluation {
  readonly ref: ResourceRef;
  readonly verdict: Verdict<unknown>;
  /** Equal where nothing that the controller looks at has changed. */
  readonly fingerprint: string;
}

export interface ResourcesOptions {
  readonly controller: Controller;
  readonly client: KubernetesClient;
  /** None: all namespaces. */
  readonly namespaces: readonly string[];
  readonly log: Logger;
  /** Called for each resource that changed, or whose child did; only once all of them are known. */
  readonly onChange: (evaluation: Evaluation) => void;
  /** Called for each resource that is gone. */
  readonly onGone: (ref: ResourceRef) => void;
}

/**
 * A child that goes is often the first sign that its resource is going, too: the watch of the resource is
 * given time to say so, since what is put back would be refused.
 */
const SETTLE_MS = 200;

/** The projections of one controller's resources and of their children, kept up to date by watches. */
export class Resources {
  readonly controller: Controller;
  readonly #options: ResourcesOptions;
  readonly #reflectors: readonly Reflector<Projection>[];
  /** By the key of the resource. */
  readonly #primaries = new Map<string, Projection>();
  /** By the key of the resource that they belong to. */
  readonly #children = new Map<string, Projection>();

  constructor(options: ResourcesOptions) {
    this.controller = options.controller;
    this.#options = options;
    const { primary, child } = options.controller;
    this.#reflectors = [
      ...this.#reflect(primary, (change) => this.#primaryChanged(change)),
      ...(child ? this.#reflect(child, (change) => this.#childChanged(change)) : []),
    ];
  }

  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
  }

  /** Resolves when every list is complete: a verdict is worth something only from then on. */
  async synced(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.synced));
  }

  hasSynced(): boolean {
    return this.#reflectors.every((reflector) => reflector.hasSynced());
  }

  /** What keeps the watches from working, one sentence each. */
  get problems(): string[] {
    return this.#reflectors.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
  }

  *all(): Iterable<Evaluation> {
    for (const primary of this.#primaries.values()) yield this.#evaluate(primary);
  }

  /** The resource as it is now, or undefined where it is gone, or is another one of the same name. */
  find(ref: ResourceRef): Evaluation | undefined {
    const primary = this.#primaries.get(`${ref.namespace}/${ref.name}`);
    return primary?.uid === ref.uid ? this.#evaluate(primary) : undefined;
  }

  #reflect(watched: Watched<Projection>, onChange: (change: Change<Projection>) => void) {
    const { client, namespaces, log } = this.#options;
    const scopes = watched.namespaced && namespaces.length > 0 ? namespaces : [undefined];
    return scopes.map(
      (namespace) =>
        new Reflector<Projection>({
          client,
          path: resourcePath(watched, { namespace }),
          fieldSelector: watched.fieldSelector,
          metadataOnly: watched.metadataOnly,
          project: (object) => watched.project(object),
          onChange,
          log,
        }),
    );
  }

  #primaryChanged(change: Change<Projection>): void {
    keep(this.#primaries, change);
    if (!this.hasSynced()) return;
    if (change.type === 'deleted') this.#options.onGone(this.#refOf(change.object));
    else this.#options.onChange(this.#evaluate(change.object));
  }

  #childChanged(change: Change<Projection>): void {
    keep(this.#children, change);
    if (!this.hasSynced()) return;
    const { key } = change.object;
    if (change.type === 'deleted') setTimeout(() => this.#lookAgain(key), SETTLE_MS).unref();
    else this.#lookAgain(key);
  }

  #lookAgain(key: string): void {
    const primary = this.#primaries.get(key);
    if (primary !== undefined) this.#options.onChange(this.#evaluate(primary));
  }

  #evaluate(primary: Projection): Evaluation {
    const child = this.#children.get(primary.key);
    const inScope = this.#isInScope(primary);
    return {
      ref: this.#refOf(primary),
      verdict: inScope ? this.controller.needsWork(primary, child) : NO_WORK,
      fingerprint: fingerprintOf(primary) + (child ? fingerprintOf(child) : ''),
    };
  }

  /** A cluster-scoped resource cannot be watched by namespace; its key names the namespace that it is. */
  #isInScope({ key }: Projection): boolean {
    const { namespaces } = this.#options;
    return namespaces.length === 0 || namespaces.includes(key.slice(0, key.indexOf('/')));
  }

  #refOf({ key, uid }: Projection): ResourceRef {
    const slash = key.indexOf('/');
    return {
      controller: this.controller.name,
      namespace: key.slice(0, slash),
      name: key.slice(slash + 1),
      uid,
    };
  }
}

function keep(projections: Map<string, Projection>, { type, object }: Change<Projection>): void {
  if (type === 'deleted') projections.delete(object.key);
  else projections.set(object.key, object);
}

/** All that is kept but the resourceVersion, which every write changes. */
function fingerprintOf(projection: Projection): string {
  return JSON.stringify({ ...projection, resourceVersion: undefined });
}
