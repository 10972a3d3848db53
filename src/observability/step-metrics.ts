import type { Registry } from 'prom-client';
import type { Controller } from '../engine/controller.ts';
import { isRest, type NextInHistory, type StepReport } from '../runs/decision.ts';
import type { StepAttempt } from '../runs/telemetry.ts';
import { unreachable } from '../api/unreachable.ts';
import { counter, gauge, histogram } from './instruments.ts';

/** As in controller-runtime: pkg/internal/controller/metrics/metrics.go. */
const BUCKETS = [
  ...[0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1],
  ...[1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60],
];

const RECONCILE_RESULTS = ['success', 'error', 'requeue', 'requeue_after'] as const;
type ReconcileResult = (typeof RECONCILE_RESULTS)[number];

const STEP_OUTCOMES = ['success', 'skipped', 'error'] as const;
type StepOutcome = (typeof STEP_OUTCOMES)[number];

type MeasuredController = Pick<Controller, 'name' | 'steps'>;

/** Counts attempts of steps under the names that controller-runtime gives to reconciles, and by step. */
export class StepMetrics {
  readonly #active = new Map<string, number>();
  readonly #reconciles;
  readonly #errors;
  readonly #seconds;
  readonly #retries;
  readonly #steps;

  constructor(registry: Registry, controllers: readonly MeasuredController[]) {
    const each = controllers.map(({ name: controller }) => ({ controller }));
    const perController = { labelNames: ['controller'] as const, initially: each };
    this.#reconciles = counter(registry, {
      name: 'controller_runtime_reconcile_total',
      help: 'Total number of step attempts per controller, by result. A step attempt counts as a reconcile.',
      labelNames: ['controller', 'result'],
      initially: each.flatMap((labels) => RECONCILE_RESULTS.map((result) => ({ ...labels, result }))),
    });
    this.#errors = counter(registry, {
      ...perController,
      name: 'controller_runtime_reconcile_errors_total',
      help: 'Total number of step attempts per controller that failed, or after which the run stalled',
    });
    this.#seconds = histogram(registry, {
      ...perController,
      name: 'controller_runtime_reconcile_time_seconds',
      help: 'Duration of a step attempt, in seconds',
      buckets: BUCKETS,
    });
    this.#retries = counter(registry, {
      ...perController,
      name: 'durable_operator_retries_total',
      help: 'Total number of step attempts that Temporal started because the previous attempt failed',
    });
    this.#steps = counter(registry, {
      name: 'durable_operator_steps_total',
      help: 'Total number of step attempts per controller and step, by result',
      labelNames: ['controller', 'step', 'result'],
      initially: controllers.flatMap(seriesOf),
    });
    gauge(registry, {
      name: 'controller_runtime_active_workers',
      help: 'Number of step attempts in progress per controller',
      labelNames: ['controller'],
      measure: () => each.map((labels) => [labels, this.#active.get(labels.controller) ?? 0]),
    });
  }

  async step(about: StepAttempt, work: () => Promise<StepReport>): Promise<StepReport> {
    const { controller } = about.ref;
    const startedAtMs = performance.now();
    this.#activate(controller, 1);
    if (about.attempt > 1) this.#retries.inc({ controller });
    try {
      const result = await work();
      this.#ended(about, result);
      return result;
    } catch (error) {
      this.#count(about, 'error', 'error');
      throw error;
    } finally {
      this.#activate(controller, -1);
      this.#seconds.observe({ controller }, (performance.now() - startedAtMs) / 1000);
    }
  }

  #activate(controller: string, change: 1 | -1): void {
    this.#active.set(controller, (this.#active.get(controller) ?? 0) + change);
  }

  #ended(about: StepAttempt, { did, next }: StepReport): void {
    // `observe` only reads. Any other step that did nothing was no longer needed.
    const isSkipped = did.length === 0 && about.activity !== 'observe';
    this.#count(about, isSkipped ? 'skipped' : 'success', reconcileResultOf(next));
  }

  #count(
    { ref: { controller }, activity: step }: StepAttempt,
    result: StepOutcome,
    reconcile: ReconcileResult,
  ): void {
    this.#steps.inc({ controller, step, result });
    this.#reconciles.inc({ controller, result: reconcile });
    if (reconcile === 'error') this.#errors.inc({ controller });
  }
}

function seriesOf({ name: controller, steps }: MeasuredController) {
  return ['observe', ...Object.keys(steps)].flatMap((step) =>
    STEP_OUTCOMES.map((result) => ({ controller, step, result })),
  );
}

function reconcileResultOf(next: NextInHistory): ReconcileResult {
  if (!isRest(next)) return 'requeue';
  switch (next.do) {
    case 'converged':
      return 'success';
    case 'wait':
    case 'held':
      return 'requeue_after';
    case 'stalled':
      return 'error';
    default:
      return unreachable(next);
  }
}
