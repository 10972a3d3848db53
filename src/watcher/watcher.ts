import type { Controller } from '../contract/controller.ts';
import type { Logger } from '../contract/logger.ts';
import type { ResourceRef } from '../contract/resource.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { Dispatcher } from './dispatcher.ts';
import { Resources } from './resources.ts';
import { RunsUnavailable, type Runs } from './runs.ts';

export interface WatcherOptions {
  readonly controllers: readonly Controller[];
  readonly client: KubernetesClient;
  readonly runs: Runs;
  /** None: all namespaces. */
  readonly namespaces: readonly string[];
  readonly resyncMs: number;
  readonly concurrency: number;
  readonly log: Logger;
}

const SWEEP_FIRST_MS = 3_000;
const SWEEP_MOST_MS = 30_000;

/** Watches the resources of all controllers and sees to it that each has the run that it needs. */
export class Watcher {
  readonly #options: WatcherOptions;
  readonly #dispatcher: Dispatcher;
  readonly #resources: ReadonlyMap<string, Resources>;
  #sweepTimer: NodeJS.Timeout | undefined;
  #sweepAfterMs = SWEEP_FIRST_MS;
  #resyncTimer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: WatcherOptions) {
    this.#options = options;
    const { runs, log, concurrency, resyncMs } = options;
    this.#resources = new Map(
      options.controllers.map((controller) => [controller.name, this.#resourcesOf(controller)]),
    );
    this.#dispatcher = new Dispatcher({
      runs,
      log,
      concurrency,
      resyncMs,
      known: {
        controller: (name) => this.#resources.get(name)?.controller,
        find: (ref) => this.#resources.get(ref.controller)?.find(ref),
        covers: (ref) =>
          (this.#resources.get(ref.controller)?.hasSynced() ?? false) && this.#isInScope(ref.namespace),
      },
    });
  }

  /** Begins to watch; a controller begins to act when its own lists are complete. */
  start(): void {
    for (const resources of this.#resources.values()) {
      resources.start();
      void resources.synced().then(() => this.#firstLook(resources));
    }
    this.#resyncTimer = setInterval(() => this.#resync(), this.#options.resyncMs);
  }

  /** Stops to watch, and resolves when no start or signal is under way any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#resyncTimer);
    clearTimeout(this.#sweepTimer);
    await Promise.all([...this.#resources.values()].map((resources) => resources.stop()));
    await this.#dispatcher.stop();
  }

  /** A run that this process worked on has most likely ended: what its resource needs now, it needs anew. */
  runEnded(ref: ResourceRef): void {
    this.#dispatcher.runEnded(ref);
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
      ...(this.#dispatcher.problem === undefined ? [] : [this.#dispatcher.problem]),
    ];
  }

  #resourcesOf(controller: Controller): Resources {
    const { client, namespaces, resyncMs, log } = this.#options;
    return new Resources({
      controller,
      client,
      namespaces,
      resyncMs,
      log: log.child({ controller: controller.name }),
      isNamespaceGoing: (namespace) =>
        [...this.#resources.values()].some((resources) => resources.isNamespaceGoing(namespace)),
      onChange: (evaluation) => {
        this.#dispatcher.changed(evaluation);
        if (evaluation.verdict.needsWork) this.#sweepSoon();
      },
      onGone: (ref) => this.#dispatcher.gone(ref),
    });
  }

  #firstLook(resources: Resources): void {
    if (this.#stopped) return;
    for (const evaluation of resources.all()) this.#dispatcher.changed(evaluation);
    const { name } = resources.controller;
    this.#options.log.info({ controller: name }, 'all resources are known; watching');
    // Also where nothing needs work: runs may be open whose resources vanished while nobody watched.
    this.#sweepAfterMs = SWEEP_FIRST_MS;
    this.#scheduleSweep();
  }

  #resync(): void {
    for (const resources of this.#resources.values()) {
      if (!resources.hasSynced()) continue;
      for (const evaluation of resources.all()) {
        if (evaluation.verdict.needsWork) this.#dispatcher.changed(evaluation);
      }
    }
    if (this.#dispatcher.pendingCount > 0) void this.#sweep(true);
  }

  #sweepSoon(): void {
    this.#sweepAfterMs = SWEEP_FIRST_MS;
    if (this.#sweepTimer === undefined) this.#scheduleSweep();
  }

  #scheduleSweep(): void {
    clearTimeout(this.#sweepTimer);
    this.#sweepTimer = setTimeout(() => {
      this.#sweepTimer = undefined;
      void this.#sweepWhenQuiet();
    }, this.#sweepAfterMs);
  }

  async #sweepWhenQuiet(): Promise<void> {
    if (this.#stopped) return;
    if (!this.#dispatcher.isBusy) {
      await this.#sweep(false);
      this.#sweepAfterMs = Math.min(this.#sweepAfterMs * 2, SWEEP_MOST_MS);
      if (!this.#dispatcher.hasUnknown) return;
    }
    if (this.#sweepTimer === undefined) this.#scheduleSweep();
  }

  async #sweep(again: boolean): Promise<void> {
    try {
      await this.#dispatcher.sweep(again);
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
