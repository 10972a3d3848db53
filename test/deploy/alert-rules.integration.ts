import { describe, expect, it, jest } from '@jest/globals';
import { alertingOver, alertsAmong, type InputSeries } from '../support/alerting.ts';

/* Prometheus alone is asked here, and no cluster: of whose series the alerts are, and since when. */

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
    ['every alert fires for the operator', 'metrics', 3],
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

describe('of several installations', () => {
  const HOUR = 60;
  interface Processes {
    readonly job?: string;
    readonly command: 'run' | 'watch' | 'work';
    readonly version?: string;
  }
  const lasting = ({ job = 'one', command, version = '1' }: Processes, values = `1x${HOUR}`) => ({
    series: `durable_operator_build_info{namespace="system", job="${job}", command="${command}", version="${version}"}`,
    values,
  });
  const ending = (processes: Processes) => lasting(processes, '1x10 stale');
  const firing = async (series: readonly InputSeries[]) => [...(await alertsAmong(series, HOUR))];

  it('one that is down is missed, although another one lives', async () => {
    const series = [ending({ command: 'run' }), lasting({ job: 'two', command: 'run' })];
    expect(await firing(series)).toEqual(['DurableOperatorAbsent']);
  });

  it.each([
    ['version', [ending({ command: 'run' }), lasting({ command: 'run', version: '2' })]],
    ['mode', [ending({ command: 'run' }), lasting({ command: 'watch' }), lasting({ command: 'work' })]],
  ])('one that has another %s now is not missed', async (_what, series) => {
    expect(await firing(series)).toEqual([]);
  });

  it.each([
    ['the last one is gone', [lasting({ command: 'work' }), ending({ command: 'watch' })]],
    [
      'there is one only of another installation',
      [lasting({ command: 'work' }), lasting({ job: 'two', command: 'watch' })],
    ],
  ])('workers without a watcher have no leader: %s', async (_case, series) => {
    expect(await firing(series)).toEqual(['DurableOperatorWithoutLeader']);
  });
});

describe('of what is scraped every 15 s', () => {
  const EVERY_S = 15;
  /** Of one replica, by how often each of them is scraped. */
  const scrapes = (...texts: readonly (readonly [text: string, times: number])[]) =>
    texts
      .flatMap(([text, times]) => Array.from({ length: times }, () => text))
      .map((text, index) => ({ atMs: index * EVERY_S * 1_000, replicas: [text] }));
  const BUILD = 'durable_operator_build_info{version="1"} 1\n';
  const AWAY = `${BUILD}durable_operator_temporal_unavailable{} 1\n`;
  const FIVE_MINUTES = 20;

  it.each([
    ['is pending before its time is over', scrapes([AWAY, FIVE_MINUTES - 1]), 'pending'],
    ['fires when it is over', scrapes([AWAY, FIVE_MINUTES + 2]), 'firing'],
  ])('an alert %s', async (_rule, scraped, state) => {
    const found = await alertingOver(scraped, EVERY_S);
    expect(found).toContainEqual({ alert: 'DurableOperatorTemporalUnavailable', state });
    expect(found.every((each) => each.state === 'pending')).toBe(state === 'pending');
  });

  it('a replica that is gone is missed at once', async () => {
    expect(await alertingOver(scrapes([BUILD, 4], ['', 1]), EVERY_S)).toEqual([
      { alert: 'DurableOperatorAbsent', state: 'pending' },
    ]);
    expect(await alertingOver(scrapes([BUILD, 5]), EVERY_S)).toEqual([]);
  });
});
