import type { ChildProjection, Controller, Projection, Verdict, Watched } from '../contract/controller.ts';
import type { Logger } from '../contract/logger.ts';
import type { KubernetesObject } from '../contract/object.ts';
import type { ResourceRef } from '../contract/resource.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import { NamedObjects } from './named-objects.ts';
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
  /** How often what cannot be watched is read. */
  readonly resyncMs: number;
  readonly log: Logger;
  /** Called for each resource that changed, or whose child did; only once all of them are known. */
  readonly onChange: (evaluation: Evaluation) => void;
  /** Called for each resource that is gone. */
  readonly onGone: (ref: ResourceRef) => void;
}

/** What counts of a reflector, whatever it keeps. */
type Watching = Pick<Reflector<Projection>, 'start' | 'stop' | 'synced' | 'hasSynced' | 'problem'>;

/**
 * A child that goes is often the first sign that its resource is going, too: the watch of the resource is
 * given time to say so, since what is put back would be refused.
 */
const SETTLE_MS = 200;

/** The projections of one controller's resources and of their children, kept up to date by watches. */
export class Resources {
  readonly controller: Controller;
  readonly #options: ResourcesOptions;
  readonly #reflectors: readonly Watching[];
  /** By the key of the resource. */
  readonly #primaries = new Map<string, Projection>();
  /** By the key of the resource that they belong to. */
  readonly #children = new Map<string, ChildProjection>();

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
    const primary = this.#primaries.get(this.#keyOf(ref));
    return primary?.uid === ref.uid ? this.#evaluate(primary) : undefined;
  }

  #reflect<P extends Projection>(watched: Watched<P>, onChange: (change: Change<P>) => void): Watching[] {
    const { client, namespaces, resyncMs, log } = this.#options;
    const project = (object: KubernetesObject) => watched.project(object);
    const { metadataOnly, fieldSelector } = watched;
    const common = { client, metadataOnly, project, onChange, log };
    if (namespaces.length === 0) {
      return [new Reflector<P>({ ...common, fieldSelector, path: resourcePath(watched) })];
    }
    if (!watched.namespaced) {
      const paths = namespaces.map((name) => resourcePath(watched, { name }));
      return [new NamedObjects<P>({ ...common, paths, everyMs: resyncMs })];
    }
    return namespaces.map(
      (namespace) =>
        new Reflector<P>({ ...common, fieldSelector, path: resourcePath(watched, { namespace }) }),
    );
  }

  #primaryChanged(change: Change<Projection>): void {
    keep(this.#primaries, change.object.key, change);
    if (!this.hasSynced()) return;
    if (change.type === 'deleted') this.#options.onGone(this.#refOf(change.object));
    else this.#options.onChange(this.#evaluate(change.object));
  }

  #childChanged(change: Change<ChildProjection>): void {
    const { belongsTo } = change.object;
    keep(this.#children, belongsTo, change);
    if (!this.hasSynced()) return;
    if (change.type === 'deleted') setTimeout(() => this.#lookAgain(belongsTo), SETTLE_MS).unref();
    else this.#lookAgain(belongsTo);
  }

  #lookAgain(key: string): void {
    const primary = this.#primaries.get(key);
    if (primary !== undefined) this.#options.onChange(this.#evaluate(primary));
  }

  #evaluate(primary: Projection): Evaluation {
    const child = this.#children.get(primary.key);
    const ref = this.#refOf(primary);
    return {
      ref,
      verdict: this.controller.needsWork(primary, child),
      fingerprint: fingerprintOf(primary) + (child ? fingerprintOf(child) : ''),
    };
  }

  /** A Namespace is cluster-scoped, and counts as lying in the namespace that it is. */
  #refOf({ key, uid }: Projection): ResourceRef {
    const [namespace = key, name = namespace] = key.split('/');
    return { controller: this.controller.name, namespace, name, uid };
  }

  #keyOf({ namespace, name }: ResourceRef): string {
    return this.controller.primary.namespaced ? `${namespace}/${name}` : name;
  }
}

function keep<P>(kept: Map<string, P>, key: string, { type, object }: { type: string; object: P }): void {
  if (type === 'deleted') kept.delete(key);
  else kept.set(key, object);
}

/** All that is kept but the resourceVersion, which every write changes. */
function fingerprintOf(projection: Projection): string {
  return JSON.stringify({ ...projection, resourceVersion: undefined });
}
