import { ofTheOperator } from '../../src/program/generate/alerts.ts';

/** One panel. */
interface Graph {
  readonly title: string;
  readonly unit: 'short' | 's' | 'ops' | 'bytes' | 'reqps' | 'percentunit';
  /** PromQL by legend. */
  readonly queries: Readonly<Record<string, string>>;
}

const ROWS: Readonly<Record<string, readonly Graph[]>> = {
  Reconciling: [
    graph('Step attempts by result', 'ops', {
      '{{controller}} {{result}}': `sum by (controller, result) (${ofTheOperator('rate(controller_runtime_reconcile_total[5m])')})`,
    }),
    graph('Steps', 'ops', {
      '{{controller}} {{step}}':
        'sum by (controller, step) (rate(durable_operator_steps_total{result="success"}[5m]))',
    }),
    graph('Failed step attempts', 'ops', {
      '{{controller}} {{step}}':
        'sum by (controller, step) (rate(durable_operator_steps_total{result="error"}[5m]))',
    }),
    graph('Time to convergence', 's', {
      '{{controller}} p50': quantile(0.5, 'durable_operator_convergence_seconds', 'controller'),
      '{{controller}} p99': quantile(0.99, 'durable_operator_convergence_seconds', 'controller'),
    }),
    graph('Oldest request', 's', {
      '{{controller}}': 'max by (controller) (durable_operator_oldest_request_seconds)',
    }),
    graph('Duration of a step attempt', 's', {
      '{{controller}} p50': quantile(0.5, 'controller_runtime_reconcile_time_seconds', 'controller'),
      '{{controller}} p99': quantile(0.99, 'controller_runtime_reconcile_time_seconds', 'controller'),
    }),
    graph('Open runs', 'short', {
      '{{controller}}': 'sum by (controller) (durable_operator_open_runs)',
      '{{controller}} stalled': 'sum by (controller) (durable_operator_stalled_runs)',
    }),
  ],
  Watching: [
    graph('Watch lag', 's', {
      '{{controller}} {{resource}} p99': quantile(
        0.99,
        'durable_operator_watch_lag_seconds',
        'controller, resource',
      ),
    }),
    graph('Time since the last watch event', 's', {
      '{{controller}} {{resource}}': 'max by (controller, resource) (durable_operator_watch_silence_seconds)',
    }),
    graph('Cached objects', 'short', {
      '{{controller}} {{resource}}': 'max by (controller, resource) (durable_operator_known_objects)',
    }),
    graph('Queue depth', 'short', {
      '{{controller}}': `sum by (controller) (${ofTheOperator('workqueue_depth')})`,
    }),
    graph('Time in the queue', 's', {
      '{{controller}} p99': quantile(0.99, 'workqueue_queue_duration_seconds', 'controller'),
    }),
    graph('Leader', 'short', {
      '{{pod}}': `max by (pod) (${ofTheOperator('leader_election_master_status')})`,
    }),
  ],
  'Servers and processes': [
    graph('Requests to the API server', 'reqps', {
      '{{method}} {{code}}': `sum by (method, code) (${ofTheOperator('rate(rest_client_requests_total[5m])')})`,
    }),
    graph('Temporal unavailable', 'short', {
      '{{pod}}': 'max by (pod) (durable_operator_temporal_unavailable)',
    }),
    graph('Pollers of the task queue', 'short', {
      '{{task_type}} {{version}} {{status}}':
        'sum by (task_type, version, status) (durable_operator_task_queue_pollers)',
    }),
    graph('CPU', 'percentunit', {
      '{{pod}}': `sum by (pod) (${ofTheOperator('rate(process_cpu_seconds_total[5m])')})`,
    }),
    graph('Memory', 'bytes', {
      '{{pod}}': `max by (pod) (${ofTheOperator('process_resident_memory_bytes')})`,
    }),
  ],
};

function graph(title: string, unit: Graph['unit'], queries: Graph['queries']): Graph {
  return { title, unit, queries };
}

function quantile(q: number, histogram: string, by: string): string {
  return `histogram_quantile(${q}, sum by (${by}, le) (${ofTheOperator(`rate(${histogram}_bucket[5m])`)}))`;
}

/** Grafana replaces it with the value of its variable `datasource`. */
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

const COLUMNS = 3;
const SIZE = { w: 24 / COLUMNS, h: 8 };

/** In the JSON model of Grafana. */
export const dashboard = {
  title: 'Durable Operator',
  uid: 'durable-operator',
  tags: ['kubernetes', 'temporal'],
  schemaVersion: 39,
  refresh: '30s',
  time: { from: 'now-3h', to: 'now' },
  templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus' }] },
  panels: panels(),
};

function panels(): object[] {
  let y = 0;
  return Object.entries(ROWS).flatMap(([title, graphs]) => {
    const row = { type: 'row', title, collapsed: false, gridPos: { x: 0, y, w: 24, h: 1 } };
    const below = graphs.map((each, index) => panel(each, place(index, y + 1)));
    y += 1 + Math.ceil(graphs.length / COLUMNS) * SIZE.h;
    return [row, ...below];
  });
}

function place(index: number, y: number) {
  return { ...SIZE, x: (index % COLUMNS) * SIZE.w, y: y + Math.floor(index / COLUMNS) * SIZE.h };
}

function panel({ title, unit, queries }: Graph, gridPos: object): object {
  const targets = Object.entries(queries).map(([legendFormat, expr], index) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource: DATASOURCE,
    legendFormat,
    expr,
  }));
  const fieldConfig = { defaults: { unit, min: 0 }, overrides: [] };
  return { type: 'timeseries', title, datasource: DATASOURCE, gridPos, fieldConfig, targets };
}
