import { describe, expect, it } from '@jest/globals';
import { Undelivered } from '../../activities/run-memory.ts';
import type { Action } from '../../src/runs/decision.ts';

const LABEL: Action = { did: 'added', what: 'label a=b' };
const STATUS: Action = { did: 'updated', what: 'the status' };
const pods = (count: number): Action => ({ did: 'created', what: 'Pod', count });

describe('a step reports', () => {
  it('what it did, and nothing of the step whose result has reached the run', () => {
    const undelivered = new Undelivered();
    expect(undelivered.begin('run-1', 0)([LABEL])).toEqual([LABEL]);
    expect(undelivered.begin('run-1', 1)([STATUS])).toEqual([STATUS]);
    expect(undelivered.begin('run-1', 2)([])).toEqual([]);
  });

  it('what it did before, where its result was lost, and that once', () => {
    const undelivered = new Undelivered();
    undelivered.begin('run-1', 0)([LABEL]);
    expect(undelivered.begin('run-1', 0)([])).toEqual([LABEL]);
    expect(undelivered.begin('run-1', 0)([])).toEqual([LABEL]);
    expect(undelivered.begin('run-1', 1)([])).toEqual([]);
  });

  it('what all steps of a workflow task did that Temporal refused', () => {
    const undelivered = new Undelivered();
    undelivered.begin('run-1', 3)([pods(2)]);
    undelivered.begin('run-1', 4)([STATUS]);
    expect(undelivered.begin('run-1', 3)([pods(1)])).toEqual([pods(3), STATUS]);
    expect(undelivered.begin('run-1', 4)([])).toEqual([]);
  });

  it('what a step did that was interrupted, and came to its end meanwhile', () => {
    const undelivered = new Undelivered();
    const interrupted = undelivered.begin('run-1', 0);
    const next = undelivered.begin('run-1', 0);
    interrupted([pods(7)]);
    expect(next([pods(1)])).toEqual([pods(8)]);
    expect(undelivered.begin('run-1', 1)([])).toEqual([]);
  });

  it('what the last ten steps did, which is more than a workflow task has', () => {
    const undelivered = new Undelivered();
    const actions = Array.from({ length: 11 }, (_, i): Action => ({ did: 'created', what: `Job ${i}` }));
    for (const [i, action] of actions.entries()) undelivered.begin('run-1', i)([action]);
    expect(undelivered.begin('run-1', 0)([])).toEqual(actions.slice(1));
  });

  it('what its last heartbeat says in place of what this process knows, and that once', () => {
    const undelivered = new Undelivered();
    undelivered.begin('run-1', 1)([STATUS]);
    undelivered.begin('run-1', 2)([pods(2)]);
    const inAnotherProcess = [pods(5)];
    const end = undelivered.begin('run-1', 2, inAnotherProcess);
    expect(undelivered.of('run-1', 2)).toEqual([pods(5)]);
    expect(end([pods(1)])).toEqual([pods(6)]);
    expect(undelivered.of('run-1', 3)).toEqual([]);
    expect(undelivered.of('run-2', 0)).toEqual([]);
  });

  it('nothing of another run', () => {
    const undelivered = new Undelivered();
    undelivered.begin('run-1', 0)([LABEL]);
    expect(undelivered.begin('run-2', 0)([])).toEqual([]);
  });
});
