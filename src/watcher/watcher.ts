import type { Controller } from '../contract/controller.ts';
import type { Logger } from '../contract/logger.ts';
import type { ResourceRef } from '../contract/resource.ts';
import type { Telemetry, WatcherState } from '../contract/telemetry.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { Dispatcher } from './dispatcher.ts';
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
  /** Default: nobody observes. */
  readonly telemetry?: Telemetry;
}

const SWEEP_FIRST_MS = 3_000;
const SWEEP_MOST_MS = 30_000;

/** Watches the resources of all controllers and, while it leads, sees to it that each has the run that it needs. */
export class Watcher {
  readonly #options: WatcherOptions;
  readonly #resources: ReadonlyMap<string, Resources>;
  /** Of this term alone: who leads anew knows of the runs no more than who has just been started. */
  #dispatcher: Dispatcher | undefined;
  #sweepTimer: NodeJS.Timeout | undefined;
  #sweepAfterMs = SWEEP_FIRST_MS;
  #resyncTimer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#resources = new Map(
      options.controllers.map((controller) => [controller.name, this.#resourcesOf(controller)]),
    );
  }

  /** Begins to watch; nothing is started or told before it leads. */
  start(): void {
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
    await this.standBy();
  }

  /** A run that this process worked on has most likely ended: what its resource needs now, it needs anew. */
  runEnded(ref: ResourceRef): void {
    this.#dispatcher?.runEnded(ref);
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
        .map((one) => `${one.controller.name}: first list not complete`),
      ...all.flatMap((one) => one.problems),
      ...(this.#dispatcher?.problem === undefined ? [] : [this.#dispatcher.problem]),
    ];
  }

  /** For whoever observes. */
  get state(): WatcherState {
    return {
      watches: [...this.#resources.values()].flatMap(({ watchStates }) => watchStates),
      runs: this.#dispatcher?.runs ?? [],
      isTemporalUnavailable: this.#dispatcher?.problem !== undefined,
    };
  }

  #dispatcherFor(isLeading: () => boolean): Dispatcher {
    const { runs, log, concurrency, resyncMs, telemetry } = this.#options;
    return new Dispatcher({
      runs: whileLeading(runs, isLeading),
      log,
      concurrency,
      resyncMs,
      telemetry,
      known: {
        controller: (name) => this.#resources.get(name)?.controller,
        find: (ref) => this.#resources.get(ref.controller)?.find(ref),
        covers: (ref) =>
          (this.#resources.get(ref.controller)?.hasSynced() ?? false) && this.#isInScope(ref.namespace),
      },
    });
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
      isNamespaceGoing: (namespace) =>
        [...this.#resources.values()].some((resources) => resources.isNamespaceGoing(namespace)),
      onChange: (evaluation) => {
        this.#dispatcher?.changed(evaluation);
        if (evaluation.verdict.needsWork) this.#sweepSoon();
      },
      onGone: (ref) => this.#dispatcher?.gone(ref),
    });
  }

  #knows(resources: Resources): void {
    if (this.#stopped) return;
    const { name } = resources.controller;
    this.#options.log.info({ controller: name }, 'all resources are known; watching');
    this.#firstLook(resources);
  }

  #firstLook(resources: Resources): void {
    for (const evaluation of resources.all()) this.#dispatcher?.changed(evaluation);
    // Also where nothing needs work: runs may be open whose resources vanished while nobody watched.
    this.#sweepAfterMs = SWEEP_FIRST_MS;
    this.#scheduleSweep();
  }

  #resync(): void {
    const dispatcher = this.#dispatcher;
    if (dispatcher === undefined) return;
    for (const resources of this.#resources.values()) {
      if (!resources.hasSynced()) continue;
      for (const evaluation of resources.all()) {
        if (evaluation.verdict.needsWork) dispatcher.changed(evaluation);
      }
    }
    if (dispatcher.pendingCount > 0) void this.#sweep(dispatcher, true);
  }

  #sweepSoon(): void {
    this.#sweepAfterMs = SWEEP_FIRST_MS;
    if (this.#sweepTimer === undefined) this.#scheduleSweep();
  }

  #scheduleSweep(): void {
    clearTimeout(this.#sweepTimer);
    const dispatcher = this.#dispatcher;
    if (dispatcher === undefined) return;
    this.#sweepTimer = setTimeout(() => {
      this.#sweepTimer = undefined;
      void this.#sweepWhenQuiet(dispatcher);
    }, this.#sweepAfterMs);
  }

  async #sweepWhenQuiet(dispatcher: Dispatcher): Promise<void> {
    if (!dispatcher.isBusy) {
      await this.#sweep(dispatcher, false);
      this.#sweepAfterMs = Math.min(this.#sweepAfterMs * 2, SWEEP_MOST_MS);
      if (!dispatcher.hasUnknown) return;
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
