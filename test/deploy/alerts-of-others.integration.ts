import { describe, expect, it, jest } from '@jest/globals';
import { alertsAmong } from '../support/alerting.ts';

/* Prometheus alone is asked here, and no cluster: of whose series the alerts are. */

jest.setTimeout(1_200_000);

describe('of metrics that other programs have, too', () => {
  const HOUR = 60;
  const build = {
    series: `durable_operator_build_info{namespace="system", job="metrics"}`,
    values: `1x${HOUR}`,
  };
  /** What is wrong with a program that has a Lease, a work queue, steps and requests. */
  const failing = (job: string) =>
    [
      ['leader_election_master_status{name="lease"', '0'],
      ['rest_client_requests_total{code="403"', '0+60'],
      ['controller_runtime_reconcile_total{controller="one", result="error"', '0+60'],
      ['controller_runtime_reconcile_errors_total{controller="one"', '0+60'],
      ['workqueue_work_duration_seconds_bucket{controller="one", le="1"', '0'],
      ['workqueue_work_duration_seconds_bucket{controller="one", le="10"', '0+60'],
      ['workqueue_work_duration_seconds_bucket{controller="one", le="+Inf"', '0+60'],
    ].map(([series, values]) => ({
      series: `${series}, namespace="system", job="${job}"}`,
      values: `${values}x${HOUR}`,
    }));

  it.each([
    ['every alert fires for the operator', 'metrics', 4],
    ['none fires for another program', 'other', 0],
  ])('%s', async (_rule, job, count) => {
    expect(await alertsAmong([build, ...failing(job)], HOUR)).toHaveProperty('size', count);
  });

  it('the leader that keeps changing is noticed in the operator, and not in another program', async () => {
    const flapping = (job: string) => ({
      series: `leader_election_master_status{name="lease", namespace="system", job="${job}"}`,
      values: '0 1 0 1 0 1 0 1 0 1',
    });
    const alerts = async (job: string) => [...(await alertsAmong([build, flapping(job)], 9))];
    expect(await alerts('metrics')).toEqual(['DurableOperatorLeaderFlapping']);
    expect(await alerts('other')).toEqual([]);
  });
});
