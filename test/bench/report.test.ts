import { describe, expect, it } from '@jest/globals';
import { jsonLines, readable, type Machine } from '../../bench/report.ts';

const MACHINE: Machine = {
  date: '2026-01-02T03:04:05.000Z',
  cpu: 'A CPU',
  cores: 2,
  memoryGb: 8,
  system: 'linux 6 x64',
  versions: { operator: '1.0.0', kubernetes: 'v1.35.0', temporal: '1.30.0', node: 'v24.0.0' },
  loadBefore: 0.1,
};

const ADD = {
  case: 'add',
  converged: 10,
  seconds: 2,
  perSecond: 5,
  p50Ms: 20,
  p99Ms: 40,
  apiCalls: { 'patch pods 200': 10, 'patch pods 409': 5, 'create events 201': 20 },
  workflows: 15,
  eventsPerRun: 6,
  actionsPerRun: 2,
  cpuMs: { operator: 100, temporal: 200, 'kube-apiserver': 300 },
  rssMb: 150,
};

describe('the readable report', () => {
  it('gives calls and CPU per convergence, and Events apart', () => {
    const row = readable(MACHINE, [ADD])
      .split('\n')[2]
      ?.split('|')
      .map((cell) => cell.trim());
    expect(row).toEqual([
      '',
      'add',
      '10',
      '2',
      '20',
      '40',
      '5',
      '1.5',
      '2',
      '6',
      '3',
      '10',
      '20',
      '30',
      '150',
      '',
    ]);
  });

  it('gives the calls of the whole case, and Events apart', () => {
    expect(readable(MACHINE, [ADD])).toContain('- add: 15 calls, and 20 for Events: 10 × patch pods 200, ');
  });

  it('says that nothing was called, and where nobody could tell', () => {
    const idle = { case: 'idle', converged: 0, seconds: 60, workflows: 0 };
    expect(readable(MACHINE, [{ ...idle, apiCalls: {} }])).toContain('- idle: no calls, 0 workflows');
    expect(readable(MACHINE, [idle])).toContain('- idle: no audit log, 0 workflows');
  });
});

describe('the JSON lines', () => {
  it('name the machine, then hold one case each, unrounded', () => {
    const lines = jsonLines(MACHINE, [{ ...ADD, p50Ms: 20.123 }])
      .trimEnd()
      .split('\n');
    expect(lines.map((line): unknown => JSON.parse(line))).toEqual([
      { machine: MACHINE },
      { ...ADD, p50Ms: 20.123 },
    ]);
  });
});
