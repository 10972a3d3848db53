import { describe, expect, it } from '@jest/globals';
import { Turns, type NoTurn, type Turn, type TurnRequest } from '../../activities/turns.ts';

const SECOND = 1_000;

function aGate(slots: number, { controllers = 1 } = {}) {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const told: string[] = [];
  const turns = new Turns({
    ...{ slots, controllers, clock },
    onDenied: (controller) => told.push(`${controller} denied`),
    onWaited: (controller, ms) => told.push(`${controller} waited ${ms} ms`),
  });
  let count = 0;
  let taken = 0;
  const take = (request: Partial<TurnRequest> = {}): Turn | NoTurn =>
    turns.take({
      ...{ controller: 'bucket', namespace: 'shop', workflowId: `run-${(count += 1)}` },
      ...{ concurrency: undefined, isLocal: false, ...request },
    });
  /** As many as there are slots for, which Temporal counts. */
  const takeAll = (requestOf: (index: number) => Partial<TurnRequest> = () => ({})): number => {
    const before = taken;
    while (taken < slots && 'end' in take(requestOf(taken))) taken += 1;
    return taken - before;
  };
  return { clock, told, turns, take, takeAll };
}

const endOf = (turn: Turn | NoTurn): void => {
  if (!('end' in turn)) throw new Error(turn.because);
  turn.end();
};

describe('the slots of a process', () => {
  it.each([
    [5, 3],
    [100, 75],
    [2, 1],
    [1, 1],
  ])('of %i, one namespace has at most %i', (slots, most) => {
    const { takeAll, take } = aGate(slots);
    expect(takeAll()).toBe(most);
    expect(take()).toMatchObject({ because: 'namespace shop has its share of the activity slots' });
    expect(takeAll(() => ({ namespace: 'bank' }))).toBe(slots - most);
  });

  it('are shared by namespaces until none is left', () => {
    const { takeAll } = aGate(100);
    const each = ['a', 'b', 'c', 'd'].map((namespace) => takeAll(() => ({ namespace })));
    expect(each).toEqual([75, 25, 0, 0]);
  });

  it('that are kept are not all for one controller of several, however many its namespaces are', () => {
    const { take, takeAll } = aGate(100, { controllers: 2 });
    expect(takeAll((index) => ({ namespace: `team-${index}` }))).toBe(88);
    expect(take({ namespace: 'new' })).toMatchObject({
      because: expect.stringContaining('controller bucket has'),
    });
    expect(takeAll(() => ({ controller: 'website' }))).toBe(12);
  });

  it('of a cluster-scoped type have no namespace', () => {
    expect(aGate(100).takeAll(() => ({ namespace: undefined }))).toBe(100);
  });
});

describe('limits.concurrency', () => {
  it('counts each attempt, also one within a workflow task, which takes no slot', () => {
    const { take, takeAll } = aGate(100);
    expect(takeAll(() => ({ concurrency: 3, isLocal: true }))).toBe(3);
    expect(take({ concurrency: 3 })).toMatchObject({ because: expect.stringContaining('as its limits say') });
    expect(takeAll(() => ({ controller: 'website' }))).toBe(75);
  });
});

describe('who gets no turn', () => {
  it('gets one once another has ended, and that it waited is told', () => {
    const { take, takeAll, clock, told } = aGate(5);
    const first = take();
    expect(takeAll()).toBe(2);
    told.length = 0;
    expect(take({ workflowId: 'late' })).toHaveProperty('againMs');
    clock.nowMs += 4 * SECOND;
    endOf(first);
    expect(take({ workflowId: 'late' })).toHaveProperty('end');
    expect(told).toEqual(['bucket denied', 'bucket waited 4000 ms']);
  });

  it('comes again the later the more wait, and the longer turns take; within a minute', () => {
    const { take, takeAll, clock } = aGate(5);
    const againMs = () => (take() as NoTurn).againMs;
    takeAll();
    expect(againMs()).toBe(SECOND / 2);
    clock.nowMs += 3 * SECOND;
    const [sooner, later] = [againMs(), againMs()];
    expect(sooner).toBe(3 * SECOND);
    expect(later).toBe(4 * SECOND);
    clock.nowMs += 900 * SECOND;
    expect(againMs()).toBe(60 * SECOND);
  });
});

describe('what has time', () => {
  const poll = { controller: 'bucket', namespace: 'shop', concurrency: 2, isLocal: true };

  it('takes a turn that the limits of its controller leave, and counts', () => {
    const { turns, take } = aGate(100);
    const attempt = take({ concurrency: 2 });
    const first = turns.takeIfNobodyWaits({ ...poll, workflowId: 'bucket/shop/a/1' });
    expect(first).toBeDefined();
    expect(turns.takeIfNobodyWaits({ ...poll, workflowId: 'bucket/shop/b/2' })).toBeUndefined();
    endOf(attempt);
    expect(turns.takeIfNobodyWaits({ ...poll, workflowId: 'bucket/shop/b/2' })).toBeDefined();
  });

  it('comes after an attempt of its controller that waits, until that is forgotten', () => {
    const { clock, turns, take } = aGate(100);
    const both = [take({ concurrency: 2 }), take({ concurrency: 2 })];
    expect(take({ concurrency: 2, workflowId: 'bucket/shop/waits/3' })).toHaveProperty('againMs');
    for (const turn of both) endOf(turn);
    const asked = () => turns.takeIfNobodyWaits({ ...poll, workflowId: 'bucket/shop/a/1' });
    expect(asked()).toBeUndefined();
    const other = { ...poll, controller: 'other', workflowId: 'other/shop/a/1' };
    expect(turns.takeIfNobodyWaits(other)).toBeDefined();
    clock.nowMs += 62 * SECOND;
    expect(asked()).toBeDefined();
  });
});
