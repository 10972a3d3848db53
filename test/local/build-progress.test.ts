import { describe, expect, it } from '@jest/globals';
import type { BuildProgress } from '../../src/local/build.ts';
import { showBuildProgress } from '../../src/local/build-progress.ts';

const etcd: BuildProgress = { server: 'etcd', index: 1, total: 7, elapsedMs: 0, state: 'building' };

function shown(isTTY: boolean, progress: BuildProgress[]): string[] {
  const written: string[] = [];
  const show = showBuildProgress({ isTTY, write: (text: string) => written.push(text) });
  progress.forEach(show);
  return written;
}

describe('the progress of a build', () => {
  it('is a line at begin and end, and one every 15 s, where it is not a terminal', () => {
    const seconds = [0, 1, 14, 15, 16, 31];
    const building = seconds.map((second) => ({ ...etcd, elapsedMs: second * 1000 }));
    expect(shown(false, [...building, { ...etcd, elapsedMs: 32_000, state: 'built' }])).toEqual([
      'building etcd (1 of 7, 0 s; only the first time)\n',
      'building etcd (1 of 7, 15 s; only the first time)\n',
      'building etcd (1 of 7, 31 s; only the first time)\n',
      'built etcd (1 of 7, 32 s)\n',
    ]);
  });

  it('is one line that changes on a terminal', () => {
    expect(
      shown(true, [etcd, { ...etcd, elapsedMs: 1000 }, { ...etcd, elapsedMs: 2000, state: 'built' }]),
    ).toEqual([
      '\r\u001b[Kbuilding etcd (1 of 7, 0 s; only the first time)',
      '\r\u001b[Kbuilding etcd (1 of 7, 1 s; only the first time)',
      '\r\u001b[Kbuilt etcd (1 of 7, 2 s)\n',
    ]);
  });

  it('is silent about what need not be built', () => {
    expect(
      shown(false, [
        { ...etcd, state: 'cached' },
        { ...etcd, state: 'found' },
      ]),
    ).toEqual([]);
  });
});
