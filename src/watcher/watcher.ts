import type { Controller } from '../contract/controller.ts';
import type { Logger } from '../contract/logger.ts';
import type { ResourceRef } from '../contract/resource.ts';
import type { Telemetry, WatcherState, WatchState } from '../contract/telemetry.ts';
import { withPool, type KubernetesClient } from '../kubernetes/client.ts';
import { Dispatcher } from './dispatcher.ts';
import { isNeeded } from './evaluation.ts';
import { Namespaces } from './namespaces.ts';
import { Quotas } from './quotas.ts';
import { Resources } from './resources.ts';
import { RunsUnavailable, whileLeading, type Runs } from './runs.ts';

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
  /** Called with the view of a resource before its run is started or signalled. */
  readonly onRequest?: (workflowId: string, observation: unknown) => void;
}

const SWEEP_FIRST_MS = 3_000;
const SWEEP_MOST_MS = 30_000;

/** Watches the resources of all controllers and, while it leads, sees to it that each has the run that it needs. */
export class Watcher {
  readonly #options: WatcherOptions;
  /** One for each controller, or for each controller and namespace: where one cannot be watched, the others are. */
  readonly #resources: readonly Resources[];
  readonly #namespaces: Namespaces;
  readonly #quotas: Quotas;
  /** Of the current term only: a process that leads again knows no more about the runs than one that has just started. */
  #dispatcher: Dispatcher | undefined;
  #sweepTimer: NodeJS.Timeout | undefined;
  #sweepAfterMs = SWEEP_FIRST_MS;
  /** On the clock of `performance.now()`, as the next one. */
  #lastSweepMs = 0;
  #nextSweepMs = 0;
  /** Until then it lists the open runs again although it knows of none. */
  #listUntilMs = 0;
  #resyncTimer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#namespaces = this.#namespacesOf(options);
    this.#quotas = this.#quotasOf(options);
    const scopes = options.namespaces.length === 0 ? [undefined] : options.namespaces;
    this.#resources = options.controllers.flatMap((controller) =>
      scopes.map((namespace) => this.#resourcesOf(controller, namespace)),
    );
  }

  /** Begins to watch; nothing is started or signalled before it leads. */
  start(): void {
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
   */
  lead(isLeading: () => boolean): void {
    if (this.#stopped) return;
    this.#dispatcher = this.#dispatcherFor(isLeading);
    for (const resources of this.#resources) {
      if (resources.hasSynced()) this.#firstLook(resources);
    }
  }

  /** Goes on watching, and acts no more; resolves when no start or signal is under way. */
  async standBy(): Promise<void> {
    clearTimeout(this.#sweepTimer);
    this.#sweepTimer = undefined;
    const dispatcher = this.#dispatcher;
    this.#dispatcher = undefined;
    await dispatcher?.stop();
  }

  /** Stops to watch, and resolves when no start or signal is under way any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#resyncTimer);
    await Promise.all(this.#resources.map((resources) => resources.stop()));
    await Promise.all([this.#namespaces.stop(), this.#quotas.stop()]);
    await this.standBy();
  }

  /** A run that this process worked on has most likely ended: if its resource still needs a run, it gets a new one. */
  runEnded(ref: ResourceRef): void {
    this.#dispatcher?.runEnded(ref);
  }

  /** What is known of a resource, as its controller decides on it; undefined where it is gone, or not watched. */
  observation(ref: ResourceRef): unknown {
    return this.#covering(ref)?.observation(ref);
  }

  /** As far as is known: undefined where it is not watched, or not listed yet. */
  isNamespacePaused(namespace: string): boolean | undefined {
    return this.#namespaces.isPaused(namespace);
  }

  /** Resolves when the lists of all controllers are complete. */
  async synced(): Promise<void> {
    await Promise.all(this.#resources.map((resources) => resources.synced()));
  }

  /**
   * What keeps the watcher from doing its work, one sentence each. A CRD that is not there is none: who does
   * not use a controller need not install it.
   */
  get problems(): string[] {
    const all = this.#resources.filter(({ isApiMissing }) => !isApiMissing);
    return [
      ...all
        .filter((one) => !one.hasSynced())
        .map((one) => `${nameOf(one)}: the initial list is not complete yet`),
      ...all.flatMap((one) => one.problems),
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
      isTemporalUnavailable: this.#dispatcher?.problem !== undefined,
    };
  }

  #dispatcherFor(isLeading: () => boolean): Dispatcher {
    const { runs, log, concurrency, resyncMs, telemetry, onRequest } = this.#options;
    return new Dispatcher({
      runs: whileLeading(runs, isLeading),
      log,
      concurrency,
      resyncMs,
      telemetry,
      onRequest,
      onRequested: (view) => this.#covering(view.ref)?.requested(view),
      known: {
        controller: (name) => this.#options.controllers.find((controller) => controller.name === name),
        find: (ref) => this.#covering(ref)?.find(ref),
        covers: (ref) => this.#covering(ref)?.hasSynced() ?? false,
      },
    });
  }

  #namespacesOf({ client, namespaces, resyncMs, log, telemetry }: WatcherOptions): Namespaces {
    const onChange = (namespace: string) => this.#evaluateIn(namespace);
    return new Namespaces({ client, namespaces, resyncMs, log, telemetry, onChange });
  }

  #quotasOf({ client, namespaces, log, telemetry }: WatcherOptions): Quotas {
    const onChange = (namespace: string) => this.#evaluateIn(namespace);
    return new Quotas({ client, namespaces, log, telemetry, onChange });
  }

  #evaluateIn(namespace: string): void {
    for (const { name: controller } of this.#options.controllers)
      this.#covering({ controller, namespace })?.evaluateIn(namespace);
  }

  #resourcesOf(controller: Controller, namespace: string | undefined): Resources {
    const { client, resyncMs, log, telemetry } = this.#options;
    return new Resources({
      controller,
      client: withPool(client, controller.name),
      namespace,
      resyncMs,
      log: log.child({ controller: controller.name }),
      telemetry,
      namespaces: this.#namespaces,
      quotas: this.#quotas,
      onChange: (evaluation) => {
        this.#dispatcher?.changed(evaluation);
        if (isNeeded(evaluation)) this.#sweepSoon();
      },
      onGone: (ref) => this.#dispatcher?.gone(ref),
    });
  }

  #knows(resources: Resources): void {
    if (this.#stopped) return;
    const { controller, namespace } = resources;
    const where = namespace === undefined ? {} : { namespace };
    this.#options.log.info({ controller: controller.name, ...where }, 'the cache is synced; watching');
    this.#firstLook(resources);
  }

  #firstLook(resources: Resources): void {
    for (const evaluation of resources.all()) this.#dispatcher?.firstSeen(evaluation);
    // Also where nothing needs work: runs may be open whose resources vanished while nobody watched.
    this.#sweepAfterMs = SWEEP_FIRST_MS;
    this.#lastSweepMs = performance.now();
    // And once more, for what a process that led before has started at the last moment.
    this.#listUntilMs = performance.now() + SWEEP_MOST_MS;
    this.#scheduleSweep();
  }

  #resync(): void {
    const dispatcher = this.#dispatcher;
    if (dispatcher === undefined) return;
    for (const resources of this.#resources) {
      if (!resources.hasSynced()) continue;
      for (const evaluation of resources.all()) dispatcher.resynced(evaluation);
    }
    if (dispatcher.pendingCount > 0) void this.#sweep(dispatcher, true);
  }

  #sweepSoon(): void {
    this.#sweepAfterMs = SWEEP_FIRST_MS;
    const isFarOff = this.#nextSweepMs - performance.now() > SWEEP_FIRST_MS;
    if (this.#sweepTimer === undefined || isFarOff) this.#scheduleSweep();
  }

  #scheduleSweep(): void {
    clearTimeout(this.#sweepTimer);
    const dispatcher = this.#dispatcher;
    if (dispatcher === undefined) return;
    this.#nextSweepMs = performance.now() + this.#sweepAfterMs;
    this.#sweepTimer = setTimeout(() => {
      this.#sweepTimer = undefined;
      void this.#sweepWhenQuiet(dispatcher);
    }, this.#sweepAfterMs);
  }

  /** While runs are started a look would soon be out of date; yet one that was terminated by hand must not wait for long. */
  async #sweepWhenQuiet(dispatcher: Dispatcher): Promise<void> {
    const isOverdue = performance.now() - this.#lastSweepMs >= SWEEP_MOST_MS;
    if (!dispatcher.isBusy || isOverdue) {
      await this.#sweep(dispatcher, false);
      this.#lastSweepMs = performance.now();
      this.#sweepAfterMs = dispatcher.hasUnknown
        ? Math.min(this.#sweepAfterMs * 2, SWEEP_MOST_MS)
        : SWEEP_MOST_MS;
      if (dispatcher.pendingCount === 0 && performance.now() >= this.#listUntilMs) return;
    }
    if (this.#sweepTimer === undefined) this.#scheduleSweep();
  }

  async #sweep(dispatcher: Dispatcher, again: boolean): Promise<void> {
    try {
      await dispatcher.sweep(again);
    } catch (error) {
      const why =
        error instanceof RunsUnavailable ? 'Temporal cannot be reached' : 'the open runs cannot be listed';
      this.#options.log.warn({ err: error }, why);
    }
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
