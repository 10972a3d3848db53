import type { Controller } from '../contract/controller.ts';
import type { Logger } from '../contract/logger.ts';
import type { ResourceRef } from '../contract/resource.ts';
import type { Telemetry, WatcherState } from '../contract/telemetry.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { Dispatcher } from './dispatcher.ts';
import { isNeeded } from './evaluation.ts';
import { Namespaces } from './namespaces.ts';
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
  readonly #resources: ReadonlyMap<string, Resources>;
  /** Only where a controller asks for it. */
  readonly #namespaces: Namespaces | undefined;
  /** Of the current term only: a process that leads again knows no more about the runs than one that has just started. */
  #dispatcher: Dispatcher | undefined;
  #sweepTimer: NodeJS.Timeout | undefined;
  #sweepAfterMs = SWEEP_FIRST_MS;
  /** On the clock of `performance.now()`, as the next one. */
  #lastSweepMs = 0;
  #nextSweepMs = 0;
  #resyncTimer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#namespaces = this.#namespacesOf(options);
    this.#resources = new Map(
      options.controllers.map((controller) => [controller.name, this.#resourcesOf(controller)]),
    );
  }

  /** Begins to watch; nothing is started or signalled before it leads. */
  start(): void {
    this.#namespaces?.start();
    for (const resources of this.#resources.values()) {
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
    for (const resources of this.#resources.values()) {
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
    await Promise.all([...this.#resources.values()].map((resources) => resources.stop()));
    await this.#namespaces?.stop();
    await this.standBy();
  }

  /** A run that this process worked on has most likely ended: if its resource still needs a run, it gets a new one. */
  runEnded(ref: ResourceRef): void {
    this.#dispatcher?.runEnded(ref);
  }

  /** What is known of a resource, as its controller decides on it; undefined where it is gone, or not watched. */
  observation(ref: ResourceRef): unknown {
    return this.#resources.get(ref.controller)?.observation(ref);
  }

  /** Resolves when the lists of all controllers are complete. */
  async synced(): Promise<void> {
    await Promise.all([...this.#resources.values()].map((resources) => resources.synced()));
  }

  /**
   * What keeps the watcher from doing its work, one sentence each. A CRD that is not there is none: who does
   * not use a controller need not install it.
   */
  get problems(): string[] {
    const all = [...this.#resources.values()].filter(({ isApiMissing }) => !isApiMissing);
    return [
      ...all
        .filter((one) => !one.hasSynced())
        .map((one) => `${one.controller.name}: the initial list is not complete yet`),
      ...all.flatMap((one) => one.problems),
      ...(this.#namespaces?.problems ?? []),
      ...(this.#dispatcher?.problem === undefined ? [] : [this.#dispatcher.problem]),
    ];
  }

  /** For whoever observes. */
  get state(): WatcherState {
    return {
      watches: [
        ...[...this.#resources.values()].flatMap(({ watchStates }) => watchStates),
        ...(this.#namespaces === undefined ? [] : [this.#namespaces.watchState]),
      ],
      runs: this.#dispatcher?.runs ?? [],
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
      known: {
        controller: (name) => this.#resources.get(name)?.controller,
        find: (ref) => this.#resources.get(ref.controller)?.find(ref),
        covers: (ref) =>
          (this.#resources.get(ref.controller)?.hasSynced() ?? false) && this.#isInScope(ref.namespace),
      },
    });
  }

  #namespacesOf({ controllers, client, namespaces, resyncMs, log, telemetry }: WatcherOptions) {
    const asking = controllers.filter(({ endsWithNamespace }) => endsWithNamespace);
    if (asking.length === 0) return undefined;
    const onTerminating = (namespace: string) => {
      for (const { name } of asking) this.#resources.get(name)?.evaluateIn(namespace);
    };
    return new Namespaces({ client, namespaces, resyncMs, log, telemetry, onTerminating });
  }

  #resourcesOf(controller: Controller): Resources {
    const { client, namespaces, resyncMs, log, telemetry } = this.#options;
    return new Resources({
      controller,
      client,
      namespaces,
      resyncMs,
      log: log.child({ controller: controller.name }),
      telemetry,
      isNamespaceTerminating: (namespace) => this.#namespaces?.isTerminating(namespace) ?? false,
      onChange: (evaluation) => {
        this.#dispatcher?.changed(evaluation);
        if (isNeeded(evaluation)) this.#sweepSoon();
      },
      onGone: (ref) => this.#dispatcher?.gone(ref),
    });
  }

  #knows(resources: Resources): void {
    if (this.#stopped) return;
    const { name } = resources.controller;
    this.#options.log.info({ controller: name }, 'the cache is synced; watching');
    this.#firstLook(resources);
  }

  #firstLook(resources: Resources): void {
    for (const evaluation of resources.all()) this.#dispatcher?.changed(evaluation);
    // Also where nothing needs work: runs may be open whose resources vanished while nobody watched.
    this.#sweepAfterMs = SWEEP_FIRST_MS;
    this.#lastSweepMs = performance.now();
    this.#scheduleSweep();
  }

  #resync(): void {
    const dispatcher = this.#dispatcher;
    if (dispatcher === undefined) return;
    for (const resources of this.#resources.values()) {
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
      if (dispatcher.pendingCount === 0) return;
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

  #isInScope(namespace: string): boolean {
    const { namespaces } = this.#options;
    return namespaces.length === 0 || namespaces.includes(namespace);
  }
}
