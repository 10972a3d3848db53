import { describe, expect, it } from '@jest/globals';
import { failureOf } from '../../../src/controllers/git-build/failure.ts';
import type { PodView, Termination } from '../../../src/controllers/git-build/views.ts';
import { aJobView, aPodView } from '../../support/build-views.ts';

const FAILED = aJobView({
  state: 'failed',
  failure: 'BackoffLimitExceeded',
  failureMessage: 'it has reached its limit',
});
const OVERDUE = aJobView({ state: 'failed', failure: 'DeadlineExceeded' });
const EARLY = '2026-11-21T12:00:00Z';
const LATE = '2026-11-21T12:00:01Z';

const aFailedPod = (termination: Partial<Termination> = {}, fields: Partial<PodView> = {}): PodView =>
  aPodView({
    phase: 'failed',
    termination: { exitCode: 1, reason: 'Error', lastLines: '', ...termination },
    endedAt: EARLY,
    ...fields,
  });
const podsOf = (termination: Partial<Termination>) => [aFailedPod(termination)];

describe('why a Job failed', () => {
  it('is the exit code and the last lines of its last Pod', () => {
    const early = aFailedPod({ lastLines: 'early' });
    const late = aFailedPod({ exitCode: 2, lastLines: 'late\n' }, { endedAt: LATE });
    const message = 'Job build-helloworld failed: exit code 2: late';
    expect(failureOf(FAILED, [early, late])).toBe(message);
    expect(failureOf(FAILED, [late, early])).toBe(message);
  });

  it.each<[string, PodView]>([
    ['of another purpose', aFailedPod({ exitCode: 2 }, { purpose: 'cleanup', endedAt: LATE })],
    ['that has not failed itself', aPodView({ phase: 'succeeded', endedAt: LATE })],
  ])('is told by no Pod %s', (_, other) => {
    const message = failureOf(FAILED, [aFailedPod(), other]);
    expect(message).toBe('Job build-helloworld failed: exit code 1');
  });

  it('is what became of its Pod, where no container had an exit code', () => {
    const evicted = { exitCode: -1, reason: 'Evicted', lastLines: 'The node was low on memory.' };
    expect(failureOf(FAILED, podsOf(evicted))).toBe(
      'Job build-helloworld failed: Evicted: The node was low on memory.',
    );
  });

  it('is that its Pod failed, where nobody says why', () => {
    const unexplained = { exitCode: -1, reason: '', lastLines: 'The node is gone.' };
    expect(failureOf(FAILED, podsOf(unexplained))).toBe(
      'Job build-helloworld failed: its Pod failed: The node is gone.',
    );
  });

  it('is not cut where it is short enough in characters, however many bytes these have', () => {
    const lastLines = `first ${'😀'.repeat(500)}`;
    const message = `Job build-helloworld failed: exit code 1: ${lastLines}`;
    expect(failureOf(FAILED, podsOf({ lastLines }))).toBe(message);
  });

  it('is cut between characters: half of one comes back as another, and would be written again each time', () => {
    for (const edge of ['', 'x', 'xx', 'xxx']) {
      const message = failureOf(FAILED, podsOf({ lastLines: edge + '😀ab'.repeat(338) + edge }));
      expect(message).toContain(' … ');
      expect(message).not.toMatch(/\p{Cs}/u);
      expect(Array.from(message).length).toBeLessThan(1010);
    }
  });

  it('is that it ran out of memory', () => {
    expect(failureOf(FAILED, podsOf({ reason: 'OOMKilled', exitCode: 137 }))).toBe(
      'Job build-helloworld failed: it ran out of memory (OOMKilled)',
    );
  });

  it('is its deadline, and what kept its Pods from starting before', () => {
    expect(failureOf(OVERDUE, [], 'the image x cannot be pulled')).toBe(
      'Job build-helloworld failed: it exceeded its deadline; before that: the image x cannot be pulled',
    );
  });

  it('is its deadline alone where nothing kept its Pods from starting', () => {
    const message = 'Job build-helloworld failed: it exceeded its deadline';
    expect(failureOf(OVERDUE, [])).toBe(message);
    expect(failureOf(OVERDUE, [], '')).toBe(message);
  });

  it('is what the Job says where its Pods are gone', () => {
    expect(failureOf(FAILED, [])).toBe('Job build-helloworld failed: it has reached its limit');
  });

  it('is short: a quarter is its start, and the rest its end, which says most', () => {
    const message = failureOf(FAILED, podsOf({ lastLines: `${'x '.repeat(600)}${'e'.repeat(750)}` }));
    const [start, end] = message.split(' … ');
    expect(start).toMatch(/^Job build-helloworld failed: exit code 1: (x )+x?$/);
    expect(start).toHaveLength(250);
    expect(end).toBe('e'.repeat(750));
  });

  it('is whole up to 1,000 characters', () => {
    const before = 'Job build-helloworld failed: exit code 1: ';
    const lastLines = 'x'.repeat(1000 - before.length);
    expect(failureOf(FAILED, podsOf({ lastLines }))).toBe(before + lastLines);
    expect(failureOf(FAILED, podsOf({ lastLines: `${lastLines}x` }))).toContain(' … ');
  });
});

describe('the redaction of credentials', () => {
  /** As a kubelet keeps it: the last 2,048 bytes. */
  const messageAfter = (log: string) => {
    const lastLines = Buffer.from(log).subarray(-2048).toString();
    const termination = { exitCode: 128, reason: 'Error', lastLines };
    return failureOf(aJobView({ state: 'failed' }), [aPodView({ phase: 'failed', termination })]);
  };

  it('leaves none of a URL that the start of a log is cut in', () => {
    const url = 'https://ci:s3cret-ü-s3cret@git.example/x.git?token=s3cret';
    for (let cut = 0; cut <= url.length; cut += 1) {
      const rest = `${url.slice(cut)}': 403\n`;
      const log = `unable to access '${url}': 403\n${'.'.repeat(2048 - Buffer.byteLength(rest) - 4)} end`;
      expect(messageAfter(log)).not.toContain('cret');
      expect(messageAfter(log)).toMatch(/ end$/);
    }
    expect(messageAfter('x'.repeat(5000))).toBe('Job build-helloworld failed: exit code 128');
  });
});
