import { describe, expect, it, jest } from '@jest/globals';
import { defaultOptions } from '../../src/config/config.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import { RunReader, type Run } from '../../src/temporal/run-reader.ts';
import type { RunTimeline } from '../../src/temporal/timeline.ts';

// Time passes at once. As the real one, it ends with the signal: else the loop would outlive the test.
jest.unstable_mockModule('node:timers/promises', () => ({
  setTimeout: (_: number, value: unknown, { signal }: { readonly signal: AbortSignal }) =>
    new Promise((resolve, reject) =>
      setImmediate(() => (signal.aborted ? reject(new Error('aborted')) : resolve(value))),
    ),
}));
const { RUN, TIMELINE } = await import('../support/findings.ts');
const { asked, aTemporal, workersThatPolled, NOW_MS } = await import('../support/ask-session.ts');

const HOUR_MS = 3_600_000;
const PATH = '/apis/batch.tutorial.kubebuilder.io/v1/namespaces/shop/podsets/web';
const podSet = {
  metadata: { namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '1', generation: 1 },
};

interface Read {
  readonly run: Run;
  readonly timeline: RunTimeline;
}

/** Answers one read after the other, an hour apart. Then a person presses Ctrl-C. */
async function watched(reads: readonly Read[], ...words: readonly string[]) {
  const interrupted = new AbortController();
  let count = 0;
  const read = () => reads[Math.min(count, reads.length) - 1] ?? checkedAt(0);
  class FakeRuns extends RunReader {
    override describe = () => {
      count += 1;
      if (count > reads.length) interrupted.abort();
      return Promise.resolve(read().run);
    };
    override timeline = () => Promise.resolve(read().timeline);
  }
  const settings = { version: '1.0', options: defaultOptions(durableOperator) };
  // A worker polls throughout.
  const call = workersThatPolled(-2 * reads.length * HOUR_MS);
  const runs = new FakeRuns({ namespace: 'default', call });
  return asked(['why', 'podset/web', '-w', ...words], {
    temporal: () => Promise.resolve(aTemporal({ settings, runs, call })),
    signal: interrupted.signal,
    now: () => NOW_MS + count * HOUR_MS,
    answerTo: ({ path }) => (path === PATH ? podSet : { metadata: {}, items: [] }),
  });
}

/** It waits, and checked last in that hour. */
function checkedAt(hour: number): Read {
  const atMs = NOW_MS + hour * HOUR_MS;
  const end = { how: 'in progress' } as const;
  const entries = [{ kind: 'wait', atMs, summary: 'Job a to end', timeoutMs: HOUR_MS, end }] as const;
  return { run: { ...RUN, startedAtMs: NOW_MS }, timeline: { ...TIMELINE, entries } };
}

function retriedFor(attempt: number): Read {
  const failure = { type: 'Refused', message: 'no' };
  const pending = [{ step: 'createPods', attempt, failure, nextTryAtMs: NOW_MS + 10 * HOUR_MS }];
  return { ...checkedAt(0), run: { ...RUN, pending } };
}

describe('why --watch', () => {
  it('explains again when something has changed, and not when only time has passed', async () => {
    const reads = [checkedAt(1), checkedAt(2), checkedAt(3), retriedFor(2), retriedFor(3), retriedFor(3)];
    const { stdout, stderr } = await watched(reads);
    expect(stdout.match(/^PodSet shop\/web is \w+/gm)).toEqual([
      'PodSet shop/web is waiting',
      'PodSet shop/web is retrying',
      'PodSet shop/web is retrying',
    ]);
    expect(stdout).toContain('attempt 2, next in 6h');
    expect(stderr).toBe('');
  });

  it('prints a document for each with -o yaml', async () => {
    const { stdout } = await watched([checkedAt(1), checkedAt(2), retriedFor(2)], '-o', 'yaml');
    expect(stdout.match(/^---$|^state: .*/gm)).toEqual(['state: Waiting', '---', 'state: Retrying']);
  });
});
