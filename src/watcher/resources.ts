import { namespaceOf, typeNameOf } from '../api/resource-type.ts';
import { type Controller } from '../engine/controller.ts';
import type { Control } from '../engine/holds/control.ts';
import { isConverged, type NextStep } from '../runs/decision.ts';
import type { Logger } from '../api/logger.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceRef } from '../api/resource-ref.ts';
import { SILENT, type Telemetry, type WatchState } from '../runs/telemetry.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { ChildrenByOwner } from './children-by-owner.ts';
import { PollTimes } from './poll-times.ts';
import { Rechecks } from './rechecks.ts';
import { DOOMED, undecided, type Evaluation } from './evaluation.ts';
import type { Quotas } from './quotas.ts';
import {
  comparable,
  identityFor,
  type ObjectChange,
  projectChild,
  projectPrimary,
  type ChildProjection,
  type PrimaryProjection,
  type Projection,
} from './known-objects.ts';
import { ReferenceIndex } from './references.ts';
import type { Joined, WatchedObjects, Watches } from './watches.ts';

export interface ResourcesOptions {
  readonly controller: Controller;
  readonly client: KubernetesClient;
  /** Of the whole process. */
  readonly watches: Watches;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  readonly log: Logger;
  /** Default: not observed. */
  readonly telemetry?: Pick<Telemetry, 'watch'> | undefined;
  readonly namespaces: NamespaceStates;
  readonly quotas: Pick<Quotas, 'in'>;
  /** Called for each resource that changed, or whose child did; only once all of them are known. */
  readonly onChange: (evaluation: Evaluation) => void;
  /** Called for each resource whose poll is due, with a reason for people. */
  readonly onPoll: (ref: ResourceRef, because: string) => void;
  /** Called for each resource that is gone. */
  readonly onGone: (ref: ResourceRef) => void;
}

/** As far as is known. */
export interface NamespaceStates {
  isTerminating(namespace: string): boolean;
  isPaused(namespace: string): boolean | undefined;
}

interface Projecting<P extends Projection> {
  readonly project: (object: KubernetesObject) => P | undefined;
  readonly onChange: (change: ObjectChange<P>) => void;
}

/**
 * A child that is deleted is often the first sign that its resource is, too: the watch of the resource is given time
 * to say so, since what is created again would be refused.
 */
const SETTLE_MS = 200;
const EVALUATE_EVERY_MS = 50;

/**
 * The projections of one controller's resources in one namespace, or in all, and of their children, kept up to date by
 * watches.
 */
export class Resources {
  readonly controller: Controller;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  readonly #options: ResourcesOptions;
  /** Of the resources, of each of their children, and of what they refer to. */
  readonly #watches: readonly Joined[];
  readonly #reflectors: readonly Joined['watch'][];
  /** By the key of the resource. */
  readonly #primaries = new Map<string, PrimaryProjection>();
  readonly #children = new ChildrenByOwner();
  readonly #references: ReferenceIndex;
  /** The keys of resources whose children changed since they were last evaluated. */
  readonly #changed = new Set<string>();
  #lastEvaluationMs = -Infinity;
  readonly #rechecks = new Rechecks((key) => this.#evaluateSoon(key));
  readonly #pollTimes = new PollTimes((key, interval) => {
    const primary = this.hasSynced() ? this.#primaries.get(key) : undefined;
    if (primary !== undefined) this.#options.onPoll(this.#refOf(primary), `checked every ${interval}`);
  });

  constructor(options: ResourcesOptions) {
    this.controller = options.controller;
    this.namespace = options.namespace;
    this.#options = options;
    const { primary, children, references = [] } = options.controller;
    this.#references = new ReferenceIndex({
      references,
      namespace: options.namespace,
      watch: (type, audience) => this.#reflect({ type, metadataOnly: true }, audience),
      onChange: (key) => this.#evaluateSoon(key),
    });
    this.#watches = [
      this.#reflect(primary, {
        project: (object) => projectPrimary(primary, object, options.controller.finalizer),
        onChange: (change) => this.#primaryChanged(change),
      }),
      ...children.map((child, index) =>
        this.#reflect(child, {
          project: (object) => projectChild(child, object),
          onChange: (change) => this.#childChanged(index, change),
        }),
      ),
      ...this.#references.watches,
    ];
    this.#reflectors = this.#watches.map(({ watch }) => watch);
  }

  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
    for (const { watch, isOptional } of this.#watches) if (isOptional) void this.#evaluateOnArrival(watch);
  }

  /** An API that was missing at first: what is declared of it can be created now. */
  async #evaluateOnArrival(watch: Joined['watch']): Promise<void> {
    await watch.answered;
    if (!watch.isMissing) return;
    await watch.synced;
    for (const key of this.#primaries.keys()) this.#evaluateSoon(key);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
    // The last, since what is still seen may set a timer.
    this.#rechecks.stop();
    this.#pollTimes.stop();
  }

  /** Resolves when every list is complete: a decision is worth something only from then on. */
  async synced(): Promise<void> {
    await Promise.all(
      this.#watches.map(({ watch, isOptional }) => (isOptional ? watch.answered : watch.synced)),
    );
  }

  hasSynced(): boolean {
    return this.#watches.every((joined) => joined.watch.hasSynced() || isAbsent(joined));
  }

  /** Whether a list is still to come, of a type whose CRD is there. */
  get isListing(): boolean {
    return this.#reflectors.some((reflector) => !reflector.hasSynced() && !reflector.isApiMissing);
  }

  /** What keeps the watches from working, one sentence each; that a CRD was never there is no problem. */
  get problems(): string[] {
    return this.#watches.flatMap((joined) => {
      const { problem, isApiMissing } = joined.watch;
      return problem === undefined || isApiMissing || isAbsent(joined) ? [] : [problem];
    });
  }

  /** How the watches are, for whoever observes. */
  get watchStates(): WatchState[] {
    return this.#watches.map(({ type, watch, items }) => ({
      controller: this.controller.name,
      resource: typeNameOf(type),
      silenceSeconds: watch.silenceSeconds,
      known: items.size,
    }));
  }

  /** When the deletion began that has waited longest for our finalizer, in milliseconds since the epoch. */
  get oldestDeletionMs(): number | undefined {
    let oldest: number | undefined;
    for (const { deletedAtMs } of this.#primaries.values())
      if (deletedAtMs !== undefined && !(deletedAtMs > (oldest ?? Infinity))) oldest = deletedAtMs;
    return oldest;
  }

  *all(): Iterable<Evaluation> {
    for (const primary of this.#primaries.values()) yield this.#evaluate(primary);
  }

  /** The resources of a namespace have changed, since the namespace has. */
  evaluateIn(namespace: string): void {
    if (!this.hasSynced()) return;
    for (const primary of this.#primaries.values()) {
      if (this.#namespaceOf(this.#refOf(primary)) === namespace)
        this.#options.onChange(this.#evaluate(primary));
    }
  }

  /** The resource as it is now, or undefined where it is gone, or is another one of the same name. */
  find(ref: ResourceRef): Evaluation | undefined {
    const primary = this.#primaries.get(this.#keyOf(ref));
    return primary?.uid === ref.uid ? this.#evaluate(primary) : undefined;
  }

  /** The same, whichever UID it has. Undefined also where not all lists are complete. */
  named(place: Omit<ResourceRef, 'uid'>): Evaluation | undefined {
    const primary = this.hasSynced() ? this.#primaries.get(this.#keyOf(place)) : undefined;
    return primary && this.#evaluate(primary);
  }

  /** What `decide` is asked of the resource now; undefined where it is gone, or until all pages of a list are here. */
  observation(ref: ResourceRef): unknown {
    if (!this.#watches.every((joined) => joined.watch.isComplete || isAbsent(joined))) return undefined;
    const primary = this.#primaries.get(this.#keyOf(ref));
    return primary?.uid === ref.uid ? this.#observation(primary) : undefined;
  }

  #reflect<P extends Projection>(watched: WatchedObjects, { project, onChange }: Projecting<P>): Joined<P> {
    const { client, watches, namespace, log, telemetry = SILENT } = this.#options;
    const resource = typeNameOf(watched.type);
    const observer = telemetry.watch({ controller: this.controller.name, resource });
    return watches.join({ client, log, watched, namespace }, { log, project, onChange, observer });
  }

  #primaryChanged({ type, object }: ObjectChange<PrimaryProjection>): void {
    if (type === 'deleted') {
      this.#primaries.delete(object.key);
      this.#rechecks.forget(object.key);
      this.#pollTimes.forget(object.key);
      this.#references.forget(object.key);
    } else {
      const isNew = this.#primaries.get(object.key)?.uid !== object.uid;
      this.#primaries.set(object.key, object);
      this.#references.seen(object.key, object.view);
      const control = this.#controlOf(object);
      this.#rechecks.seen(object.key, control, { isNew });
      this.#pollTimes.seen(object.key, object.uid, control?.pollInterval);
    }
    if (!this.hasSynced()) return;
    if (type === 'deleted') this.#options.onGone(this.#refOf(object));
    else this.#options.onChange(this.#evaluate(object));
  }

  #childChanged(index: number, change: ObjectChange<ChildProjection>): void {
    const { object } = change;
    if (change.type === 'deleted') {
      this.#children.forget(index, object);
      setTimeout(() => this.#evaluateSoon(object.ownerKey), SETTLE_MS).unref();
      return;
    }
    if (change.before !== undefined && change.before.ownerKey !== object.ownerKey) {
      this.#children.forget(index, change.before);
      this.#evaluateSoon(change.before.ownerKey);
    }
    this.#children.keep(index, object);
    this.#evaluateSoon(object.ownerKey);
  }

  /** A run has ended and left the resource as it was, as far as the watch shows: it may be gone. */
  contradicted(ref: ResourceRef): void {
    const [primary] = this.#watches;
    const shown = this.#primaries.get(this.#keyOf(ref));
    if (shown?.uid === ref.uid) primary?.watch.isGone(shown);
  }

  /** @param ledUntilMs when another process that led was last heard of; -Infinity: none did */
  lead(ledUntilMs: number): void {
    this.#rechecks.lead(ledUntilMs);
    this.#pollTimes.lead();
  }

  /** A poll has found that a run is to look. */
  ask(ref: ResourceRef, because: string): void {
    const key = this.#keyOf(ref);
    if (this.#primaries.get(key)?.uid !== ref.uid) return;
    this.#rechecks.ask(key, because);
    this.#evaluateSoon(key);
  }

  /** A run was started or signalled because of this view. */
  requested({ ref, look }: Evaluation): void {
    const key = this.#keyOf(ref);
    if (look === undefined || this.#rechecks.due(key) === undefined) return;
    this.#rechecks.done(key, look);
    this.#evaluateSoon(key);
  }

  /** At once, but where many children change, at most so often: each evaluation is of all of a resource's children. */
  #evaluateSoon(key: string): void {
    if (!this.hasSynced()) return;
    const isPlanned = this.#changed.size > 0;
    this.#changed.add(key);
    if (isPlanned) return;
    const waitMs = this.#lastEvaluationMs + EVALUATE_EVERY_MS - performance.now();
    if (waitMs > 0) setTimeout(() => this.#evaluateChanged(), waitMs).unref();
    else setImmediate(() => this.#evaluateChanged());
  }

  #evaluateChanged(): void {
    const keys = [...this.#changed];
    this.#changed.clear();
    this.#lastEvaluationMs = performance.now();
    for (const key of keys) {
      const primary = this.#primaries.get(key);
      if (primary !== undefined) this.#options.onChange(this.#evaluate(primary));
    }
  }

  #evaluate(primary: PrimaryProjection): Evaluation {
    const ref = this.#refOf(primary);
    const { resourceVersion } = primary;
    try {
      const { controller } = this;
      const observation = this.#observation(primary);
      const { namespaces, quotas } = this.#options;
      const namespace = this.#namespaceOf(ref);
      const isNamespacePaused = (namespace !== undefined && namespaces.isPaused(namespace)) ?? false;
      const look = this.#rechecks.count(primary.key);
      const inputs = [
        primary.inputs,
        ...(controller.inputs?.(observation) ?? []),
        ...(isNamespacePaused ? ['its Namespace is paused'] : []),
        namespace === undefined ? '' : quotas.in(namespace),
        ...(look > 0 ? [`look ${look}`] : []),
      ]
        .filter((text) => text !== '')
        .join('; ');
      const decision = this.#isDoomed(ref)
        ? DOOMED
        : this.#withLook(
            primary.key,
            controller.decide(observation, Date.now(), { isLive: false, isNamespacePaused }),
          );
      this.#rechecks.decided(primary.key, decision);
      return {
        ref,
        decision,
        inputs: comparable(inputs),
        resourceVersion,
        observation,
        ...(look > 0 && { look }),
      };
    } catch (error) {
      this.#options.log.error(
        { ...ref, err: error },
        'the controller failed to decide; its run shows the error',
      );
      return {
        ref,
        decision: undecided(error),
        inputs: primary.inputs,
        resourceVersion,
        observation: undefined,
      };
    }
  }

  /** A run that is open is signalled because of the inputs; where none is, the look calls for one. */
  #withLook(key: string, decision: NextStep): NextStep {
    const because = isConverged(decision) ? this.#rechecks.due(key) : undefined;
    return because === undefined ? decision : { do: 'observe', because };
  }

  /** A mistake in a controller shows when the resource is evaluated. */
  #controlOf(primary: PrimaryProjection): Control | undefined {
    try {
      return this.controller.control?.(
        this.controller.observation(primary.view, [], identityFor(this.controller, primary)),
      );
    } catch {
      return undefined;
    }
  }

  #observation(primary: PrimaryProjection): unknown {
    const { key, view } = primary;
    const missing = this.#watches.filter(isAbsent).map(({ type }) => type);
    const identity = {
      ...identityFor(this.controller, primary),
      referred: this.#references.stateFor(key),
      ...(missing.length > 0 && { missing }),
    };
    return this.controller.observation(view, this.#children.viewsOf(key), identity);
  }

  #isDoomed(ref: ResourceRef): boolean {
    const { endsWithNamespace = false } = this.controller;
    return endsWithNamespace && this.#options.namespaces.isTerminating(this.#namespaceOf(ref) ?? '');
  }

  #namespaceOf(ref: ResourceRef): string | undefined {
    return namespaceOf(ref, this.controller.primary.type);
  }

  /** The reference to a cluster-scoped resource repeats its name, since a Namespace is in itself. */
  #refOf({ key, uid }: Projection): ResourceRef {
    const [namespace = key, name = namespace] = key.split('/');
    return { controller: this.controller.name, namespace, name, uid };
  }

  #keyOf({ namespace, name }: Omit<ResourceRef, 'uid'>): string {
    return this.controller.primary.type.namespaced ? `${namespace}/${name}` : name;
  }
}

function isAbsent({ watch, isOptional }: Joined): boolean {
  return isOptional && watch.isMissing;
}
