/*
 * From changes to runs. In: lists and watches of all that the controllers look at, and the runs that are open in Temporal. Out: starts and
 * signals of runs, each with a reason. It keeps views, not objects, asks the controllers' pure `decide`, and writes nothing to the
 * cluster but the Lease of its election.
 */

import { isNamespaceType } from '../api/resource-type.ts';
import { type Controller } from '../engine/controller.ts';
import type { Logger } from '../api/logger.ts';
import type { ResourceRef } from '../api/resource-ref.ts';
import type { Telemetry, WatcherState, WatchState } from '../runs/telemetry.ts';
import { withPool, type KubernetesClient } from '../kubernetes/client.ts';
import { comparing } from './comparing.ts';
import { Dispatcher } from './dispatcher.ts';
import { isNeeded, type Evaluation } from './evaluation.ts';
import { Polls, type PollReader } from './polls.ts';
import { Namespaces } from './namespaces.ts';
import { Quotas } from './quotas.ts';
import { Resources } from './resources.ts';
import type { Runs } from './runs.ts';
import { Sweeps } from './sweeps.ts';
import { Watches } from './watches.ts';

export interface WatcherOptions {
  readonly controllers: readonly Controller[];
  readonly client: KubernetesClient;
  readonly runs: Runs;
  /** None: all namespaces. */
  readonly namespaces: readonly string[];
  readonly resyncMs: number;
  readonly concurrency: number;
  readonly log: Logger;
  /** Default: not observed. */
  readonly telemetry?: Telemetry;
  /** Reads resources whose polls are due. Default: runs do. */
  readonly pollReader?: PollReader;
  /** Called with the view of a resource before its run is started or signalled. */
  readonly onRequest?: (workflowId: string, observation: unknown) => void;
}

/** Watches the resources of all controllers and, while it leads, sees to it that each has the run that it needs. */
export class Watcher {
  readonly #options: WatcherOptions;
  /** One for each controller, or for each controller and namespace: where one cannot be watched, the others are. */
  readonly #resources: readonly Resources[];
  readonly #watches = new Watches();
  readonly #namespaces: Namespaces;
  readonly #quotas: Quotas;
  /** Of the current term only: a process that leads again knows no more about the runs than one that has just started. */
  #dispatcher: Dispatcher | undefined;
  #sweeps: Sweeps | undefined;
  /** By controller, of the current term. */
  #polls: ReadonlyMap<string, Polls> = new Map();
  /** What was done in earlier terms is not in progress any more. */
  #stoodBy: Promise<void> = Promise.resolve();
  #resyncTimer: NodeJS.Timeout | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: WatcherOptions) {
    this.#options = options;
    const { client, namespaces, log, telemetry } = options;
    const onChange = (namespace: string) => this.#evaluateIn(namespace);
    this.#namespaces = new Namespaces({ client, namespaces, log, telemetry, onChange });
    this.#quotas = new Quotas({ client, namespaces, log, telemetry, onChange });
    this.#resources = options.controllers.flatMap((controller) => {
      const { type } = controller.primary;
      const isEverywhere = namespaces.length === 0 || !(type.namespaced || isNamespaceType(type));
      const scopes = isEverywhere ? [undefined] : namespaces;
      return scopes.map((namespace) => this.#resourcesOf(controller, namespace));
    });
  }

  /** Begins to watch; nothing is started or signalled before it leads. */
  start(): void {
    if (this.#stopped !== undefined || this.#resyncTimer !== undefined) return;
    this.#namespaces.start();
    this.#quotas.start();
    for (const resources of this.#resources) {
      resources.start();
      void resources.synced().then(() => this.#knows(resources));
    }
    this.#resyncTimer = setInterval(() => this.#resync(), this.#options.resyncMs);
  }

  /**
   * Looks at all that is known, and acts from now on; a controller begins to when its own lists are complete.
   *
   * @param isLeading asked before each start and signal
   * @param ledUntilMs when another process that led was last heard of, by `performance.now()`; default: none did
   */
  lead(isLeading: () => boolean, ledUntilMs = -Infinity): void {
    if (this.#stopped !== undefined) return;
    for (const resources of this.#resources) resources.lead(ledUntilMs);
    this.#dispatcher = this.#dispatcherFor(isLeading);
    this.#sweeps = new Sweeps(this.#dispatcher, this.#options.log);
    this.#polls = new Map(this.#options.controllers.map(({ name }) => [name, this.#pollsOfTerm()]));
    for (const resources of this.#resources) {
      if (resources.hasSynced()) this.#firstLook(resources);
    }
  }

  /** Goes on watching, and acts no more; resolves when no start or signal is in progress. */
  standBy(): Promise<void> {
    this.#sweeps?.stop();
    const stopped = Promise.all([
      this.#dispatcher?.stop(),
      ...[...this.#polls.values()].map((polls) => polls.stop()),
    ]);
    this.#dispatcher = undefined;
    this.#polls = new Map();
    this.#stoodBy = this.#stoodBy.then(async () => {
      await stopped;
    });
    return this.#stoodBy;
  }

  /** Stops to watch, and resolves when no start or signal is in progress any more. Safe to repeat. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    clearInterval(this.#resyncTimer);
    await Promise.all(this.#resources.map((resources) => resources.stop()));
    await Promise.all([this.#namespaces.stop(), this.#quotas.stop()]);
    await this.standBy();
  }

  /** A run that this process worked on has most likely ended: if its resource still needs a run, it gets a new one. */
  runEnded(ref: ResourceRef): void {
    this.#dispatcher?.runEnded(ref);
  }

  /** What is known of a resource, as its controller decides on it; undefined where it is gone, or not all is known. */
  observation(ref: ResourceRef): unknown {
    return this.#covering(ref)?.observation(ref);
  }

  /** A resource of this name as it is now. Undefined where there is none, or not all is known. */
  named(place: Omit<ResourceRef, 'uid'>): Evaluation | undefined {
    return this.#covering(place)?.named(place);
  }

  /** For the steps: what they read may show that the API server has gone back in time. */
  comparing(client: KubernetesClient): KubernetesClient {
    return comparing(client, this.#watches);
  }

  /** As the watch shows it: undefined where there is none, or where it has not listed them yet. */
  isNamespacePaused(namespace: string): boolean | undefined {
    return this.#namespaces.isPausedByWatch(namespace);
  }

  /** Resolves when the lists of all controllers are complete. */
  async synced(): Promise<void> {
    await Promise.all(this.#resources.map((resources) => resources.synced()));
  }

  /**
   * What keeps the watcher from doing its work, one sentence each. A CRD that was never there is none: who does
   * not use a controller need not install it.
   */
  get problems(): string[] {
    return [
      ...this.#resources
        .filter(({ isListing }) => isListing)
        .map((one) => `${nameOf(one)}: the initial list is not complete yet`),
      ...new Set(this.#resources.flatMap(({ problems }) => problems)),
      ...this.#namespaces.problems,
      ...(this.#dispatcher?.problem === undefined ? [] : [this.#dispatcher.problem]),
    ];
  }

  /** For whoever observes. */
  get state(): WatcherState {
    return {
      watches: addedUp([
        ...this.#resources.flatMap(({ watchStates }) => watchStates),
        ...this.#namespaces.watchStates,
        ...this.#quotas.watchStates,
      ]),
      runs: this.#dispatcher?.runs ?? [],
      oldestRequests: this.#dispatcher?.oldestRequests ?? [],
      oldestDeletions: this.#resources.flatMap(({ controller, oldestDeletionMs: sinceMs }) => {
        if (sinceMs === undefined) return [];
        return [{ controller: controller.name, seconds: Math.max(0, (Date.now() - sinceMs) / 1_000) }];
      }),
      isTemporalUnavailable: this.#dispatcher?.problem !== undefined,
    };
  }

  #dispatcherFor(isLeading: () => boolean): Dispatcher {
    const { runs, log, concurrency, resyncMs, telemetry, onRequest } = this.#options;
    return new Dispatcher({
      runs,
      isLeading,
      log,
      concurrency,
      resyncMs,
      telemetry,
      onRequest,
      onWithoutEffect: (ref) => this.#covering(ref)?.contradicted(ref),
      onRequested: (view) => {
        this.#covering(view.ref)?.requested(view);
        this.#polls.get(view.ref.controller)?.requested(view.ref);
      },
      known: {
        controller: (name) => this.#options.controllers.find((controller) => controller.name === name),
        find: (ref) => this.#covering(ref)?.find(ref),
        covers: (ref) => this.#covering(ref)?.hasSynced() ?? false,
      },
    });
  }

  #pollsOfTerm(): Polls {
    return new Polls({
      reader: this.#options.pollReader,
      log: this.#options.log,
      find: (ref) => this.#covering(ref)?.find(ref),
      onNeeded: (ref, because) => this.#covering(ref)?.ask(ref, because),
    });
  }

  #evaluateIn(namespace: string): void {
    for (const { name: controller } of this.#options.controllers)
      this.#covering({ controller, namespace })?.evaluateIn(namespace);
  }

  #resourcesOf(controller: Controller, namespace: string | undefined): Resources {
    const { client, log, telemetry } = this.#options;
    return new Resources({
      controller,
      client: withPool(client, controller.name),
      watches: this.#watches,
      namespace,
      log: log.child({ controller: controller.name }),
      telemetry,
      namespaces: this.#namespaces,
      quotas: this.#quotas,
      onChange: (evaluation) => {
        this.#dispatcher?.changed(evaluation);
        if (isNeeded(evaluation)) this.#sweeps?.soon();
      },
      onPoll: (ref, because) => this.#polls.get(ref.controller)?.due(ref, because),
      onGone: (ref) => {
        this.#dispatcher?.gone(ref);
        this.#polls.get(ref.controller)?.requested(ref);
      },
    });
  }

  #knows(resources: Resources): void {
    if (this.#stopped !== undefined) return;
    const { controller, namespace } = resources;
    const where = namespace === undefined ? {} : { namespace };
    this.#options.log.info({ controller: controller.name, ...where }, 'the cache is synced; watching');
    this.#firstLook(resources);
  }

  #firstLook(resources: Resources): void {
    for (const evaluation of resources.all()) this.#dispatcher?.firstSeen(evaluation);
    this.#sweeps?.begin();
  }

  #resync(): void {
    const dispatcher = this.#dispatcher;
    if (dispatcher === undefined) return;
    for (const resources of this.#resources) {
      if (!resources.hasSynced()) continue;
      for (const evaluation of resources.all()) dispatcher.resynced(evaluation);
    }
    this.#sweeps?.resynced();
  }

  #covering(place: Pick<ResourceRef, 'controller' | 'namespace'>): Resources | undefined {
    return this.#resources.find(
      ({ controller, namespace = place.namespace }) =>
        controller.name === place.controller && namespace === place.namespace,
    );
  }
}

function nameOf({ controller, namespace }: Resources): string {
  return namespace === undefined ? controller.name : `${controller.name} in namespace ${namespace}`;
}

/** Of several namespaces, as of one. */
function addedUp(states: readonly WatchState[]): WatchState[] {
  const sums = new Map<string, WatchState>();
  for (const state of states) {
    const key = `${state.controller} ${state.resource}`;
    const { silenceSeconds = 0, known = 0 } = sums.get(key) ?? {};
    sums.set(key, {
      ...state,
      silenceSeconds: Math.max(silenceSeconds, state.silenceSeconds),
      known: known + state.known,
    });
  }
  return [...sums.values()];
}
