import { describe, expect, it } from '@jest/globals';
import type { Row } from '../../src/ask/get/rows.ts';
import { overviewData, overviewOf, overviewText } from '../../src/ask/why/everywhere.ts';
import { defaultOptions } from '../../src/config/config.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { microTime } from '../../src/kubernetes/micro-time.ts';
import { RunReader, type ListedRun, type RunFilter } from '../../src/temporal/run-reader.ts';
import { asked, aTemporal, NOW_MS, workersThatPolled } from '../support/ask-session.ts';
import { plain, RUN } from '../support/findings.ts';

const quota = {
  reason: 'QuotaExceeded',
  message: 'exceeded quota: few',
  advice: ['raise the quota', { run: 'kubectl describe quota -n shop', to: 'show the quota' }],
};
const failed = { reason: 'BuildFailed', message: 'exit code 1', advice: ['correct the spec'] };

function row(name: string, changes: Partial<Row> = {}): Row {
  const of = { namespace: 'shop', resource: `podset/${name}`, controller: 'pod-set' };
  return { key: name, ...of, state: 'UpToDate', sinceMs: NOW_MS - 1_000, message: '', ...changes };
}

const minutes = (count: number) => ({ sinceMs: NOW_MS - count * 60_000 });
const codes = (...rows: readonly Row[]) =>
  overviewOf(rows, NOW_MS).groups.map(({ reason: reason }) => reason);
const text = (...rows: readonly Row[]) => overviewText(overviewOf(rows, NOW_MS), plain, NOW_MS);

describe('why of everything', () => {
  it('says that everything is well', () => {
    expect(text(row('a'), row('b', { state: 'Ignored' }))).toBe('everything is well: 2 resources\n');
  });

  it('groups by cause: how many, the oldest, three names, and one piece of advice', () => {
    const retrying = { state: 'Retrying', cause: quota } as const;
    const rows = ['a', 'b', 'c', 'd'].map((name, index) => row(name, { ...retrying, ...minutes(index) }));
    expect(text(...rows, row('well'))).toBe(
      [
        '4 of 5 resources are not well',
        '',
        'Retrying: QuotaExceeded, 4 of pod-set, the oldest for 3m',
        '  which     podset/d -n shop, podset/c -n shop, podset/b -n shop, and 1 more',
        '  because   exceeded quota: few',
        '  you can   kubectl describe quota -n shop      show the quota',
        '',
      ].join('\n'),
    );
  });

  it('names whose reason it shows, where the others have another', () => {
    const other = { ...quota, message: 'exceeded quota: none' };
    const rows = [
      row('a', { state: 'Retrying', cause: quota, ...minutes(2) }),
      row('b', { state: 'Retrying', cause: other, ...minutes(1) }),
    ];
    expect(text(...rows)).toContain('  because   podset/a -n shop: exceeded quota: few\n');
  });

  it('names the worst first: what is stalled or blocks a deletion, then what fails, and a pause last', () => {
    const rows = [
      row('paused', { state: 'Paused' }),
      row('waits', { state: 'Waiting', cause: { ...quota, reason: 'Waits' } }),
      row('asks', { state: 'AwaitingApproval' }),
      row('odd', { cause: { ...quota, reason: 'InvalidAnnotation' } }),
      row('unready', { state: 'NotReady', cause: { ...quota, reason: 'Unschedulable' } }),
      row('fails', { state: 'Retrying', cause: quota }),
      row('going', { state: 'Waiting', isBeingDeleted: true, cause: { ...quota, reason: 'NodeNotReady' } }),
      row('stalled', { state: 'Stalled', cause: failed }),
    ];
    expect(codes(...rows)).toEqual([
      ...['NodeNotReady', 'BuildFailed', 'QuotaExceeded', 'Unschedulable'],
      ...['InvalidAnnotation', 'AwaitingApproval', 'Waits', 'Paused'],
    ]);
  });

  it.each(['Waiting', 'Reconciling'] as const)(
    'counts %s without a cause only after five minutes',
    (state) => {
      expect(codes(row('new', { state, ...minutes(5) }))).toEqual([]);
      expect(codes(row('old', { state, ...minutes(6) }))).toEqual([state]);
    },
  );

  it('does not mix the resources of two controllers', () => {
    const stalled = { state: 'Stalled', cause: failed } as const;
    expect(codes(row('a', stalled), row('b', { ...stalled, controller: 'git-build' }))).toHaveLength(2);
  });

  it('says that no worker is there, even if all is well so far', () => {
    const problem = { missing: 'worker', message: 'no worker has polled', advice: ['start it'] } as const;
    const said = overviewText(overviewOf([row('a')], NOW_MS, [problem]), plain, NOW_MS);
    expect(said).toBe('No worker is polling\n  because   no worker has polled\n  you can   start it\n');
  });

  it('has data for programs', () => {
    expect(overviewData(overviewOf([row('a', { state: 'Stalled', cause: failed })], NOW_MS))).toEqual({
      resources: 1,
      causes: [
        {
          ...{ state: 'Stalled', reason: 'BuildFailed', controller: 'pod-set', count: 1 },
          oldest: '2026-01-01T11:59:59.000Z',
          which: [{ namespace: 'shop', resource: 'podset/a' }],
          message: 'exit code 1',
          advice: { sentence: 'correct the spec' },
        },
      ],
    });
  });
});

describe('why -A, of an operator that does not run,', () => {
  const LEASE = { namespace: 'system', name: 'operator' };
  const settings = { version: '1.0', options: defaultOptions(durableOperator), lease: LEASE };
  const gone = new ApiError('not found', { classification: 'not-found', status: 404 });
  const heldBy = (holderIdentity: string, ageMs: number) => ({
    metadata: { ...LEASE, uid: 'u', resourceVersion: '1' },
    spec: { holderIdentity, leaseDurationSeconds: 15, renewTime: microTime(NOW_MS - ageMs) },
  });
  const runs = new (class extends RunReader {
    override listOpen = () => Promise.resolve([]);
  })({ namespace: 'default', call: () => Promise.reject(new Error('it is not asked')) });

  function whyAll(polledMsAgo: number, lease: unknown) {
    return asked(['why', '-A'], {
      temporal: () => Promise.resolve(aTemporal({ settings, runs, call: workersThatPolled(polledMsAgo) })),
      answerTo: ({ path }) => (path.includes('/leases/') ? lease : { metadata: {}, items: [] }),
    });
  }

  it.each([
    ['a worker polled a minute ago, and the Lease is renewed', 60_000, heldBy('pod-1', 2_000)],
    [
      'the user may not read the Lease',
      0,
      new ApiError('no', { classification: 'access-denied', status: 403 }),
    ],
  ])('says nothing of it where %s', async (_, polledMsAgo, lease) => {
    expect(await whyAll(polledMsAgo, lease)).toEqual({
      ...{ status: 0, stdout: 'everything is well: 0 resources\n', stderr: '' },
    });
  });

  it('says since when no worker polls, and how to look, although Temporal still lists one', async () => {
    const { status, stdout } = await whyAll(80_000, heldBy('pod-1', 2_000));
    expect(status).toBe(1);
    expect(stdout).toBe(
      [
        'No worker is polling',
        '  because   no worker has polled task queue "durable-operator" since 2026-01-01T11:58:40Z',
        '  you can   start the operator, or find out why it does not run',
        '            kubectl get pods -A -l app.kubernetes.io/name=durable-operator      show the Pods of the operator',
        '',
      ].join('\n'),
    );
  });

  it.each([
    ['its leader no longer renews the Lease', heldBy('pod-1', 31_000), 'pod-1 has not renewed', '11:59:29Z'],
    ['nobody holds the Lease', heldBy('', 5_000), 'nobody holds', '11:59:55Z'],
    ['there is no Lease', gone, 'nobody holds', ''],
  ])('says that nobody watches where %s', async (_, lease, words, since) => {
    const { status, stdout } = await whyAll(0, lease);
    expect(status).toBe(1);
    const when = since === '' ? '' : ` since 2026-01-01T${since}`;
    expect(stdout).toContain(
      `Nobody watches the cluster\n  because   ${words} the Lease system/operator${when}\n`,
    );
  });
});

describe('why -A, after the operator has moved to another task queue,', () => {
  const onOld: ListedRun = { ...RUN, taskQueue: 'old' };
  const ofOthers: ListedRun = { ...onOld, ref: { ...RUN.ref, controller: 'bucket' } };

  async function whyAll(polledMsAgo: number): Promise<string> {
    const filters: object[] = [];
    const runs = new (class extends RunReader {
      override listOpen = (filter: RunFilter) => {
        filters.push(filter);
        const isElsewhere = filter.otherThanTaskQueue !== undefined;
        return Promise.resolve(isElsewhere ? [onOld, onOld, ofOthers] : []);
      };
    })({ namespace: 'default', call: () => Promise.reject(new Error('it is not asked')) });
    const cluster = { uid: 'c' };
    const { stdout } = await asked(['why', '-A'], {
      temporal: () => Promise.resolve(aTemporal({ runs, cluster, call: workersThatPolled(polledMsAgo) })),
      answerTo: () => ({ metadata: {}, items: [] }),
    });
    expect(filters).toContainEqual({ otherThanTaskQueue: 'durable-operator', cluster });
    return stdout;
  }

  it('names the runs of its controllers that nobody works on, and how to end them', async () => {
    expect(await whyAll(91_000)).toContain(
      [
        'Runs are left on another task queue',
        '  because   2 open runs are on task queue "old", which no worker has polled since 2026-01-01T11:58:29Z',
        '  you can   start a worker with --task-queue old until they have ended',
        `            temporal workflow terminate --query "TaskQueue = 'old' AND ExecutionStatus = 'Running'"      or begin them anew here, once no step of them is in progress`,
      ].join('\n'),
    );
  });

  it('says nothing of runs on which somebody works', async () => {
    expect(await whyAll(90_000)).not.toContain('another task queue');
  });
});
