import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Memory, type Execution, type KnownObservation } from '../../activities/run-memory.ts';

const stepOf = (runId: string, changes = 0): Execution => ({
  workflowId: 'pod-set/shop/web/uid-1',
  runId,
  changes,
});
const live: KnownObservation = { observation: 'what the step before left', source: 'live' };

afterEach(() => {
  jest.useRealTimers();
});

describe('what a process knows of a run', () => {
  it.each([
    ['the view', (memory: Memory) => memory.seed('pod-set/shop/web/uid-1', 'a view')],
    ['what the step before left', (memory: Memory) => memory.keep(stepOf('run-1'), live)],
  ])('is out of date after ten seconds: %s', (_, remember) => {
    jest.useFakeTimers();
    const known = [10_000, 10_001].map((ms) => {
      const memory = new Memory({ now: () => Date.now() });
      remember(memory);
      jest.advanceTimersByTime(ms);
      return memory.take(stepOf('run-1'));
    });
    expect(known).toEqual([expect.anything(), undefined]);
  });

  it('is what the step before left, rather than the view', () => {
    const memory = new Memory();
    memory.seed('pod-set/shop/web/uid-1', 'a view');
    memory.keep(stepOf('run-1'), live);
    expect(memory.take(stepOf('run-1'))).toBe(live);
  });

  it('is handed over once, so that an attempt that fails with it leaves nothing behind', () => {
    const memory = new Memory();
    memory.keep(stepOf('run-1'), live);
    memory.take(stepOf('run-1'));
    expect(memory.take(stepOf('run-1'))).toBeUndefined();
    memory.seed('pod-set/shop/web/uid-1', 'a view');
    memory.take(stepOf('run-1'));
    expect(memory.take(stepOf('run-1'))).toBeUndefined();
  });

  it('is nothing once a run that works was signalled: the view may lack what the run has just written', () => {
    const memory = new Memory();
    memory.keep(stepOf('run-1', 0), live);
    memory.seed('pod-set/shop/web/uid-1', 'a view');
    expect(memory.take(stepOf('run-1', 1), () => undefined)).toBeUndefined();
    expect(memory.take(stepOf('run-1', 1), () => 'what is shown by now')).toBeUndefined();
  });

  it('is what is shown by now once a run that works was signalled, if that has what the run has written', () => {
    const memory = new Memory();
    const written: unknown[] = [];
    const shownSince = (seen: unknown) => {
      written.push(seen);
      return 'what is shown by now';
    };
    memory.seed('pod-set/shop/web/uid-1', 'a view');
    memory.keep(stepOf('run-1', 0), { observation: 'an earlier step', source: 'live' });
    // The run learns of the signal after this step.
    memory.take(stepOf('run-1', 0), shownSince);
    memory.keep(stepOf('run-1', 0), live);
    expect(memory.take(stepOf('run-1', 1), shownSince)).toEqual({
      observation: 'what is shown by now',
      source: 'watch',
    });
    expect(written).toEqual([live.observation]);
  });

  it('is nothing of what is shown where another process has signalled the run: the watch of this one may lag', () => {
    const memory = new Memory();
    memory.keep(stepOf('run-1', 0), live);
    expect(memory.take(stepOf('run-1', 1), () => 'what is shown by now')).toBeUndefined();
  });

  it('is the view that came with the signal where the run rested', () => {
    const memory = new Memory();
    memory.keep(stepOf('run-1', 0), live);
    memory.rest(stepOf('run-1', 0));
    memory.seed('pod-set/shop/web/uid-1', 'a newer view');
    expect(memory.take(stepOf('run-1', 1))).toEqual({ observation: 'a newer view', source: 'watch' });
  });

  it('is nothing of another run of the same resource', () => {
    const memory = new Memory();
    memory.keep(stepOf('run-1'), live);
    expect(memory.take(stepOf('run-2'))).toBeUndefined();
  });
});
