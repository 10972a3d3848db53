import type { Registry } from 'prom-client';
import type { LeftRuns, PollerGauge, TaskQueueState, WatchState, WatcherState } from '../runs/telemetry.ts';
import { gauge } from './instruments.ts';

/** What metrics ask of the process at each scrape. */
export interface MeasuredState {
  /** Undefined where this process does not watch, or does not watch yet. */
  watcher(): WatcherState | undefined;
  /** As Temporal was last asked; nothing where this process does not lead, or could not ask it lately. */
  taskQueues(): TaskQueueState | undefined;
  /** Whether this process holds the Lease; undefined without leader election. */
  isLeading(): boolean | undefined;
  /** Whether the first connection to Temporal has been made. */
  isConnectedToTemporal(): boolean;
}

export interface StateMetricsOptions {
  readonly controllers: readonly string[];
  /** The name of the Lease of leader election. */
  readonly leaseName: string;
  readonly source: MeasuredState;
}

export function stateMetrics(
  registry: Registry,
  { controllers, leaseName, source }: StateMetricsOptions,
): void {
  measureWatches(registry, () => source.watcher()?.watches ?? []);
  measureControllers(registry, controllers, () => source.watcher());
  measurePollers(registry, () => source.taskQueues()?.pollers ?? []);
  measureLeftRuns(registry, () => source.taskQueues()?.left ?? []);
  gauge(registry, {
    name: 'durable_operator_temporal_unavailable',
    help: '1 if Temporal was unreachable when this process last used it, else 0',
    labelNames: [],
    measure: () => [[{}, Number(isTemporalUnavailable(source))]],
  });
  gauge(registry, {
    name: 'leader_election_master_status',
    help: '1 if this process holds the Lease of this name, else 0',
    labelNames: ['name'],
    measure: () => {
      const isLeading = source.isLeading();
      return isLeading === undefined ? [] : [[{ name: leaseName }, Number(isLeading)]];
    },
  });
}

function isTemporalUnavailable(source: MeasuredState): boolean {
  return !source.isConnectedToTemporal() || source.watcher()?.isTemporalUnavailable === true;
}

function measureWatches(registry: Registry, watches: () => readonly WatchState[]): void {
  const perKind = (value: (watch: WatchState) => number) => ({
    labelNames: ['controller', 'resource'] as const,
    measure: () =>
      watches().map((watch) => {
        const { controller, resource } = watch;
        return [{ controller, resource }, value(watch)] as const;
      }),
  });
  gauge(registry, {
    name: 'durable_operator_watch_silence_seconds',
    help: 'Seconds since the last event, bookmark or list; without lists if no watch tells the changes that they show',
    ...perKind(({ silenceSeconds }) => silenceSeconds),
  });
  gauge(registry, {
    name: 'durable_operator_known_objects',
    help: 'Number of objects in the cache of the watcher',
    ...perKind(({ known }) => known),
  });
}

/** A process that does not watch reports 0, so that sums over all processes are right. */
function measureControllers(
  registry: Registry,
  controllers: readonly string[],
  watcher: () => WatcherState | undefined,
): void {
  const perController = (values: (state: WatcherState) => readonly (readonly [string, number])[]) => ({
    labelNames: ['controller'] as const,
    measure: () => {
      const state = watcher();
      const known = new Map(state && values(state));
      return controllers.map((controller) => [{ controller }, known.get(controller) ?? 0] as const);
    },
  });
  gauge(registry, {
    name: 'durable_operator_open_runs',
    help: 'Number of open runs that the watcher knows of',
    ...perController(({ runs }) => runs.map(({ controller, open }) => [controller, open])),
  });
  gauge(registry, {
    name: 'durable_operator_stalled_runs',
    help: 'Number of open runs that need a person, because a retry cannot help',
    ...perController(({ runs }) => runs.map(({ controller, stalled }) => [controller, stalled])),
  });
  gauge(registry, {
    name: 'durable_operator_oldest_request_seconds',
    help: 'How long the resource that has needed a step for the longest time has needed it, in seconds; 0 if none does',
    ...perController(({ oldestRequests }) =>
      oldestRequests.map(({ controller, seconds }) => [controller, seconds]),
    ),
  });
  gauge(registry, {
    name: 'durable_operator_longest_wait_seconds',
    help: 'How long the resource that has needed a run for the longest time has needed it, whatever it waits for, in seconds; 0 if none does',
    ...perController(({ oldestRequests }) =>
      oldestRequests.map(({ controller, waitSeconds }) => [controller, waitSeconds]),
    ),
  });
  gauge(registry, {
    name: 'durable_operator_longest_deletion_seconds',
    help: 'How long the oldest deletion has waited for the finalizer of the operator, in seconds; 0 if none waits',
    ...perController(({ oldestDeletions }) =>
      oldestDeletions.map(({ controller, seconds }) => [controller, seconds]),
    ),
  });
}

function measurePollers(registry: Registry, pollers: () => readonly PollerGauge[]): void {
  gauge(registry, {
    name: 'durable_operator_task_queue_pollers',
    help: 'Number of workers that poll the task queue, as Temporal reports them',
    labelNames: ['task_queue', 'task_type', 'version', 'status'],
    measure: () =>
      pollers().map(({ taskQueue: task_queue, taskType: task_type, version, status, count }) => [
        { task_queue, task_type, version, status },
        count,
      ]),
  });
}

function measureLeftRuns(registry: Registry, left: () => readonly LeftRuns[]): void {
  gauge(registry, {
    name: 'durable_operator_left_runs',
    help: 'Number of open runs on another task queue, which nobody polls; nothing where there are none',
    labelNames: ['task_queue'],
    measure: () => left().map(({ taskQueue: task_queue, count }) => [{ task_queue }, count]),
  });
}
