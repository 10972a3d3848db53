import { describe, expect, it } from '@jest/globals';
import {
  isDirty,
  isInProgress,
  isRunUnknown,
  newState,
  runsByController,
  SETTLED,
  wakeAtMs,
  type Phase,
} from '../../src/watcher/request-state.ts';
import {
  NOW,
  REF,
  STARTED,
  OPEN,
  openSince,
  queuedFor,
  calling,
  startingUntil,
  aState,
} from '../support/request-rules.ts';

describe('a resource', () => {
  const inPhase = (phase: Phase) => aState({ phase });

  it('is known by nothing but its name at first', () => {
    expect(newState(REF)).toEqual({
      ref: REF,
      phase: { at: 'settled' },
      run: { is: 'unknown' },
      isEndSignalled: false,
      settledAtMs: 0,
      notBeforeMs: 0,
      failures: 0,
      withoutEffect: 0,
    });
  });

  it.each([
    ['settled', SETTLED, false, false],
    ['queued', queuedFor(NOW), false, true],
    ['calling', calling('start'), true, false],
    ['calling, and changed since', calling('start', { isDirty: true }), true, true],
    ['starting', startingUntil(NOW), true, false],
    ['starting, and changed since', startingUntil(NOW, { isDirty: true }), true, true],
  ] as const)('that is %s', (_, phase, holdsPlace, hasToBeCalled) => {
    expect(isInProgress(inPhase(phase))).toBe(holdsPlace);
    expect(isDirty(inPhase(phase))).toBe(hasToBeCalled);
  });

  it('that is not known holds no place, and wakes nobody', () => {
    expect(isInProgress(undefined)).toBe(false);
    expect(wakeAtMs(undefined)).toBeUndefined();
  });

  it('wakes when the first of what it waits for is due', () => {
    const starting = startingUntil(NOW + 2);
    expect(wakeAtMs(aState())).toBeUndefined();
    expect(wakeAtMs(inPhase(queuedFor(NOW)))).toBeUndefined();
    expect(wakeAtMs(inPhase(starting))).toBe(NOW + 2);
    expect(wakeAtMs(aState({ signalUnlessChangedAtMs: NOW + 1 }))).toBe(NOW + 1);
    expect(wakeAtMs(aState({ phase: starting, signalUnlessChangedAtMs: NOW + 1 }))).toBe(NOW + 1);
    expect(wakeAtMs(aState({ phase: starting, signalUnlessChangedAtMs: NOW + 3 }))).toBe(NOW + 2);
  });

  it('is looked for in a list, unless one has shown its run since the last call, or the next is due', () => {
    expect(isRunUnknown(aState({ run: OPEN }))).toBe(false);
    expect(isRunUnknown(aState({ run: openSince(NOW) }))).toBe(true);
    expect(isRunUnknown(aState({ run: STARTED }))).toBe(true);
    expect(isRunUnknown(aState())).toBe(true);
    expect(isRunUnknown(aState({ run: STARTED, phase: queuedFor(NOW) }))).toBe(false);
  });
});

describe('the open runs', () => {
  it('are counted by controller, with those that are stalled', () => {
    const builds = { ...REF, controller: 'git-build' };
    const states = [
      aState({ run: OPEN }),
      aState({ run: openSince(NOW) }),
      aState({ run: STARTED }),
      aState(),
      aState({ ref: builds, run: OPEN }),
      aState({ ref: { ...REF, controller: 'pod-set' } }),
    ];
    expect(runsByController(states)).toEqual([
      { controller: 'pod-label', open: 3, stalled: 1 },
      { controller: 'git-build', open: 1, stalled: 1 },
    ]);
  });
});
