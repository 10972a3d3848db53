import { describe, expect, it } from '@jest/globals';
import { appendedLines, changeLine, tableLines, type SampleRow } from '../../local/table.ts';

const converged: SampleRow = {
  resource: 'Pod default/my-nginx',
  controller: 'pod-label',
  wanted: 'a label',
  state: 'converged',
  workflow: 'completed: added a label',
  elapsedMs: 87.4,
};

const waiting: SampleRow = {
  resource: 'Namespace team-1',
  controller: 'namespace-role-binding',
  wanted: 'a role binding',
  state: 'waiting',
  workflow: 'running',
  elapsedMs: 1949,
};

describe('the table of samples', () => {
  it('has one line a sample where there is room', () => {
    expect(tableLines([converged, waiting], 120)).toEqual([
      'RESOURCE              CONTROLLER              WANTED          STATE      TIME   WORKFLOW',
      'Pod default/my-nginx  pod-label               a label         converged  87 ms  completed: added a label',
      'Namespace team-1      namespace-role-binding  a role binding  waiting    1.9 s  running',
    ]);
  });

  it('has its long texts on lines of their own where there is not', () => {
    expect(tableLines([converged, waiting], 80)).toEqual([
      'RESOURCE              CONTROLLER              STATE      TIME',
      'Pod default/my-nginx  pod-label               converged  87 ms',
      '  wanted    a label',
      '  workflow  completed: added a label',
      'Namespace team-1      namespace-role-binding  waiting    1.9 s',
      '  wanted    a role binding',
      '  workflow  running',
    ]);
  });

  it('uses the last column of the terminal, too', () => {
    const widest = Math.max(...tableLines([converged], 500).map(({ length }) => length));
    expect(tableLines([converged], widest)).toHaveLength(2);
    expect(tableLines([converged], widest - 1)).toHaveLength(4);
  });

  it('tells a change in one line', () => {
    expect(changeLine(converged)).toBe(
      'Pod default/my-nginx: converged (87 ms); workflow completed: added a label',
    );
  });
});

const pod: SampleRow = { ...waiting, resource: 'Pod default/web', elapsedMs: 10 };

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
