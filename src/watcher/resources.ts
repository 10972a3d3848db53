import {
  NO_WORK,
  type ChildProjection,
  type Controller,
  type Projection,
  type Verdict,
  type Watched,
} from '../contract/controller.ts';
import type { Logger } from '../contract/logger.ts';
import type { KubernetesObject } from '../contract/object.ts';
import type { ResourceRef } from '../contract/resource.ts';
import { SILENT, type Telemetry, type WatchState } from '../contract/telemetry.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import { NamedObjects } from './named-objects.ts';
import { Reflector, type Change } from './reflector.ts';

/** A resource as the watcher last saw it, and what its controller says to that. */
export interface Evaluation {
  readonly ref: ResourceRef;
  readonly verdict: Verdict<unknown>;
  /** Names the need: equal where an open run need not be told. */
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
  /** Default: nobody observes. */
  readonly telemetry?: Pick<Telemetry, 'watch'> | undefined;
  /** As far as is known. */
  readonly isNamespaceGoing: (namespace: string) => boolean;
  /** Called for each resource that changed, or whose child did; only once all of them are known. */
  readonly onChange: (evaluation: Evaluation) => void;
  /** Called for each resource that is gone. */
  readonly onGone: (ref: ResourceRef) => void;
}

/** What counts of a reflector, whatever it keeps. */
type Watching = Pick<
  Reflector<Projection>,
  'start' | 'stop' | 'synced' | 'hasSynced' | 'problem' | 'isApiMissing' | 'silenceSeconds'
> & { readonly items: ReadonlyMap<string, unknown> };

/**
 * A child that goes is often the first sign that its resource is going, too: the watch of the resource is
 * given time to say so, since what is put back would be refused.
 */
const SETTLE_MS = 200;
const LOOK_EVERY_MS = 50;

/** The projections of one controller's resources and of their children, kept up to date by watches. */
export class Resources {
  readonly controller: Controller;
  readonly #options: ResourcesOptions;
  /** By the plural of what they watch. */
  readonly #watches: ReadonlyMap<string, readonly Watching[]>;
  readonly #reflectors: readonly Watching[];
  /** By the key of the resource. */
  readonly #primaries = new Map<string, Projection>();
  /** By the key of the resource that they belong to, and then by their own. */
  readonly #children = new Map<string, Map<string, ChildProjection>>();
  /** The keys of resources whose children changed since they were last looked at. */
  readonly #toLookAt = new Set<string>();
  #lastLookMs = -Infinity;

  constructor(options: ResourcesOptions) {
    this.controller = options.controller;
    this.#options = options;
    const { primary, children } = options.controller;
    this.#watches = new Map([
      [primary.plural, this.#reflect(primary, (change) => this.#primaryChanged(change))],
      ...children.map(
        (child) =>
          [child.plural, this.#reflect(child, (change) => this.#childChanged(child.plural, change))] as const,
      ),
    ]);
    this.#reflectors = [...this.#watches.values()].flat();
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

  /** Whether it waits for a CRD: the other controllers work meanwhile. */
  get isApiMissing(): boolean {
    return this.#reflectors.some(({ isApiMissing }) => isApiMissing);
  }

  /** What keeps the watches from working, one sentence each. */
  get problems(): string[] {
    return this.#reflectors.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
  }

  /** How the watches are, for whoever observes. */
  get watchStates(): WatchState[] {
    return [...this.#watches].map(([resource, watches]) => ({
      controller: this.controller.name,
      resource,
      silenceSeconds: Math.max(...watches.map(({ silenceSeconds }) => silenceSeconds)),
      known: watches.reduce((known, { items }) => known + items.size, 0),
    }));
  }

  *all(): Iterable<Evaluation> {
    for (const primary of this.#primaries.values()) yield this.#evaluate(primary);
  }

  /** The resource as it is now, or undefined where it is gone, or is another one of the same name. */
  find(ref: ResourceRef): Evaluation | undefined {
    const primary = this.#primaries.get(this.#keyOf(ref));
    return primary?.uid === ref.uid ? this.#evaluate(primary) : undefined;
  }

  /** Whether the resource of that key is a Namespace that is being deleted. */
  isNamespaceGoing(key: string): boolean {
    const primary = this.#primaries.get(key);
    return primary !== undefined && this.controller.isNamespaceGoing?.(primary) === true;
  }

  #reflect<P extends Projection>(watched: Watched<P>, onChange: (change: Change<P>) => void): Watching[] {
    const { client, namespaces, resyncMs, log, telemetry = SILENT } = this.#options;
    const observer = telemetry.watch({ controller: this.controller.name, resource: watched.plural });
    const project = (object: KubernetesObject) => watched.project(object);
    const { metadataOnly, fieldSelector, labelSelector } = watched;
    const common = { client, metadataOnly, project, onChange, log, observer };
    const reflector = (path: string) => new Reflector<P>({ ...common, fieldSelector, labelSelector, path });
    if (namespaces.length === 0) return [reflector(resourcePath(watched))];
    if (!watched.namespaced) {
      const paths = namespaces.map((name) => resourcePath(watched, { name }));
      return [new NamedObjects<P>({ ...common, paths, everyMs: resyncMs })];
    }
    return namespaces.map((namespace) => reflector(resourcePath(watched, { namespace })));
  }

  #primaryChanged({ type, object }: Change<Projection>): void {
    if (type === 'deleted') this.#primaries.delete(object.key);
    else this.#primaries.set(object.key, object);
    if (!this.hasSynced()) return;
    if (type === 'deleted') this.#options.onGone(this.#refOf(object));
    else this.#options.onChange(this.#evaluate(object));
  }

  #childChanged(plural: string, change: Change<ChildProjection>): void {
    const { object } = change;
    if (change.type === 'deleted') {
      this.#forgetChild(plural, object);
      setTimeout(() => this.#lookAtSoon(object.belongsTo), SETTLE_MS).unref();
      return;
    }
    if (change.before !== undefined && change.before.belongsTo !== object.belongsTo) {
      this.#forgetChild(plural, change.before);
      this.#lookAtSoon(change.before.belongsTo);
    }
    this.#keepChild(plural, object);
    this.#lookAtSoon(object.belongsTo);
  }

  #keepChild(plural: string, child: ChildProjection): void {
    const siblings = this.#children.get(child.belongsTo) ?? new Map<string, ChildProjection>();
    siblings.set(`${plural}/${child.key}`, child);
    this.#children.set(child.belongsTo, siblings);
  }

  #forgetChild(plural: string, { belongsTo, key }: ChildProjection): void {
    const siblings = this.#children.get(belongsTo);
    siblings?.delete(`${plural}/${key}`);
    if (siblings?.size === 0) this.#children.delete(belongsTo);
  }

  /** At once, but where many children change, at most so often: each look is at all of a resource's children. */
  #lookAtSoon(key: string): void {
    if (!this.hasSynced()) return;
    const isPlanned = this.#toLookAt.size > 0;
    this.#toLookAt.add(key);
    if (isPlanned) return;
    const waitMs = this.#lastLookMs + LOOK_EVERY_MS - performance.now();
    if (waitMs > 0) setTimeout(() => this.#lookAtAll(), waitMs).unref();
    else setImmediate(() => this.#lookAtAll());
  }

  #lookAtAll(): void {
    const keys = [...this.#toLookAt];
    this.#toLookAt.clear();
    this.#lastLookMs = performance.now();
    for (const key of keys) {
      const primary = this.#primaries.get(key);
      if (primary !== undefined) this.#options.onChange(this.#evaluate(primary));
    }
  }

  #evaluate(primary: Projection): Evaluation {
    const ref = this.#refOf(primary);
    const verdict = this.#verdictOn(primary, ref);
    return { ref, verdict, fingerprint: fingerprintOf(verdict) };
  }

  #verdictOn(primary: Projection, { namespace }: ResourceRef): Verdict<unknown> {
    if (this.controller.endsWithNamespace && this.#options.isNamespaceGoing(namespace)) return NO_WORK;
    return this.controller.needsWork(primary, [...(this.#children.get(primary.key)?.values() ?? [])]);
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

function fingerprintOf(verdict: Verdict<unknown>): string {
  return verdict.needsWork ? `${verdict.reason} ${verdict.about ?? ''}` : '';
}
