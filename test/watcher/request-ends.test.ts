import { describe } from '@jest/globals';
import type { Evaluation } from '../../src/watcher/evaluation.ts';
import { reportedWith } from '../../src/watcher/news.ts';
import type { RunKnowledge } from '../../src/watcher/request-state.ts';
import {
  NOW,
  LONG_AGO,
  STEP,
  ANOTHER_STEP,
  EDITED,
  CONVERGED,
  STARTED,
  OPEN,
  startedAt,
  queuedFor,
  calling,
  startingUntil,
  aState,
  reported,
  requestFor,
  ended,
  listed,
  type Change,
  UNCHANGED,
  follows,
} from '../support/request-rules.ts';

/* Continues request-rules.test.ts: runs end, and lists show those that are open. */

describe('a run that has ended', () => {
  const last = reported(STEP, { requestedFor: requestFor(STEP), signalUnlessChangedAtMs: NOW + 1 });
  const withoutRun = {
    run: { is: 'unknown' },
    reported: undefined,
    signalUnlessChangedAtMs: undefined,
  } as const;
  const again = (ms: number, withoutEffect: number) => ({
    ...withoutRun,
    withoutEffect,
    settledAtMs: NOW + 500,
    notBeforeMs: NOW + ms,
    phase: queuedFor(NOW + ms),
  });
  const toldToEnd = aState({ run: OPEN, isEndSignalled: true });
  follows([
    ['is forgotten where nobody needs it', aState({ run: OPEN }), ended(CONVERGED), undefined],
    ['is forgotten where its resource is gone', aState({ run: OPEN }), ended(undefined), undefined],
    ['is forgotten where it was told to end, although the view is late', toldToEnd, ended(STEP), undefined],
    [
      'leaves a call in progress alone',
      aState({ run: OPEN, phase: calling('signal') }),
      ended(CONVERGED),
      withoutRun,
    ],
    ['leaves a turn alone', aState({ run: OPEN, phase: queuedFor(NOW) }), ended(undefined), withoutRun],
    [
      'leaves the call alone that told it to end',
      { ...toldToEnd, phase: calling('signal the end') },
      ended(STEP),
      UNCHANGED,
    ],
    [
      'is followed by another in 500 ms where something is different',
      last,
      ended(ANOTHER_STEP),
      again(500, 0),
    ],
    [
      'is followed by another in 500 ms where it was not requested here',
      reported(STEP),
      ended(STEP),
      again(500, 0),
    ],
    ['is followed by another later where nothing is different', last, ended(STEP), again(1_000, 1)],
    [
      'is followed by another ever later where nothing is different',
      { ...last, withoutEffect: 1 },
      ended(STEP),
      again(2_000, 2),
    ],
    [
      'is followed by another at least as often as the watch resyncs',
      { ...last, withoutEffect: 19 },
      ended(STEP),
      again(180_000, 20),
    ],
    [
      'is followed by another soon where something is different again',
      { ...last, withoutEffect: 19 },
      ended(ANOTHER_STEP),
      again(500, 0),
    ],
    ['is nothing where it is not known', undefined, ended(STEP), undefined],
  ]);
});

describe('a run that a list shows', () => {
  const found: RunKnowledge = { is: 'open', touchedAtMs: -Infinity, isListed: true, isStalled: true };
  const known = { run: { ...found, touchedAtMs: LONG_AGO } };
  const toldToEnd = aState({ run: OPEN, isEndSignalled: true });
  const isOpen = (view: Evaluation | undefined) => listed(true, view);
  follows([
    [
      'is taken to know what its resource needs, where another process started it',
      undefined,
      isOpen(STEP),
      { run: found, reported: reportedWith(STEP) },
    ],
    ['knows no more than it was told', reported(STEP, { run: STARTED }), isOpen(EDITED), known],
    [
      'is told to end where nobody needs it',
      undefined,
      isOpen(CONVERGED),
      { run: found, phase: queuedFor(0) },
    ],
    [
      'is told to end where its resource is gone',
      aState({ run: STARTED }),
      isOpen(undefined),
      { ...known, phase: queuedFor(LONG_AGO + 200) },
    ],
    ['is told to end once', toldToEnd, isOpen(CONVERGED), known],
    [
      'is told to end again where that is asked for',
      toldToEnd,
      listed(true, CONVERGED, { again: true }),
      { ...known, phase: queuedFor(LONG_AGO + 200) },
    ],
    [
      'is left alone within 5 s of its last call',
      aState({ run: startedAt(NOW - 4_999) }),
      isOpen(CONVERGED),
      UNCHANGED,
    ],
    [
      'is not left alone after that',
      aState({ run: startedAt(NOW - 5_000) }),
      isOpen(STEP),
      { run: { ...found, touchedAtMs: NOW - 5_000 } },
    ],
    [
      'is left alone while it is called',
      aState({ run: STARTED, phase: calling('signal') }),
      isOpen(CONVERGED),
      UNCHANGED,
    ],
    [
      'is left alone while its start waits for its effect',
      aState({ run: STARTED, phase: startingUntil(NOW + 1) }),
      isOpen(CONVERGED),
      UNCHANGED,
    ],
  ]);
});

describe('a run that a list does not show', () => {
  const lost = reported(STEP, { run: STARTED, signalUnlessChangedAtMs: NOW + 1 });
  const again = (ms: number, withoutEffect: number): Change => ({
    run: { is: 'unknown' },
    reported: undefined,
    signalUnlessChangedAtMs: undefined,
    withoutEffect,
    notBeforeMs: NOW + ms,
    phase: queuedFor(NOW + ms),
  });
  const isNotOpen = (view: Evaluation | undefined) => listed(false, view);
  follows([
    ['is forgotten where nobody needs it', aState({ run: STARTED }), isNotOpen(CONVERGED), undefined],
    ['is forgotten where its resource is gone', aState({ run: STARTED }), isNotOpen(undefined), undefined],
    ['is started again at once', lost, isNotOpen(STEP), again(0, 1)],
    [
      'is started again in 5 s the second time',
      { ...lost, withoutEffect: 1 },
      isNotOpen(STEP),
      again(5_000, 2),
    ],
    ['is started again ever later', { ...lost, withoutEffect: 2 }, isNotOpen(STEP), again(15_000, 3)],
    [
      'is started again nearly as often as the watch resyncs',
      { ...lost, withoutEffect: 19 },
      isNotOpen(STEP),
      again(175_000, 20),
    ],
    [
      'may be too young for the list, up to 3 s',
      aState({ run: startedAt(NOW - 2_999) }),
      isNotOpen(CONVERGED),
      UNCHANGED,
    ],
    [
      'is old enough for the list after 3 s',
      aState({ run: startedAt(NOW - 3_000) }),
      isNotOpen(CONVERGED),
      undefined,
    ],
    [
      'is left alone while it waits for its turn',
      aState({ run: STARTED, phase: queuedFor(NOW) }),
      isNotOpen(CONVERGED),
      UNCHANGED,
    ],
    [
      'is left alone while it is called',
      aState({ run: STARTED, phase: calling('signal') }),
      isNotOpen(CONVERGED),
      UNCHANGED,
    ],
    ['is nothing where it is not known', undefined, isNotOpen(STEP), undefined],
  ]);
});
