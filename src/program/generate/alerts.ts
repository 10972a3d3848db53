interface Alert {
  /** The runbook in docs/operating.md has a section of this name. */
  readonly name: string;
  /** PromQL; the alert fires if it returns any series. */
  readonly expr: string;
  /** How long the expression must return a series before the alert fires. */
  readonly for: string;
  readonly severity: 'critical' | 'warning' | 'info';
  readonly summary: string;
  /** COMMAND stands for the command line of the operator. */
  readonly description: string;
}

/** Tells installations apart, so that each has alerts of its own. The ServiceMonitor sets both labels. */
const EACH = 'namespace, job';

/**
 * The operator's series only. Other programs on controller-runtime, client-go or prom-client have metrics of the same names.
 *
 * @param expr PromQL whose series have the labels of `EACH`
 */
export function ofTheOperator(expr: string): string {
  return `${expr} and on (${EACH}) durable_operator_build_info`;
}

const ALERTS: readonly Alert[] = [
  {
    name: 'DurableOperatorAbsent',
    // absent() alone would not fire for an installation that is down while another one runs.
    expr: [
      'absent(durable_operator_build_info)',
      `or (group by (${EACH}) (last_over_time(durable_operator_build_info[1d]))`,
      `unless group by (${EACH}) (durable_operator_build_info))`,
    ].join(' '),
    for: '10m',
    severity: 'critical',
    summary: 'The operator is down, or Prometheus cannot scrape it',
    description:
      'No operator reports metrics{{ if $labels.job }} as job {{ $labels.job }} in namespace {{ $labels.namespace }}, where one did within the last day{{ end }}. If it is down, nothing is reconciled.',
  },
  {
    name: 'DurableOperatorWithoutLeader',
    // Workers have no Lease. In split mode, one metrics Service selects them and the watchers, so both have the same job.
    expr: [
      `sum by (${EACH}, name) (${ofTheOperator('leader_election_master_status')}) == 0`,
      `or (group by (${EACH}) (durable_operator_build_info{command="work"})`,
      `unless on (${EACH}) durable_operator_build_info{command=~"run|watch"})`,
    ].join(' '),
    for: '5m',
    severity: 'critical',
    summary: 'The operator has no leader',
    description:
      '{{ if $labels.name }}No replica holds the Lease {{ $labels.name }}{{ else }}There are workers, but no watcher{{ end }}, so nothing acts on changes in the cluster.',
  },
  {
    name: 'DurableOperatorLeaderFlapping',
    expr: `sum by (${EACH}, name) (${ofTheOperator('changes(leader_election_master_status[30m])')}) > 6`,
    for: '0m',
    severity: 'warning',
    summary: 'The leader keeps changing',
    description:
      'The Lease {{ $labels.name }} changes hands about every ten minutes: the API server or a replica is slow.',
  },
  {
    name: 'DurableOperatorTemporalUnavailable',
    expr: `max by (${EACH}) (durable_operator_temporal_unavailable) == 1`,
    for: '5m',
    severity: 'critical',
    summary: 'Temporal is unavailable',
    description: 'Runs cannot be started. Changes wait in the watcher until Temporal is back; none is lost.',
  },
  {
    name: 'DurableOperatorWithoutWorkers',
    expr: [
      `sum by (${EACH}, task_queue, task_type, version)`,
      '(durable_operator_task_queue_pollers{status=~"current|ramping|draining"}) == 0',
    ].join(' '),
    for: '10m',
    severity: 'critical',
    summary: 'Nobody works on runs of task queue {{ $labels.task_queue }}',
    description:
      'Temporal gives {{ $labels.task_type }} tasks to the workers {{ if $labels.version }}of version {{ $labels.version }}{{ else }}without a version{{ end }}, and none of them polls. These runs make no progress.',
  },
  {
    name: 'DurableOperatorVersionNotPromoted',
    expr: [
      `max by (${EACH}, task_queue, version)`,
      '(durable_operator_task_queue_pollers{status="inactive"}) > 0',
    ].join(' '),
    for: '1h',
    severity: 'warning',
    summary: 'Workers of task queue {{ $labels.task_queue }} get no runs',
    description:
      'The workers {{ if $labels.version }}of version {{ $labels.version }}{{ else }}without a version{{ end }} poll, but Temporal gives new runs to another version, or to none: nobody has promoted theirs.',
  },
  {
    name: 'DurableOperatorRequestWaiting',
    expr: `max by (${EACH}, controller) (durable_operator_oldest_request_seconds) > 600`,
    for: '5m',
    severity: 'warning',
    summary: 'A resource of {{ $labels.controller }} is not reconciled',
    description:
      'It has needed a step for {{ $value | humanizeDuration }}, and has not got it: its step fails, or nobody works on its run.',
  },
  {
    name: 'DurableOperatorErrors',
    expr: [
      `sum by (${EACH}, controller) (${ofTheOperator('rate(controller_runtime_reconcile_errors_total[10m])')})`,
      `/ sum by (${EACH}, controller) (${ofTheOperator('rate(controller_runtime_reconcile_total[10m])')}) > 0.2`,
    ].join(' '),
    for: '15m',
    severity: 'warning',
    summary: 'Steps of {{ $labels.controller }} fail',
    description:
      'More than 20% of the step attempts have failed for 15 minutes. They are retried with backoff. durable_operator_steps_total shows which steps fail.',
  },
  {
    name: 'DurableOperatorAccessDenied',
    expr: `sum by (${EACH}) (rate(durable_operator_request_errors_total{meaning="access-denied"}[10m])) > 0`,
    for: '10m',
    severity: 'warning',
    summary: 'The operator has no access to the API server, or not enough',
    description:
      'It responds 401 or 403 (the credentials are not accepted, or a role or a binding is missing), or the operator cannot read its credentials. What a quota or admission control rejects does not count.',
  },
  {
    name: 'DurableOperatorStalled',
    expr: `sum by (${EACH}, controller) (durable_operator_stalled_runs) > 0`,
    for: '1h',
    severity: 'info',
    summary: '{{ $value }} resources of {{ $labels.controller }} are stalled',
    description:
      'They do not make progress until somebody changes them. Their conditions, Events and runs say why.',
  },
  {
    name: 'DurableOperatorDeletionBlocked',
    expr: `max by (${EACH}, controller) (durable_operator_longest_deletion_seconds) > 900`,
    for: '5m',
    severity: 'warning',
    summary: 'A resource of {{ $labels.controller }} cannot be deleted',
    description:
      'It has waited {{ $value | humanizeDuration }} for the finalizer of the operator. COMMAND why -A says what blocks it.',
  },
  {
    name: 'DurableOperatorWatchSilent',
    expr: `max by (${EACH}, controller, resource) (durable_operator_watch_silence_seconds) > 600`,
    for: '5m',
    severity: 'warning',
    summary: 'A watch of {{ $labels.controller }} is silent',
    description:
      'Nothing has come of {{ $labels.resource }} for ten minutes, or lists show changes that no watch tells. /readyz says which.',
  },
  {
    name: 'DurableOperatorStartsSlow',
    expr: [
      `histogram_quantile(0.9, sum by (${EACH}, controller, le)`,
      `(${ofTheOperator('rate(workqueue_work_duration_seconds_bucket[10m])')})) > 1`,
    ].join(' '),
    for: '15m',
    severity: 'warning',
    summary: 'Starting runs of {{ $labels.controller }} is slow',
    description:
      'At least 10% of the starts and signals take more than a second: Temporal is overloaded, or far away.',
  },
  {
    name: 'DurableOperatorSlow',
    expr: [
      `histogram_quantile(0.99, sum by (${EACH}, controller, le)`,
      '(rate(durable_operator_convergence_seconds_bucket{controller!="git-build"}[30m]))) > 300',
    ].join(' '),
    for: '30m',
    severity: 'warning',
    summary: 'Resources of {{ $labels.controller }} converge slowly',
    description:
      'At least 1% of them take more than five minutes. Builds are excluded, because they may take longer.',
  },
];

/** How the people of an operator find out more. */
export interface AlertReader {
  /** The command line that answers questions: `website-operator`. */
  readonly command: string;
  /** A page with a section for each alert. */
  readonly runbook?: string;
}

/** As Prometheus reads it. */
export function alertRules(reader: AlertReader) {
  return { groups: [{ name: 'durable-operator', rules: ALERTS.map((alert) => ruleOf(alert, reader)) }] };
}

function ruleOf(alert: Alert, { command, runbook }: AlertReader) {
  const { name, expr, for: lasting, severity, summary } = alert;
  const description = alert.description.replace('COMMAND', command);
  const link = runbook === undefined ? {} : { runbook_url: `${runbook}#${name.toLowerCase()}` };
  return {
    alert: name,
    expr,
    for: lasting,
    labels: { severity },
    annotations: { summary, description, ...link },
  };
}
