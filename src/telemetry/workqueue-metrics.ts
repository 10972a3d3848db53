import { Counter, exponentialBuckets, Gauge, Histogram, type Registry } from 'prom-client';
import { parseWorkflowId } from '../contract/resource.ts';
import type { QueueObserver } from '../contract/telemetry.ts';

/** As client-go and controller-runtime have them: pkg/metrics/workqueue.go. */
const BUCKETS = exponentialBuckets(10e-9, 10, 12);
const labelNames = ['name', 'controller'] as const;

/** What client-go tells of each controller's work queue. Ours is one queue, which is counted by controller. */
export function workqueueMetrics(registry: Registry, controllers: readonly string[]): QueueObserver {
  return new WorkqueueMetrics(registry, controllers);
}

class WorkqueueMetrics implements QueueObserver {
  readonly #controllers: readonly string[];
  /** Since when each key waits, or is worked on; by `performance.now()`. */
  readonly #waiting = new Map<string, number>();
  readonly #inHand = new Map<string, number>();
  readonly #adds;
  readonly #retries;
  readonly #queueDuration;
  readonly #workDuration;

  constructor(registry: Registry, controllers: readonly string[]) {
    this.#controllers = controllers;
    const common = { registers: [registry], labelNames };
    this.#adds = new Counter({
      ...common,
      name: 'workqueue_adds_total',
      help: 'Resources that became due to be started or told',
    });
    this.#retries = new Counter({
      ...common,
      name: 'workqueue_retries_total',
      help: 'Starts and signals that failed and will be tried again',
    });
    this.#queueDuration = new Histogram({
      ...common,
      name: 'workqueue_queue_duration_seconds',
      help: 'How long a resource that is due waits for its turn',
      buckets: BUCKETS,
    });
    this.#workDuration = new Histogram({
      ...common,
      name: 'workqueue_work_duration_seconds',
      help: 'How long it takes to start or tell a run, and to see its effect',
      buckets: BUCKETS,
    });
    this.#measureAtScrape(common);
    for (const controller of controllers) this.#zero(labelsOf(controller));
  }

  added(key: string): void {
    this.#waiting.set(key, performance.now());
    this.#adds.inc(labelsOfKey(key));
  }

  begun(key: string): void {
    const now = performance.now();
    this.#queueDuration.observe(labelsOfKey(key), secondsBetween(this.#waiting.get(key), now));
    this.#waiting.delete(key);
    this.#inHand.set(key, now);
  }

  done(key: string): void {
    this.#workDuration.observe(labelsOfKey(key), secondsBetween(this.#inHand.get(key), performance.now()));
    this.#inHand.delete(key);
  }

  retried(key: string): void {
    this.#retries.inc(labelsOfKey(key));
  }

  emptied(): void {
    this.#waiting.clear();
  }

  #measureAtScrape(common: { registers: Registry[]; labelNames: typeof labelNames }): void {
    this.#gauge(
      { ...common, name: 'workqueue_depth', help: 'Resources that are due and wait for their turn' },
      (controller) => ofController(controller, this.#waiting).length,
    );
    this.#gauge(
      {
        ...common,
        name: 'workqueue_unfinished_work_seconds',
        help: 'How long what is in hand has taken so far, summed up',
      },
      (controller) => sum(ages(ofController(controller, this.#inHand))),
    );
    this.#gauge(
      {
        ...common,
        name: 'workqueue_longest_running_processor_seconds',
        help: 'How long what is in hand for longest has taken so far',
      },
      (controller) => Math.max(0, ...ages(ofController(controller, this.#inHand))),
    );
  }

  #gauge(
    options: { name: string; help: string; registers: Registry[]; labelNames: typeof labelNames },
    measure: (controller: string) => number,
  ): void {
    const controllers = this.#controllers;
    new Gauge({
      ...options,
      collect() {
        for (const controller of controllers) this.set(labelsOf(controller), measure(controller));
      },
    });
  }

  #zero(labels: Labels): void {
    this.#adds.inc(labels, 0);
    this.#retries.inc(labels, 0);
    this.#queueDuration.zero(labels);
    this.#workDuration.zero(labels);
  }
}

interface Labels {
  readonly name: string;
  readonly controller: string;
}

function labelsOf(controller: string): Labels {
  return { name: controller, controller };
}

function labelsOfKey(key: string): Labels {
  return labelsOf(controllerOf(key));
}

function controllerOf(key: string): string {
  return parseWorkflowId(key)?.controller ?? '';
}

function ofController(controller: string, since: ReadonlyMap<string, number>): number[] {
  return [...since].filter(([key]) => controllerOf(key) === controller).map(([, sinceMs]) => sinceMs);
}

function ages(since: readonly number[]): number[] {
  const now = performance.now();
  return since.map((sinceMs) => secondsBetween(sinceMs, now));
}

function secondsBetween(sinceMs: number | undefined, nowMs: number): number {
  return sinceMs === undefined ? 0 : (nowMs - sinceMs) / 1000;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
