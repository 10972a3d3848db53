import { describe, expect, it } from '@jest/globals';
import { cpuMsIn, peakMbIn, rssMbIn } from '../../bench/processes.ts';

describe('what a process has used', () => {
  it('is its user and system time, whatever its name', () => {
    const afterName = 'S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0';
    expect(cpuMsIn(`42 (a) name (b)) ${afterName}`)).toBe(3000);
  });

  it('is the memory that is resident', () => {
    const status = 'Name:\tnode\nVmHWM:\t  409600 kB\nVmRSS:\t  204800 kB\nThreads:\t9\n';
    expect([rssMbIn(status), peakMbIn(status)]).toEqual([200, 400]);
  });
});
