import { describe, expect, it } from '@jest/globals';
import type { Row } from '../../src/ask/get/rows.ts';
import { overviewData, overviewOf, overviewText } from '../../src/ask/why/everywhere.ts';
import { plain } from '../support/findings.ts';

const NOW_MS = Date.parse('2026-01-01T12:00:00Z');
const quota = {
  code: 'QuotaExceeded',
  because: 'exceeded quota: few',
  advice: ['raise the quota', { run: 'kubectl describe quota -n shop', to: 'show the quota' }],
};
const failed = { code: 'BuildFailed', because: 'exit code 1', advice: ['correct the spec'] };

function row(name: string, changes: Partial<Row> = {}): Row {
  const of = { namespace: 'shop', resource: `podset/${name}`, controller: 'pod-set' };
  return { key: name, ...of, state: 'UpToDate', sinceMs: NOW_MS - 1_000, message: '', ...changes };
}

const minutes = (count: number) => ({ sinceMs: NOW_MS - count * 60_000 });
const codes = (...rows: readonly Row[]) => overviewOf(rows, NOW_MS).groups.map(({ code }) => code);
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
    const other = { ...quota, because: 'exceeded quota: none' };
    const rows = [
      row('a', { state: 'Retrying', cause: quota, ...minutes(2) }),
      row('b', { state: 'Retrying', cause: other, ...minutes(1) }),
    ];
    expect(text(...rows)).toContain('  because   podset/a -n shop: exceeded quota: few\n');
  });

  it('names the worst first: what is stalled or blocks a deletion, then what fails, and a pause last', () => {
    const rows = [
      row('paused', { state: 'Paused' }),
      row('waits', { state: 'Waiting', cause: { ...quota, code: 'Waits' } }),
      row('asks', { state: 'AwaitingApproval' }),
      row('odd', { cause: { ...quota, code: 'InvalidAnnotation' } }),
      row('unready', { state: 'NotReady', cause: { ...quota, code: 'Unschedulable' } }),
      row('fails', { state: 'Retrying', cause: quota }),
      row('going', { state: 'Waiting', isBeingDeleted: true, cause: { ...quota, code: 'NodeNotReady' } }),
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
    const problem = { because: 'no worker has polled', advice: ['start the operator'] };
    const said = overviewText(overviewOf([row('a')], NOW_MS, problem), plain, NOW_MS);
    expect(said).toContain('No worker takes up changes\n  because   no worker has polled\n');
  });

  it('has data for programs', () => {
    expect(overviewData(overviewOf([row('a', { state: 'Stalled', cause: failed })], NOW_MS))).toEqual({
      resources: 1,
      causes: [
        {
          ...{ state: 'Stalled', code: 'BuildFailed', controller: 'pod-set', count: 1 },
          oldest: '2026-01-01T11:59:59.000Z',
          which: [{ namespace: 'shop', resource: 'podset/a' }],
          because: 'exit code 1',
          advice: { sentence: 'correct the spec' },
        },
      ],
    });
  });
});
