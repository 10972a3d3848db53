import { describe, expect, it } from '@jest/globals';
import { appendedLines } from '../../src/local/live-table.ts';
import type { SampleRow } from '../../src/local/table.ts';

const pod: SampleRow = {
  resource: 'Pod default/web',
  controller: 'pod-label',
  wanted: 'a label',
  state: 'waiting',
  workflow: 'running',
  elapsedMs: 10,
};

function shown(views: readonly (readonly SampleRow[])[]): string[] {
  const written: string[] = [];
  const table = appendedLines({ write: (text: string) => written.push(text) });
  views.forEach((rows) => table.show(rows));
  table.end();
  return written;
}

describe('samples that are shown where lines cannot be redrawn', () => {
  it('are told of once for each change', () => {
    const later = { ...pod, elapsedMs: 60 };
    const converged: SampleRow = { ...pod, state: 'converged', workflow: 'completed', elapsedMs: 110 };
    expect(shown([[pod], [later], [converged], [converged]])).toEqual([
      'Pod default/web: waiting (10 ms); workflow running\n',
      'Pod default/web: converged (110 ms); workflow completed\n',
    ]);
  });

  it('are told apart by the controller as well', () => {
    const other = { ...pod, controller: 'other' };
    expect(
      shown([
        [pod, other],
        [pod, other],
      ]),
    ).toHaveLength(2);
  });
});
