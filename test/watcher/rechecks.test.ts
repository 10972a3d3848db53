import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { converged } from '../../src/runs/decision.ts';
import { controlOf } from '../../src/engine/holds/annotations.ts';
import { Rechecks } from '../../src/watcher/rechecks.ts';

const KEY = 'shop/web';
const KNOWN = { isNew: false };
const NEW = { isNew: true };

let due: string[];
let looks: Rechecks;

beforeEach(() => {
  jest.useFakeTimers();
  due = [];
  looks = new Rechecks((key) => due.push(key));
});

afterEach(() => {
  looks.stop();
  jest.useRealTimers();
});

function asking(asked: Readonly<Record<string, string>>) {
  const annotations = Object.fromEntries(
    Object.entries(asked).map(([name, value]) => [`durable-operator.dev/${name}`, value]),
  );
  return controlOf({ metadata: { name: 'web', uid: 'uid-1', resourceVersion: '1', annotations } });
}

const request = (value: string) => asking({ 'reconcile-requested-at': value });

describe('a requested look', () => {
  it('is due once for each new value', () => {
    looks.seen(KEY, undefined, NEW);
    looks.seen(KEY, request('1'), KNOWN);
    expect(looks.due(KEY)).toBe('a reconcile was requested: 1');
    looks.done(KEY, looks.count(KEY));
    looks.seen(KEY, request('1'), KNOWN);
    expect(looks.due(KEY)).toBeUndefined();
    looks.seen(KEY, request('2'), KNOWN);
    expect(looks.due(KEY)).toBe('a reconcile was requested: 2');
  });

  it('is met by the list that shows a resource for the first time', () => {
    looks.seen(KEY, request('1'), NEW);
    expect(looks.due(KEY)).toBeUndefined();
    looks.seen(KEY, request('1'), KNOWN);
    expect(looks.due(KEY)).toBeUndefined();
  });

  it('stays due where a run was started for an earlier one', () => {
    looks.seen(KEY, undefined, NEW);
    looks.seen(KEY, request('1'), KNOWN);
    const started = looks.count(KEY);
    looks.seen(KEY, request('2'), KNOWN);
    looks.done(KEY, started);
    expect(looks.due(KEY)).toBe('a reconcile was requested: 2');
  });

  it('is due, too, where an annotation cannot be followed, once', () => {
    looks.seen(KEY, asking({ paused: 'True' }), NEW);
    expect(looks.due(KEY)).toContain('paused is "True"');
    looks.done(KEY, looks.count(KEY));
    looks.seen(KEY, asking({ paused: 'True' }), KNOWN);
    expect(looks.due(KEY)).toBeUndefined();
  });
});

it('a look that a poll calls for is due until a run is started', () => {
  looks.seen(KEY, undefined, NEW);
  looks.ask(KEY, 'checked every 10m: there is no bucket');
  looks.seen(KEY, undefined, KNOWN);
  expect(looks.due(KEY)).toBe('checked every 10m: there is no bucket');
  looks.done(KEY, looks.count(KEY));
  expect(looks.due(KEY)).toBeUndefined();
});

describe('a process that begins to lead', () => {
  /** What was requested as early as it says. */
  const requested = (beforeMs: number) => {
    looks.seen(KEY, undefined, NEW);
    looks.seen(KEY, request('1'), KNOWN);
    jest.advanceTimersByTime(beforeMs);
  };

  it('follows what was asked since 15 s before the last leader was last heard of', () => {
    requested(15_000);
    looks.lead(performance.now());
    expect(looks.due(KEY)).toBe('a reconcile was requested: 1');
  });

  it('leaves to the last leader what was asked before that', () => {
    requested(15_001);
    looks.lead(performance.now());
    expect(looks.due(KEY)).toBeUndefined();
  });

  it('follows all that was asked where no other has led', () => {
    requested(3_600_000);
    looks.lead(-Infinity);
    expect(looks.due(KEY)).toBe('a reconcile was requested: 1');
  });
});

describe('a decision that holds only for so long', () => {
  const recheckMs = 15_000;

  it('makes its resource due once, when that is over', () => {
    looks.decided(KEY, converged('starting', { recheckMs }));
    jest.advanceTimersByTime(14_999);
    expect(due).toEqual([]);
    jest.advanceTimersByTime(60_000);
    expect(due).toEqual([KEY]);
  });

  it.each<[what: string, happen: () => void]>([
    ['another decision', () => looks.decided(KEY, converged('all there'))],
    ['the end of the resource', () => looks.forget(KEY)],
    ['the end of the watcher', () => looks.stop()],
  ])('is forgotten with %s', (_, happen) => {
    looks.decided(KEY, converged('starting', { recheckMs }));
    happen();
    jest.advanceTimersByTime(60_000);
    expect(due).toEqual([]);
  });

  it('begins anew with each decision', () => {
    looks.decided(KEY, converged('starting', { recheckMs }));
    jest.advanceTimersByTime(10_000);
    looks.decided(KEY, converged('starting', { recheckMs }));
    jest.advanceTimersByTime(14_999);
    expect(due).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(due).toEqual([KEY]);
  });
});
