import { describe, expect, it } from '@jest/globals';
import { appendedLines, tableLines, type SampleRow } from '../../local/table.ts';

const converged: SampleRow = {
  resource: 'Pod default/my-nginx',
  controller: 'pod-label',
  state: 'converged',
  workflow: 'completed: added a label',
  elapsedMs: 87.4,
};

const waiting: SampleRow = {
  resource: 'Namespace team-1',
  controller: 'namespace-role-binding',
  state: 'waiting',
  workflow: 'running',
  elapsedMs: 1949,
};

describe('the table of samples', () => {
  it('has one line a sample', () => {
    expect(tableLines([converged, waiting])).toEqual([
      'RESOURCE              CONTROLLER              STATE      TIME   WORKFLOW',
      'Pod default/my-nginx  pod-label               converged  87 ms  completed: added a label',
      'Namespace team-1      namespace-role-binding  waiting    1.9 s  running',
    ]);
  });
});

describe('samples without a terminal', () => {
  it('have a line for each change of each controller', () => {
    const written: string[] = [];
    const table = appendedLines({ write: (text: string) => written.push(text) });
    const first: SampleRow = { ...converged, state: 'waiting', workflow: 'running', elapsedMs: 10 };
    table.show([first, { ...first, controller: 'other' }]);
    table.show([{ ...first, elapsedMs: 60 }]);
    table.show([converged]);
    expect(written).toEqual([
      'Pod default/my-nginx: waiting (10 ms); workflow running\n',
      'Pod default/my-nginx: waiting (10 ms); workflow running\n',
      'Pod default/my-nginx: converged (87 ms); workflow completed: added a label\n',
    ]);
  });
});
