import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { RunsUnavailable } from '../../src/watcher/runs.ts';
import { Sweeps, type Sweepable } from '../../src/watcher/sweeps.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** What a dispatcher is asked, and when; the lists take as long as the test says. */
function aTerm({ pendingCount = 0, isBusy = false, hasUnknown = false } = {}) {
  const begunMs = performance.now();
  /** The seconds at which a list was asked for. */
  const lists: string[] = [];
  const failures: Error[] = [];
  const held: (() => void)[] = [];
  const state: Mutable<Sweepable> & { isHeld: boolean } = {
    ...{ pendingCount, isBusy, hasUnknown, isHeld: false },
    async sweep() {
      lists.push(`${Math.round((performance.now() - begunMs) / 1_000)}`);
      if (state.isHeld) await new Promise<void>((resolve) => held.push(resolve));
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
    },
  };
  const log = aRecordingLogger();
  const answers = (): void => {
    state.isHeld = false;
    for (const answer of held.splice(0)) answer();
  };
  return { sweeps: new Sweeps(state, log), state, lists, failures, answers };
}

const seconds = (count: number) => jest.advanceTimersByTimeAsync(count * 1_000);
const AWAY = new RunsUnavailable('away');

describe('the open runs', () => {
  it('are listed twice after a process has begun to lead, and then no more where none is known', async () => {
    const { sweeps, lists } = aTerm();
    sweeps.begin();
    await seconds(300);
    expect(lists).toEqual(['3', '33']);
  });

  it('are listed as long as any is known, and less often once it is certain that they are open', async () => {
    const { sweeps, lists, state } = aTerm({ pendingCount: 1, hasUnknown: true });
    sweeps.begin();
    await seconds(25);
    state.hasUnknown = false;
    await seconds(95);
    expect(lists).toEqual(['3', '9', '21', '45', '75', '105']);
  });

  it('are not listed while runs are started, but after half a minute all the same', async () => {
    const { sweeps, lists, state } = aTerm({ isBusy: true });
    sweeps.begin();
    await seconds(29);
    expect(lists).toEqual([]);
    await seconds(2);
    expect(lists).toEqual(['30']);
    state.isBusy = false;
  });

  it('are listed once each resync period where none is known', async () => {
    const { sweeps, lists } = aTerm();
    sweeps.begin();
    await seconds(180);
    sweeps.resynced();
    await seconds(180);
    expect(lists).toEqual(['3', '33', '210']);
  });

  it('are listed soon where a resource needs a run', async () => {
    const { sweeps, lists } = aTerm();
    sweeps.begin();
    await seconds(100);
    sweeps.soon();
    sweeps.soon();
    await seconds(100);
    expect(lists).toEqual(['3', '33', '103']);
  });
});

describe('a list that fails', () => {
  it('stays owed, with growing pauses, although no run is known', async () => {
    const { sweeps, lists, failures } = aTerm();
    failures.push(...Array<Error>(5).fill(AWAY));
    sweeps.begin();
    await seconds(300);
    expect(lists).toEqual(['3', '9', '21', '45', '75', '105']);
  });

  it('is not made any sooner because of what happens meanwhile', async () => {
    const { sweeps, lists, failures } = aTerm();
    failures.push(AWAY, AWAY, AWAY);
    sweeps.begin();
    await seconds(22);
    sweeps.soon();
    await seconds(22);
    expect(lists).toEqual(['3', '9', '21']);
  });
});

it('nothing is listed any more once it is stopped, whatever was under way', async () => {
  const { sweeps, lists, state, answers } = aTerm({ pendingCount: 1 });
  state.isHeld = true;
  sweeps.begin();
  await seconds(4);
  sweeps.stop();
  sweeps.soon();
  answers();
  await seconds(300);
  expect(lists).toEqual(['3']);
  expect(jest.getTimerCount()).toBe(0);
});
