import { exponentialBuckets, type Registry } from 'prom-client';
import { controllerOfWorkflow } from '../api/resource-ref.ts';
import type { QueueObserver } from '../runs/telemetry.ts';
import { counter, gauge, histogram } from './instruments.ts';

/** As in controller-runtime: pkg/metrics/workqueue.go. */
const buckets = exponentialBuckets(10e-9, 10, 12);

/** What client-go measures of each controller's work queue. We have one queue, measured per controller. */
export class WorkqueueMetrics implements QueueObserver {
  /** Since when each key waits or is being processed, by `performance.now()`. */
  readonly #waiting = new Map<string, number>();
  readonly #processing = new Map<string, number>();
  readonly #adds;
  readonly #retries;
  readonly #queueDuration;
  readonly #workDuration;

  constructor(registry: Registry, controllers: readonly string[]) {
    const common = { labelNames: ['name', 'controller'] as const, initially: controllers.map(labelsOf) };
    this.#adds = counter(registry, {
      ...common,
      name: 'workqueue_adds_total',
      help: 'Total number of resources added to the queue, to start or signal their runs',
    });
    this.#retries = counter(registry, {
      ...common,
      name: 'workqueue_retries_total',
      help: 'Total number of failed attempts to start or signal a run; each is retried',
    });
    this.#queueDuration = histogram(registry, {
      ...common,
      name: 'workqueue_queue_duration_seconds',
      help: 'How long a resource stays in the queue before it is processed, in seconds',
      buckets,
    });
    this.#workDuration = histogram(registry, {
      ...common,
      name: 'workqueue_work_duration_seconds',
      help: 'How long it takes to start or signal a run and to observe the first effect, in seconds',
      buckets,
    });
    gauge(registry, {
      name: 'workqueue_depth',
      help: 'Number of resources that wait in the queue',
      labelNames: ['name', 'controller'],
      measure: () => controllers.map((controller) => [labelsOf(controller), this.#depthOf(controller)]),
    });
  }

  added(key: string): void {
    this.#waiting.set(key, performance.now());
    this.#adds.inc(labelsOfKey(key));
  }

  begun(key: string): void {
    const nowMs = performance.now();
    this.#queueDuration.observe(labelsOfKey(key), secondsBetween(this.#waiting.get(key), nowMs));
    this.#waiting.delete(key);
    this.#processing.set(key, nowMs);
  }

  done(key: string): void {
    const seconds = secondsBetween(this.#processing.get(key), performance.now());
    this.#workDuration.observe(labelsOfKey(key), seconds);
    this.#processing.delete(key);
  }

  retried(key: string): void {
    this.#retries.inc(labelsOfKey(key));
  }

  emptied(): void {
    this.#waiting.clear();
  }

  #depthOf(controller: string): number {
    return [...this.#waiting.keys()].filter((key) => controllerOfWorkflow(key) === controller).length;
  }
}

function labelsOf(controller: string) {
  return { name: controller, controller };
}

function labelsOfKey(key: string) {
  return labelsOf(controllerOfWorkflow(key));
}

function secondsBetween(sinceMs: number | undefined, nowMs: number): number {
  return sinceMs === undefined ? 0 : (nowMs - sinceMs) / 1000;
}
