import { describe } from '@jest/globals';
import type { Evaluation } from '../../src/watcher/evaluation.ts';
import { reportedWith } from '../../src/watcher/news.ts';
import type { Effect } from '../../src/watcher/request-events.ts';
import { SETTLED, type Calling } from '../../src/watcher/request-state.ts';
import {
  NOW,
  LONG_AGO,
  STEP,
  ANOTHER_STEP,
  EDITED,
  WAITING,
  CONVERGED,
  STARTED,
  OPEN,
  openSince,
  startedAt,
  queuedFor,
  calling,
  startingUntil,
  aState,
  reported,
  changedSince,
  requestFor,
  firstSeen,
  changed,
  resynced,
  turn,
  TIME,
  UNAVAILABLE,
  REFUSED,
  NOT_LEADING,
  ANSWERED,
  UNCHANGED,
  follows,
} from '../support/request-rules.ts';

/* One rule a row. That the rules together lose no need and leave no run over is explored in request-machine.test.ts. */

describe('a resource that needs a run', () => {
  const since = { neededSinceMs: NOW };
  const first = { ...since, phase: queuedFor(0) };
  const asked = { firstSeen: reportedWith(STEP), reported: reportedWith(STEP) };
  const again = { reported: undefined, phase: SETTLED, settledAtMs: NOW + 500, notBeforeMs: NOW + 5_000 };
  follows([
    ['is queued at once where it was not known', undefined, changed(STEP), first],
    ['is queued by a resync', undefined, resynced(STEP), { ...first, firstSeen: changedSince(STEP) }],
    [
      'is queued when it is first seen',
      undefined,
      firstSeen(STEP),
      { ...first, firstSeen: changedSince(STEP) },
    ],
    [
      'is as it was first seen while nothing of it is news',
      aState({ ...first, firstSeen: reportedWith(STEP) }),
      changed(ANOTHER_STEP),
      { firstSeen: changedSince(STEP) },
    ],
    [
      'is not as it was first seen where it is edited before its turn',
      aState({ ...first, firstSeen: reportedWith(STEP) }),
      changed(EDITED),
      { firstSeen: undefined },
    ],
    [
      'is not as it was first seen where it is edited while Temporal is asked',
      aState({ ...since, ...asked, phase: calling('start', { change: 'possible' }) }),
      changed(EDITED),
      {
        firstSeen: undefined,
        reported: changedSince(STEP),
        phase: calling('start', { change: 'possible', isDirty: true }),
      },
    ],
    [
      'is not as it was first seen where it has needed none in the meantime',
      aState({ ...first, run: OPEN, firstSeen: reportedWith(STEP) }),
      changed(CONVERGED),
      { neededSinceMs: undefined, firstSeen: undefined, notBeforeMs: NOW + 1_000 },
      [{ do: 'report', neededForMs: 0 }],
    ],
    [
      'is queued at once where it was edited since',
      aState({ ...again, requestedFor: requestFor(EDITED) }),
      changed(STEP),
      { ...first, notBeforeMs: 0 },
    ],
    [
      'is queued for when its last run has settled where something else is different',
      aState({ ...again, requestedFor: requestFor(ANOTHER_STEP) }),
      changed(STEP),
      { ...since, notBeforeMs: NOW + 500, phase: queuedFor(NOW + 500) },
    ],
    [
      'waits out the backoff of runs without effect where nothing is different',
      aState({ ...again, requestedFor: requestFor(STEP) }),
      changed(STEP),
      { ...since, phase: queuedFor(NOW + 5_000) },
    ],
    [
      'waits at least until its last run has settled where nothing is different',
      aState({ ...again, notBeforeMs: 0, requestedFor: requestFor(STEP) }),
      changed(STEP),
      { ...since, notBeforeMs: NOW + 500, phase: queuedFor(NOW + 500) },
    ],
    [
      'waits out the backoff of calls that failed, whatever is edited',
      aState({ ...again, failures: 1, requestedFor: requestFor(STEP) }),
      changed(EDITED),
      { ...since, phase: queuedFor(NOW + 5_000) },
    ],
    [
      'is to have a run again, although that was told to end',
      aState({ run: OPEN, isEndSignalled: true }),
      changed(STEP),
      { ...first, isEndSignalled: false, phase: queuedFor(LONG_AGO + 200) },
    ],
  ]);
});

describe('a change of a resource with an open run', () => {
  const news = { reported: changedSince(STEP) };
  const rests = { reported: changedSince(WAITING) };
  const toRest = { reported: { ...changedSince(STEP), rest: 'a rest' } };
  const inStarting = (isDirtyStill: boolean) =>
    reported(STEP, { run: STARTED, failures: 1, phase: startingUntil(NOW + 300, { isDirty: isDirtyStill }) });
  follows([
    [
      'is news where it was edited, 200 ms after the last call',
      reported(STEP, { run: openSince(NOW) }),
      changed(EDITED),
      { ...news, phase: queuedFor(NOW + 200) },
    ],
    [
      'keeps to the time before which nothing is asked',
      reported(STEP, { notBeforeMs: NOW + 5_000 }),
      changed(EDITED),
      { ...news, phase: queuedFor(NOW + 5_000) },
    ],
    [
      'makes its turn come earlier',
      reported(STEP, { phase: queuedFor(NOW + 900) }),
      changed(EDITED),
      { ...news, phase: queuedFor(LONG_AGO + 200) },
    ],
    [
      'never makes its turn come later',
      reported(STEP, { run: openSince(NOW), phase: queuedFor(NOW + 100) }),
      changed(EDITED),
      { ...news, phase: queuedFor(NOW + 100) },
    ],
    [
      'is remembered while Temporal is asked',
      reported(STEP, { phase: calling('signal') }),
      changed(EDITED),
      { ...news, phase: calling('signal', { isDirty: true }) },
    ],
    [
      'is remembered while a start waits for its effect',
      inStarting(false),
      changed(EDITED),
      { ...news, phase: startingUntil(NOW + 300, { isDirty: true }) },
    ],
    ['is none where the view rests', reported(WAITING), changed(WAITING), rests],
    [
      'takes no turn away where the view rests',
      reported(WAITING, { phase: queuedFor(NOW) }),
      changed(WAITING),
      rests,
    ],
    [
      'shows, where the view rests, that the run that was started is open',
      reported(STEP, { run: STARTED }),
      changed(WAITING),
      { ...toRest, run: openSince(LONG_AGO) },
    ],
    [
      'shows the effect of a start where the view rests',
      inStarting(false),
      changed(WAITING),
      { ...toRest, run: openSince(LONG_AGO), failures: 0, phase: SETTLED },
    ],
    [
      'is news after the effect of a start where one came before',
      inStarting(true),
      changed(WAITING),
      { ...toRest, run: openSince(LONG_AGO), failures: 0, phase: queuedFor(LONG_AGO + 200) },
    ],
    [
      'is news in 2 s where its step stands, up to 5 s after the last call',
      reported(STEP, { run: openSince(NOW - 5_000) }),
      changed(ANOTHER_STEP),
      { ...news, signalUnlessChangedAtMs: NOW + 2_000 },
    ],
    [
      'is news in 500 ms where its step stands, later than that',
      reported(STEP, { run: openSince(NOW - 5_001) }),
      changed(ANOTHER_STEP),
      { ...news, signalUnlessChangedAtMs: NOW + 500 },
    ],
    [
      'makes what stood stand anew',
      reported(STEP, { signalUnlessChangedAtMs: NOW + 1 }),
      changed(ANOTHER_STEP),
      { ...news, signalUnlessChangedAtMs: NOW + 500 },
    ],
    [
      'is none where only time has passed',
      reported(STEP, { signalUnlessChangedAtMs: NOW + 1 }),
      resynced(STEP),
      UNCHANGED,
    ],
    [
      'is none where only time has passed, and it needs no run',
      aState({ run: OPEN }),
      resynced(CONVERGED),
      UNCHANGED,
    ],
  ]);
});

describe('a resource that needs no run any more', () => {
  const forgets = {
    reported: undefined,
    requestedFor: undefined,
    withoutEffect: 0,
    notBeforeMs: NOW + 1_000,
  };
  const since = {
    neededSinceMs: NOW - 2_500,
    requestedFor: requestFor(STEP),
    withoutEffect: 3,
    signalUnlessChangedAtMs: NOW + 1,
  };
  const over = { ...forgets, neededSinceMs: undefined, signalUnlessChangedAtMs: undefined };
  const report: Effect[] = [{ do: 'report', neededForMs: 2_500 }];
  follows([
    ['is nothing to remember where it never did', undefined, changed(CONVERGED), undefined],
    ['is nothing to remember where it is gone, and never did', undefined, changed(undefined), undefined],
    ['is forgotten where no run is known', aState(since), changed(CONVERGED), undefined, report],
    ['is not reported twice', aState({ run: STARTED }), changed(CONVERGED), forgets],
    [
      'is remembered as long as its run may be open',
      aState({ ...since, run: STARTED }),
      changed(CONVERGED),
      over,
      report,
    ],
    [
      'is remembered until its turn, which it has already',
      aState({ ...since, phase: queuedFor(NOW) }),
      changed(CONVERGED),
      over,
      report,
    ],
    [
      'is remembered until the call is answered',
      aState({ ...since, phase: calling('start') }),
      changed(CONVERGED),
      over,
      report,
    ],
    [
      'gives its place back where its start waits for the effect',
      reported(STEP, { ...since, run: STARTED, phase: startingUntil(NOW + 300) }),
      changed(CONVERGED),
      { ...over, phase: SETTLED },
      report,
    ],
    [
      'has its open run told to end in a second',
      reported(STEP, { ...since, run: OPEN }),
      changed(undefined),
      { ...over, phase: queuedFor(NOW + 1_000) },
      report,
    ],
    [
      'has its run told to end once',
      aState({ ...since, run: OPEN, isEndSignalled: true }),
      changed(CONVERGED),
      { neededSinceMs: undefined, signalUnlessChangedAtMs: undefined },
      report,
    ],
  ]);
});

describe('the turn of a resource', () => {
  const asks = {
    reported: reportedWith(EDITED),
    requestedFor: requestFor(EDITED),
    signalUnlessChangedAtMs: undefined,
  };
  const edited = { view: EDITED };
  const due = { phase: queuedFor(NOW), signalUnlessChangedAtMs: NOW + 1 };
  const start: Effect[] = [{ do: 'start', view: EDITED }];
  const end = (reason: string, view: Evaluation | undefined): Effect[] => [
    { do: 'signal', reason, change: 'seen', view },
  ];
  const tells = (view: Evaluation | undefined) => ({
    isEndSignalled: true,
    phase: calling('signal the end', { view }),
  });
  follows([
    [
      'starts a run where none is known',
      aState(due),
      turn(EDITED),
      { ...asks, phase: calling('start', edited) },
      start,
    ],
    [
      'has seen no change of what is as it was first seen',
      aState({ ...due, firstSeen: reportedWith(EDITED) }),
      turn(EDITED),
      { ...asks, phase: calling('start', { ...edited, change: 'possible' }) },
      start,
    ],
    [
      'has seen no change of it where a list has shown its run, either',
      aState({ ...due, run: OPEN, firstSeen: reportedWith(EDITED) }),
      turn(EDITED),
      { ...asks, phase: calling('signal', { ...edited, change: 'possible' }) },
      [{ do: 'signal', reason: 'another label', change: 'possible', view: EDITED }],
    ],
    [
      'starts a run where the last one may have ended',
      reported(STEP, { ...due, run: STARTED }),
      turn(EDITED),
      { ...asks, phase: calling('start', edited) },
      start,
    ],
    [
      'signals the run that is open',
      reported(STEP, due),
      turn(EDITED),
      { ...asks, phase: calling('signal', edited) },
      [{ do: 'signal', reason: 'another label', change: 'seen', view: EDITED }],
    ],
    [
      'asks nothing where nothing is news any more',
      reported(WAITING, { phase: queuedFor(NOW) }),
      turn(WAITING),
      { phase: SETTLED },
    ],
    ['forgets what needs no run where none is known', aState(due), turn(CONVERGED), undefined],
    [
      'leaves a run alone that may have ended where it needs none',
      aState({ ...due, run: STARTED }),
      turn(undefined),
      { phase: SETTLED },
    ],
    [
      'tells the open run that nobody needs it',
      aState({ ...due, run: OPEN }),
      turn(CONVERGED),
      tells(CONVERGED),
      end('the resource is in its desired state', CONVERGED),
    ],
    [
      'tells the open run that its resource is gone',
      aState({ ...due, run: OPEN }),
      turn(undefined),
      tells(undefined),
      end('the resource is gone', undefined),
    ],
    ['is nothing where it was not queued', reported(STEP), turn(EDITED), UNCHANGED],
    ['is nothing where it is not known', undefined, turn(EDITED), undefined],
  ]);
});

describe('an answer of Temporal', () => {
  const asked = (call: Calling['call'], more: Partial<Calling> = {}) =>
    reported(STEP, { run: STARTED, failures: 2, phase: calling(call, more) });
  const DIRTY = { isDirty: true };
  const signals = { run: openSince(NOW), failures: 0, phase: SETTLED };
  const anew = { failures: 0, phase: queuedFor(NOW + 200) };
  const start: Effect[] = [{ do: 'start', view: STEP }];
  const signal: Effect[] = [{ do: 'signal', reason: 'no label', change: 'seen', view: STEP }];
  const { started, alreadyOpen, signalled, notOpen } = ANSWERED;
  follows([
    [
      'that a run was started lets it wait for the effect',
      asked('start'),
      started,
      { run: startedAt(NOW), failures: 0, phase: startingUntil(NOW + 300) },
    ],
    [
      'that a run was started keeps what has changed meanwhile',
      asked('start', DIRTY),
      started,
      { run: startedAt(NOW), failures: 0, phase: startingUntil(NOW + 300, DIRTY) },
    ],
    [
      'that one is open already has that one signalled',
      asked('start'),
      alreadyOpen,
      { phase: calling('signal instead of start') },
      signal,
    ],
    [
      'that one is open already keeps what has changed meanwhile',
      asked('start', DIRTY),
      alreadyOpen,
      { phase: calling('signal instead of start', DIRTY) },
      signal,
    ],
    ['that it was signalled shows that it is open', asked('signal'), signalled, signals],
    [
      'that it was signalled instead of started shows that it is open',
      asked('signal instead of start'),
      signalled,
      signals,
    ],
    [
      'that it was signalled is followed by another call where something has changed meanwhile',
      asked('signal', DIRTY),
      signalled,
      { ...signals, ...anew },
    ],
    [
      'that it was told to end shows that it may have ended',
      asked('signal the end'),
      signalled,
      { ...signals, run: startedAt(NOW) },
    ],
    [
      'that it is not open any more has another one started',
      asked('signal'),
      notOpen,
      { phase: calling('start') },
      start,
    ],
    [
      'that it is not open any more keeps what has changed meanwhile',
      asked('signal', DIRTY),
      notOpen,
      { phase: calling('start', DIRTY) },
      start,
    ],
    [
      'that it has ended since its start found it open makes it ask anew',
      asked('signal instead of start'),
      notOpen,
      { ...anew, run: startedAt(NOW), reported: undefined },
    ],
    [
      'that it has ended before it was told to lets it be forgotten',
      asked('signal the end'),
      notOpen,
      undefined,
    ],
    [
      'that it has ended before it was told to keeps what has changed meanwhile',
      asked('signal the end', DIRTY),
      notOpen,
      { run: { is: 'unknown' }, failures: 0, phase: queuedFor(0) },
    ],
    ['is nothing where nothing was asked', reported(STEP), started, UNCHANGED],
    ['is nothing where it is not known', undefined, started, undefined],
  ]);
});

describe('a call that failed', () => {
  const open = reported(STEP, { isEndSignalled: true, phase: calling('signal') });
  const none = aState({ phase: calling('start') });
  const retry = (ms: number) => ({
    reported: undefined,
    isEndSignalled: false,
    notBeforeMs: NOW + ms,
    phase: queuedFor(NOW + ms),
  });
  follows([
    [
      'is repeated in a second where this process does not lead for a moment, as if it was never made',
      { ...open, failures: 3 },
      NOT_LEADING,
      retry(1_000),
    ],
    [
      'may have been made: there may be a run',
      none,
      UNAVAILABLE,
      { ...retry(200), run: startedAt(NOW), failures: 1, notBeforeMs: NOW + 100 },
    ],
    ['leaves an open run open', open, REFUSED, { ...retry(1_000), failures: 1 }],
    [
      'is repeated ever later where it is refused',
      { ...open, failures: 1 },
      REFUSED,
      { ...retry(2_000), failures: 2 },
    ],
    [
      'is repeated at least every 30 s where it is refused',
      { ...open, failures: 19 },
      REFUSED,
      { ...retry(30_000), failures: 20 },
    ],
    [
      'is repeated ever later where Temporal is away',
      { ...open, failures: 1 },
      UNAVAILABLE,
      { ...retry(200), failures: 2 },
    ],
    [
      'is repeated at least every 5 s where Temporal is away',
      { ...open, failures: 19 },
      UNAVAILABLE,
      { ...retry(5_000), failures: 20 },
    ],
    ['is nothing where nothing was asked', reported(STEP), REFUSED, UNCHANGED],
    ['is nothing where it is not known', undefined, REFUSED, undefined],
  ]);
});

describe('time that has passed', () => {
  const starting = reported(STEP, { run: STARTED, failures: 1, phase: startingUntil(NOW) });
  const settles = { failures: 0, phase: SETTLED };
  follows([
    ['ends the wait for the effect of a start', starting, TIME, settles],
    [
      'ends it before a step has stood long enough',
      { ...starting, signalUnlessChangedAtMs: NOW + 1 },
      TIME,
      settles,
    ],
    ['ends it first where both are due', { ...starting, signalUnlessChangedAtMs: NOW }, TIME, settles],
    [
      'makes a step news that has stood',
      reported(STEP, { signalUnlessChangedAtMs: NOW }),
      TIME,
      { reported: undefined, signalUnlessChangedAtMs: undefined, phase: queuedFor(LONG_AGO + 200) },
    ],
    [
      'makes a step news that has stood while a start waits for its effect',
      { ...starting, phase: startingUntil(NOW + 1), signalUnlessChangedAtMs: NOW },
      TIME,
      {
        reported: undefined,
        signalUnlessChangedAtMs: undefined,
        phase: startingUntil(NOW + 1, { isDirty: true }),
      },
    ],
    ['is nothing where nothing is due', reported(STEP), TIME, UNCHANGED],
    ['is nothing where it is not known', undefined, TIME, undefined],
  ]);
});
