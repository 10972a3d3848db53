import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { converged, stalled, type NextStep } from '../../src/runs/decision.ts';
import { SILENT_LOGGER } from '../../src/api/logger.ts';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import { DOOMED } from '../../src/watcher/evaluation.ts';
import { Polls, type PollReader } from '../../src/watcher/polls.ts';

const STEP: NextStep = { do: 'create', because: 'there is no bucket' };
const REST = converged('it is there');
const STALLED = stalled({ reason: 'Refused', message: 'the store refuses it', advice: [] });
const BECAUSE = 'checked every 10m';

const refTo = (name: string, namespace = 'shop'): ResourceRef => ({
  ...{ controller: 'bucket', namespace, name, uid: name },
});

let shown: NextStep | undefined;
let read: readonly string[];
let asked: readonly string[];
let turns: number;
let polls: Polls;

type Look = PollReader['look'];

beforeEach(() => {
  jest.useFakeTimers();
  shown = REST;
  [read, asked] = [[], []];
  turns = 100;
});
afterEach(async () => {
  const stopped = polls.stop();
  await pass(1_000);
  await stopped;
  jest.useRealTimers();
});

function aPolls(look: Look | undefined): Polls {
  return new Polls({
    reader: look && {
      takeTurn() {
        if (turns === 0) return undefined;
        turns -= 1;
        return { end: () => (turns += 1) };
      },
      look(ref, signal) {
        read = [...read, ref.name];
        return look(ref, signal);
      },
    },
    find: (ref) => shown && { ref, decision: shown, inputs: '', resourceVersion: '1' },
    log: SILENT_LOGGER,
    onNeeded: (ref, because) => (asked = [...asked, `${ref.name}: ${because}`]),
  });
}

/** Reads that begin 40 ms after each other. */
const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
const many = (count: number, namespace?: string) =>
  Array.from({ length: count }, (_, index) => refTo(`${namespace ?? 'web'}-${index}`, namespace));

describe('a poll', () => {
  it.each([
    ['nothing is to be done', REST, REST, []],
    ['a stalled run stays as it is', STALLED, STALLED, []],
    ['a step is to be done', REST, STEP, [`web: ${BECAUSE}: there is no bucket`]],
    ['a rest has to be said', REST, STALLED, [`web: ${BECAUSE}: the store refuses it`]],
    ['a stalled run can go on', STALLED, STEP, [`web: ${BECAUSE}: there is no bucket`]],
    ['a stalled run has nothing left to do', STALLED, REST, [`web: ${BECAUSE}: it is there`]],
  ])('reads, and calls for a run only if needed: %s', async (_, view, live, runs) => {
    shown = view;
    polls = aPolls(() => Promise.resolve(live));
    polls.due(refTo('web'), BECAUSE);
    await pass(0);
    expect([read, asked]).toEqual([['web'], runs]);
  });

  it.each([
    ['a run is at work', STEP],
    ['its namespace is being deleted', DOOMED],
    ['it is gone', undefined],
  ])('of a resource is left out where %s', async (_, view) => {
    shown = view;
    polls = aPolls(() => Promise.resolve(STEP));
    polls.due(refTo('web'), BECAUSE);
    await pass(1_000);
    expect([read, asked]).toEqual([[], []]);
  });

  it('that fails calls for a run, which reports it', async () => {
    polls = aPolls(() => Promise.reject(new Error('the store is away')));
    polls.due(refTo('web'), BECAUSE);
    await pass(0);
    expect(asked).toEqual([`web: ${BECAUSE}: it could not be observed`]);
  });

  it('calls for a run at once in a process that has no clients', async () => {
    polls = aPolls(undefined);
    polls.due(refTo('web'), BECAUSE);
    await pass(0);
    expect(asked).toEqual([`web: ${BECAUSE}`]);
  });
});

describe('polls', () => {
  it('begin 40 ms after one another, however many are due', async () => {
    polls = aPolls(() => Promise.resolve(REST));
    for (const ref of many(100)) polls.due(ref, BECAUSE);
    await pass(0);
    expect(read).toHaveLength(1);
    await pass(1_000);
    expect(read).toHaveLength(26);
  });

  it('of one namespace take turns with those of others', async () => {
    polls = aPolls(() => Promise.resolve(REST));
    for (const ref of many(1_000, 'loud')) polls.due(ref, BECAUSE);
    polls.due(refTo('quiet', 'quiet'), BECAUSE);
    await pass(400);
    expect(read).toContain('quiet');
  });

  it('do not let more than eight runs wait beside what has changed', async () => {
    polls = aPolls(() => Promise.resolve(STEP));
    for (const ref of many(100)) polls.due(ref, BECAUSE);
    await pass(10_000);
    expect(asked).toHaveLength(8);
    polls.requested(refTo('web-0'));
    await pass(40);
    expect(asked).toHaveLength(9);
  });
});

it('a poll waits for a turn of its controller, and gives it back', async () => {
  turns = 0;
  polls = aPolls(() => Promise.resolve(STEP));
  polls.due(refTo('web'), BECAUSE);
  await pass(100_000);
  expect([read, asked]).toEqual([[], []]);
  turns = 1;
  await pass(500);
  expect([read, turns]).toEqual([['web'], 1]);
});

describe('reads that ignore their signal', () => {
  const hang: Look = () => new Promise(() => undefined);

  it('cost their own places for 15 s, and call for a run', async () => {
    polls = aPolls((ref, signal) => (ref.name === 'web' ? hang(ref, signal) : Promise.resolve(REST)));
    polls.due(refTo('web'), BECAUSE);
    for (const ref of many(20)) polls.due(ref, BECAUSE);
    await pass(1_000);
    expect(read).toHaveLength(21);
    await pass(14_000);
    expect(asked).toEqual([`web: ${BECAUSE}: it could not be observed`]);
  });

  it('do not hold up the end of the term, after which nobody is asked for a run', async () => {
    polls = aPolls(hang);
    for (const ref of many(20)) polls.due(ref, BECAUSE);
    await pass(1_000);
    await polls.stop();
    await pass(60_000);
    expect(asked).toEqual([]);
  });
});
