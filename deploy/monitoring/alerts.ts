/** One alert; what to do about it is in docs/operating.md, under its name. */
interface Alert {
  readonly name: string;
  /** PromQL; true where it gives any series. */
  readonly expr: string;
  /** How long it must have been true. */
  readonly for: string;
  readonly severity: 'critical' | 'warning' | 'info';
  readonly summary: string;
  readonly description: string;
}

const ALERTS: readonly Alert[] = [
  {
    name: 'DurableOperatorAbsent',
    expr: 'absent(durable_operator_build_info)',
    for: '10m',
    severity: 'critical',
    summary: 'No operator is to be seen',
    description: 'Nothing is reconciled, or Prometheus may not read the metrics.',
  },
  {
    name: 'DurableOperatorWithoutLeader',
    expr: 'sum by (name) (leader_election_master_status) == 0',
    for: '5m',
    severity: 'critical',
    summary: 'Nobody leads, so nobody watches',
    description: 'No replica holds the Lease {{ $labels.name }}: changes on the cluster are not seen.',
  },
  {
    name: 'DurableOperatorLeaderFlapping',
    expr: 'sum by (name) (changes(leader_election_master_status[30m])) > 6',
    for: '0m',
    severity: 'warning',
    summary: 'The leader changes again and again',
    description:
      'The Lease {{ $labels.name }} is lost about every ten minutes: the API server is slow, or a replica is.',
  },
  {
    name: 'DurableOperatorTemporalUnavailable',
    expr: 'max(durable_operator_temporal_unavailable) == 1',
    for: '5m',
    severity: 'critical',
    summary: 'Temporal does not take runs',
    description: 'Changes wait in the watcher until it does; none is lost.',
  },
  {
    name: 'DurableOperatorErrors',
    expr: [
      'sum by (controller) (rate(controller_runtime_reconcile_errors_total[10m]))',
      '/ sum by (controller) (rate(controller_runtime_reconcile_total[10m])) > 0.2',
    ].join(' '),
    for: '15m',
    severity: 'warning',
    summary: 'Passes of {{ $labels.controller }} fail',
    description: 'More than a fifth of them, for a quarter of an hour. They are retried with backoff.',
  },
  {
    name: 'DurableOperatorAccessDenied',
    expr: 'sum by (code) (rate(rest_client_requests_total{code=~"401|403"}[10m])) > 0',
    for: '10m',
    severity: 'warning',
    summary: 'The API server refuses the operator',
    description: 'It answers {{ $labels.code }}: a role or its binding is missing, or admission refuses.',
  },
  {
    name: 'DurableOperatorStalled',
    expr: 'sum by (controller) (durable_operator_stalled_runs) > 0',
    for: '1h',
    severity: 'info',
    summary: '{{ $value }} resources of {{ $labels.controller }} wait for somebody to mend them',
    description: 'Their conditions, Events and runs say why.',
  },
  {
    name: 'DurableOperatorWatchSilent',
    expr: 'max by (controller, resource) (durable_operator_watch_silence_seconds) > 600',
    for: '5m',
    severity: 'warning',
    summary: 'A watch of {{ $labels.controller }} hears nothing',
    description: 'Nothing came from the watch of {{ $labels.resource }} for ten minutes, no bookmark either.',
  },
  {
    name: 'DurableOperatorQueueStuck',
    expr: 'max by (controller) (workqueue_longest_running_processor_seconds) > 60',
    for: '5m',
    severity: 'warning',
    summary: 'Runs of {{ $labels.controller }} cannot be started',
    description: 'To start or tell one has taken more than a minute: Temporal is overloaded.',
  },
  {
    name: 'DurableOperatorSlow',
    expr: [
      'histogram_quantile(0.99, sum by (controller, le)',
      '(rate(durable_operator_convergence_seconds_bucket{controller!="build"}[30m]))) > 300',
    ].join(' '),
    for: '30m',
    severity: 'warning',
    summary: 'Resources of {{ $labels.controller }} take more than five minutes to converge',
    description: 'One in a hundred does. Builds do not count: they take as long as they take.',
  },
];

/** For the Prometheus operator. */
export const alertRules = {
  apiVersion: 'monitoring.coreos.com/v1',
  kind: 'PrometheusRule',
  metadata: {
    name: 'controller-manager-alerts',
    namespace: 'system',
    labels: { 'app.kubernetes.io/name': 'durable-operator' },
  },
  spec: { groups: [{ name: 'durable-operator', rules: ALERTS.map(ruleOf) }] },
};

function ruleOf({ name, expr, for: lasting, severity, summary, description }: Alert) {
  return {
    alert: name,
    expr,
    for: lasting,
    labels: { severity },
    annotations: { summary, description, runbook: `docs/operating.md#${name.toLowerCase()}` },
  };
}
