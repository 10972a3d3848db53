import { Gauge, type Registry } from 'prom-client';
import type { WatcherState } from '../contract/telemetry.ts';

/** What is asked of the process at each scrape. */
export interface StateSource {
  /** Undefined where this process does not watch, or not yet. */
  watcher(): WatcherState | undefined;
  isTemporalUnavailable(): boolean;
  /** Of leader election; undefined where there is none. */
  lease(): { readonly name: string; readonly isLeading: boolean } | undefined;
}

/** Measured when somebody asks, and at no other time. */
export function stateMetrics(registry: Registry, controllers: readonly string[], source: StateSource): void {
  watchState(registry, source);
  runsState(registry, controllers, source);
  gauge(
    registry,
    {
      name: 'durable_operator_temporal_unavailable',
      help: '1 where Temporal could not be reached when that was last tried, else 0',
      labelNames: [],
    },
    (set) => set({}, Number(source.isTemporalUnavailable())),
  );
  gauge(
    registry,
    {
      name: 'leader_election_master_status',
      help: '1 where this process holds the Lease of that name, else 0',
      labelNames: ['name'],
    },
    (set) => {
      const lease = source.lease();
      if (lease !== undefined) set({ name: lease.name }, Number(lease.isLeading));
    },
  );
}

function watchState(registry: Registry, source: StateSource): void {
  const labelNames = ['controller', 'resource'];
  const watches = () => source.watcher()?.watches ?? [];
  gauge(
    registry,
    {
      name: 'durable_operator_watch_silence_seconds',
      help: 'Since the last event, bookmark or list',
      labelNames,
    },
    (set) => {
      for (const { controller, resource, silenceSeconds } of watches())
        set({ controller, resource }, silenceSeconds);
    },
  );
  gauge(
    registry,
    { name: 'durable_operator_known_objects', help: 'Objects of which something is kept', labelNames },
    (set) => {
      for (const { controller, resource, known } of watches()) set({ controller, resource }, known);
    },
  );
}

/** Who watches nothing knows of no run: 0, so that the sum over all processes is right. */
function runsState(registry: Registry, controllers: readonly string[], source: StateSource): void {
  const labelNames = ['controller'];
  const counts = (count: 'open' | 'stalled') => (set: SetValue) => {
    for (const controller of controllers) set({ controller }, 0);
    for (const runs of source.watcher()?.runs ?? []) set({ controller: runs.controller }, runs[count]);
  };
  gauge(
    registry,
    {
      name: 'durable_operator_open_runs',
      help: 'Runs that are open, as far as the watcher knows',
      labelNames,
    },
    counts('open'),
  );
  gauge(
    registry,
    {
      name: 'durable_operator_stalled_runs',
      help: 'Open runs that only a change of their resource will let go on',
      labelNames,
    },
    counts('stalled'),
  );
}

type SetValue = (labels: Record<string, string>, value: number) => void;

interface GaugeOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
}

function gauge(registry: Registry, options: GaugeOptions, measure: (set: SetValue) => void): void {
  new Gauge({
    ...options,
    registers: [registry],
    collect() {
      // What is not told of any more is not to be told for ever.
      this.reset();
      measure((labels, value) => this.set(labels, value));
    },
  });
}
