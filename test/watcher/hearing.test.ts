import { beforeEach, describe, expect, it } from '@jest/globals';
import { Hearing } from '../../src/watcher/hearing.ts';

const WORDLESS = false;
const MINUTE_MS = 60_000;

let nowMs: number;
let hearing: Hearing;

beforeEach(() => {
  nowMs = 0;
  hearing = new Hearing({}, () => nowMs);
});

/** Watches that are accepted and tell nothing for as long as they may. */
function watchesInVain(count: number): void {
  for (let i = 0; i < count; i += 1) {
    nowMs += hearing.patienceMs;
    hearing.watchEnded(WORDLESS);
  }
}

describe('watches that tell nothing', () => {
  it('need a list after two in a row, at most each ten minutes', () => {
    watchesInVain(1);
    expect(hearing.needsList).toBe(false);
    watchesInVain(1);
    expect(hearing.needsList).toBe(true);
    hearing.listed(false);
    watchesInVain(6);
    expect(hearing.needsList).toBe(false);
    nowMs += MINUTE_MS;
    expect(hearing.needsList).toBe(true);
  });

  it('need none where one in between told something', () => {
    watchesInVain(1);
    hearing.heard();
    hearing.watchEnded(true);
    watchesInVain(1);
    expect(hearing.needsList).toBe(false);
  });

  it('are blind if the list shows a change, and none tells it within ten seconds', () => {
    watchesInVain(2);
    hearing.listed(true);
    nowMs += 9_999;
    hearing.watchEnded(WORDLESS);
    expect(hearing.isBlind).toBe(false);
    nowMs += 1;
    hearing.watchEnded(WORDLESS);
    expect(hearing.isBlind).toBe(true);
    expect(hearing.silenceMs).toBe(nowMs);
  });
});

describe('the version before a change that a list has shown', () => {
  beforeEach(() => {
    watchesInVain(2);
    hearing.listed(true);
    hearing.begunAnew();
  });

  it('may be too old, which is no blindness, but has another list compare at once', () => {
    watchesInVain(1);
    expect([hearing.isBlind, hearing.needsList]).toEqual([false, true]);
    hearing.listed(true);
    watchesInVain(1);
    expect(hearing.isBlind).toBe(true);
  });

  it('is forgotten where that list shows nothing', () => {
    watchesInVain(1);
    hearing.listed(false);
    expect([hearing.isInDoubt, hearing.needsList]).toEqual([false, false]);
  });
});

describe('a type that is blind', () => {
  beforeEach(() => {
    watchesInVain(2);
    hearing.listed(true);
    watchesInVain(1);
  });

  it('is listed at once, and not only when the next comparison is due', () => {
    expect([hearing.needsList, hearing.listAfterMs]).toEqual([true, 0]);
  });

  it('is listed every 30 s, whether its watches stay open or end at once', () => {
    hearing.listed(false);
    hearing.watchEnded(WORDLESS);
    expect([hearing.needsList, hearing.listAfterMs]).toEqual([true, 30_000]);
    watchesInVain(1);
    expect([hearing.needsList, hearing.listAfterMs]).toEqual([true, 0]);
  });

  it('stays so, whatever lists show, until a watch tells something', () => {
    hearing.begunAnew();
    hearing.listed(false);
    watchesInVain(1);
    expect(hearing.isBlind).toBe(true);
    hearing.heard();
    expect([hearing.isBlind, hearing.silenceMs, hearing.patienceMs]).toEqual([false, 0, 90_000]);
  });
});
