import { beforeEach, describe, expect, it } from '@jest/globals';
import { Memory, type KnownObservation } from '../../activities/run-memory.ts';
import { dispatching, stepActivities, type StepActivity } from '../../activities/index.ts';
import {
  PartlyDone,
  type Performed,
  type Confirmation,
  type Reconciler,
  type AttemptContext,
} from '../../activities/reconciler.ts';
import { changeOf } from '../../activities/overridden.ts';
import type { Circumstances } from '../../src/engine/holds/control.ts';
import { StepRun } from '../../activities/step-run.ts';
import {
  converged,
  sentenceOf,
  waitFor,
  type Action,
  type NextStep,
  type Observe,
  type Refusal,
  type Step,
} from '../../src/runs/decision.ts';
import { PODS } from '../../src/api/kinds.ts';
import { ApiError, type ApiErrorClass } from '../../src/kubernetes/errors.ts';
import type { StepInput } from '../../src/runs/run.ts';
import { asActivity, type FakeContext } from '../support/activity-context.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

/** A shelf of so many books, which is to have so many, and of which a report may be due. */
interface Shelf {
  readonly wanted: number;
  readonly books: number;
  /** Undefined: nobody has looked. */
  readonly isLit?: boolean;
  readonly refusal?: string;
  readonly reported?: string;
  readonly isClosed?: boolean;
}

interface ShelfStep extends Step {
  readonly do: 'addBook' | 'removeBook' | 'report' | 'updateStatus';
}

function decide({ wanted, books, isLit, refusal, reported, isClosed }: Shelf): NextStep<ShelfStep> {
  if (isClosed) return waitFor('the shop to open', 1_000);
  if (refusal !== undefined && refusal !== reported) return { do: 'report', because: 'refused' };
  if (books > wanted) return { do: 'removeBook', because: 'a book too many' };
  if (books === wanted) return converged(`${books} books`);
  if (isLit === undefined) return { do: 'observe', because: 'is there light?' };
  return { do: 'addBook', because: 'a book is missing', event: ADDING };
}

const ADDING = { type: 'Normal', reason: 'Adding', action: 'AddBook', note: 'adding a book' } as const;
const REF = { controller: 'shelf', namespace: 'shop', name: 'web', uid: 'uid-1' };
const ADDED = [{ did: 'added', what: 'Book', count: 1 }];

const failure = (classification: ApiErrorClass, message = 'no') => new ApiError(message, { classification });

/** A shelf that is live, and what is done to it. Faults are thrown by the next calls, one each. */
function aShelf(live: Shelf) {
  const world = { live };
  const calls: string[] = [];
  const faults: Partial<Record<string, Error[]>> = {};
  const called = (name: string) => {
    calls.push(name);
    const fault = faults[name]?.shift();
    if (fault !== undefined) throw fault;
  };
  const perform = (step: ShelfStep, before: Shelf): Performed<Shelf> => {
    called(step.do);
    switch (step.do) {
      case 'report':
      case 'updateStatus':
        world.live = { ...world.live, reported: before.refusal ?? '' };
        return {
          observation: { ...before, reported: before.refusal ?? '' },
          did: [{ did: 'reported', what: 'it' }],
        };
      case 'removeBook':
        world.live = { ...world.live, books: world.live.books - 1 };
        return {
          observation: { ...before, books: before.books - 1 },
          did: [{ did: 'removed', what: 'Book' }],
        };
      case 'addBook':
        world.live = { ...world.live, books: world.live.books + 1 };
        return { observation: { ...before, books: before.books + 1 }, did: ADDED };
    }
  };
  const reconciler = {
    controller: {
      steps: { addBook: 'add a book', removeBook: 'remove a book', report: 'report', updateStatus: 'report' },
      decide,
      primary: { type: PODS },
    },
    observe: async () => {
      called('observe');
      return await Promise.resolve(world.live);
    },
    look: async (_: Observe, observation: Shelf) => {
      called('look');
      return await Promise.resolve({ ...observation, isLit: true });
    },
    confirm: async (): Promise<Confirmation<Shelf>> => {
      called('confirm');
      return await Promise.resolve('as shown');
    },
    perform: async (step: ShelfStep, before: Shelf) => await Promise.resolve(perform(step, before)),
  } satisfies Reconciler<Shelf>;
  const run = (name: string, known?: KnownObservation<Shelf>, changed: Partial<Reconciler<Shelf>> = {}) => {
    const context = { ref: REF, now: Date.now, superseded: new AbortController().signal };
    return new StepRun<Shelf>({ ...reconciler, ...changed }, context).perform(name, known);
  };
  return { world, calls, faults, reconciler, run };
}

const watched = (observation: Shelf): KnownObservation<Shelf> => ({ observation, source: 'watch' });
const live = (observation: Shelf): KnownObservation<Shelf> => ({ observation, source: 'live' });
const MISSING: Shelf = { wanted: 1, books: 0, isLit: true };
const FULL: Shelf = { wanted: 1, books: 1, isLit: true };

describe('an attempt of an earlier run', () => {
  const untilMs = 20_000;
  const asked: unknown[] = [];
  const runWith = (
    mayStillArrive: boolean,
    more: Partial<AttemptContext<Shelf>>,
    changed: Partial<Reconciler<Shelf>> = {},
  ) => {
    const { reconciler } = aShelf(MISSING);
    const decides = (shelf: Shelf, _nowMs: number, circumstances?: Circumstances) => {
      asked.push(circumstances?.unknown);
      return decide(shelf);
    };
    const controller = {
      ...reconciler.controller,
      decide: decides,
      mayStillArrive: () => (mayStillArrive ? 'addBook' : undefined),
    };
    const context = {
      ref: REF,
      now: () => untilMs - 15_000,
      superseded: new AbortController().signal,
      ...more,
    };
    const changedReconciler = { ...reconciler, ...changed, controller };
    return new StepRun<Shelf>(changedReconciler, context).perform('addBook', undefined);
  };
  beforeEach(() => {
    asked.splice(0);
  });

  it('may still take effect for so long: each decision of the first step, and the next step, are told', async () => {
    const unknown = [{ step: 'addBook', begunMs: 5_000, untilMs, isEndUnseen: true }];
    expect(await runWith(true, { isFirst: () => true })).toMatchObject({ did: ADDED, unknown });
    expect(asked).toEqual([unknown, unknown]);
  });

  it('is not looked for where none can be there, nor later in the run', async () => {
    expect(await runWith(false, { isFirst: () => true })).not.toHaveProperty('unknown');
    expect(await runWith(true, { isFirst: () => false })).not.toHaveProperty('unknown');
  });

  it('is not one of this run that began to write while this one observed', async () => {
    let hasBegun = false;
    const observe = async () => {
      hasBegun = true;
      return await Promise.resolve(MISSING);
    };
    const run = runWith(true, { isFirst: () => !hasBegun }, { observe });
    expect(await run).not.toHaveProperty('unknown');
  });

  it('is asked for once: what this step itself has created is no earlier attempt', async () => {
    let books = 0;
    const observe = () => Promise.resolve({ ...MISSING, books });
    const perform = () => {
      books += 1;
      return Promise.reject(failure('conflict', 'somebody was faster'));
    };
    const { reconciler } = aShelf(MISSING);
    const controller = {
      ...reconciler.controller,
      mayStillArrive: (shelf: Shelf) => (shelf.books > 0 ? 'addBook' : undefined),
    };
    const context = {
      ...{ ref: REF, now: () => 0, isFirst: () => true },
      superseded: new AbortController().signal,
    };
    const run = new StepRun<Shelf>({ ...reconciler, controller, observe, perform }, context);
    expect(await run.perform('addBook', undefined)).not.toHaveProperty('unknown');
  });

  it('of this run is told by the run', async () => {
    const unknown = [{ step: 'addBook', begunMs: 0, untilMs: 7 }];
    expect(await runWith(true, { unknown })).not.toHaveProperty('unknown');
    expect(asked).toEqual([unknown, unknown]);
  });
});

describe('a step activity', () => {
  it('observes where nothing is known, performs its step, and says what comes next', async () => {
    const { calls, run } = aShelf({ ...MISSING, wanted: 2 });
    expect(await run('addBook')).toMatchObject({
      did: ADDED,
      next: { do: 'addBook', because: 'a book is missing' },
      known: { observation: { books: 1 }, source: 'live' },
    });
    expect(calls).toEqual(['observe', 'addBook']);
  });

  it('reads nothing where the step before has left what is known', async () => {
    const { calls, run } = aShelf(MISSING);
    expect(await run('addBook', live(MISSING))).toMatchObject({ did: ADDED, next: converged('1 books') });
    expect(calls).toEqual(['addBook']);
  });

  it('whose decision names another step writes nothing and returns that step', async () => {
    const { calls, run } = aShelf({ ...FULL, books: 2 });
    expect(await run('addBook')).toMatchObject({
      did: [],
      next: { do: 'removeBook', because: 'a book too many' },
      known: { source: 'live' },
    });
    expect(calls).toEqual(['observe']);
  });

  it('looks for what the decision asks for, and decides again', async () => {
    const { calls, run } = aShelf({ wanted: 1, books: 0 });
    expect(await run('addBook')).toMatchObject({ did: ADDED, next: { do: 'converged' } });
    expect(calls).toEqual(['observe', 'look', 'addBook']);
  });

  it('observes everything where its controller has no other way to look', async () => {
    const { calls, world, reconciler } = aShelf({ wanted: 1, books: 0 });
    const observe = async () => {
      const seen = await reconciler.observe();
      world.live = MISSING;
      return seen;
    };
    const { controller, perform } = reconciler;
    const context = { ref: REF, now: Date.now, superseded: new AbortController().signal };
    const bare = new StepRun<Shelf>({ controller, perform, observe }, context);
    expect(await bare.perform('addBook', undefined)).toMatchObject({ did: ADDED });
    expect(calls).toEqual(['observe', 'observe', 'addBook']);
    world.live = MISSING;
    expect(await bare.perform('addBook', watched(MISSING))).toMatchObject({ did: ADDED });
    expect(calls.slice(3)).toEqual(['observe', 'addBook']);
  });
});

describe('a step from the view of the watcher', () => {
  it('is confirmed before it is performed', async () => {
    const { calls, run } = aShelf(MISSING);
    expect(await run('addBook', watched(MISSING))).toMatchObject({ did: ADDED });
    expect(calls).toEqual(['confirm', 'addBook']);
  });

  it('is decided anew from all that is live where it cannot be confirmed', async () => {
    const { calls, run } = aShelf(FULL);
    const confirm = () => Promise.resolve('unknown' as const);
    expect(await run('addBook', watched(MISSING), { confirm })).toMatchObject({ did: [], next: FULL_AGAIN });
    expect(calls).toEqual(['observe']);
  });

  it('is not performed where what was confirmed calls for another', async () => {
    const { calls, run } = aShelf(FULL);
    const confirm = () => Promise.resolve({ observation: FULL });
    expect(await run('addBook', watched(MISSING), { confirm })).toMatchObject({ did: [], next: FULL_AGAIN });
    expect(calls).toEqual([]);
  });

  const FULL_AGAIN = converged('1 books');
});

describe('a conflict', () => {
  it.each(['conflict', 'already-exists', 'not-found'] as const)(
    'is no failure: the world is observed and decided on again (%s)',
    async (classification) => {
      const { calls, faults, run } = aShelf(MISSING);
      faults['addBook'] = [failure(classification)];
      expect(await run('addBook', live(MISSING))).toMatchObject({ did: ADDED });
      expect(calls).toEqual(['addBook', 'observe', 'addBook']);
    },
  );

  it('that comes again and again is left to the backoff of Temporal', async () => {
    const { calls, faults, run } = aShelf(MISSING);
    faults['addBook'] = Array.from({ length: 9 }, () => failure('conflict', 'somebody else wrote'));
    await expect(run('addBook')).rejects.toThrow('somebody else wrote');
    expect(calls.filter((call) => call === 'addBook')).toHaveLength(5);
  });

  it.each(['conflict', 'already-exists', 'not-found'] as const)(
    'that a step was performed into is met in the same way (%s)',
    async (classification) => {
      const { calls, faults, reconciler, run } = aShelf(MISSING);
      faults['addBook'] = [failure(classification), failure(classification)];
      expect(await run('addBook', live(MISSING), { perform: told(reconciler) })).toMatchObject({
        did: ADDED,
      });
      expect(calls).toEqual(['addBook', 'observe', 'addBook', 'observe', 'addBook']);
    },
  );

  it('that a step was performed into again and again is reported, and left to the backoff of Temporal', async () => {
    const { calls, faults, reconciler, run } = aShelf(MISSING);
    faults['addBook'] = Array.from({ length: 9 }, () => failure('conflict', 'somebody else wrote'));
    const failing = run('addBook', undefined, {
      perform: told(reconciler),
      controller: reporting(reconciler),
    });
    await expect(failing).rejects.toBeInstanceOf(PartlyDone);
    expect(calls.filter((call) => call === 'addBook')).toHaveLength(5);
    expect(calls.at(-1)).toBe('updateStatus');
  });
});

/** Tells of a failure instead of throwing it. */
function told(reconciler: Reconciler<Shelf>): Reconciler<Shelf>['perform'] {
  return async (step, before, context) => {
    try {
      return await reconciler.perform(step, before, context);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { observation: { ...before, refusal: error.message }, did: [], refusal: error };
    }
  };
}

/** Whose status says that a step fails. */
function reporting({ controller }: Reconciler<Shelf>): Reconciler<Shelf>['controller'] {
  const decideToReport = (seen: Shelf): NextStep<ShelfStep> =>
    seen.refusal !== undefined && seen.refusal !== seen.reported
      ? { do: 'updateStatus', because: 'it fails' }
      : decide(seen);
  return { ...controller, decide: decideToReport };
}

describe('a step that fails for a while', () => {
  function failing(shelf = aShelf(MISSING)) {
    shelf.faults['addBook'] = [failure('unavailable', 'out of order')];
    const { reconciler } = shelf;
    const changed = { perform: told(reconciler), controller: reporting(reconciler) };
    return { ...shelf, run: () => shelf.run('addBook', undefined, changed) };
  }

  it('has its status say so, and fails with what that wrote', async () => {
    const { calls, world, run } = failing();
    await expect(run()).rejects.toMatchObject({
      cause: { message: 'out of order' },
      did: [{ did: 'reported', what: 'it' }],
    });
    expect(calls).toEqual(['observe', 'addBook', 'updateStatus']);
    expect(world.live.reported).toBe('out of order');
  });

  it('fails as it is, and writes nothing, where no status is due', async () => {
    const { calls, world, run } = failing();
    world.live = { ...MISSING, reported: 'out of order' };
    await expect(run()).rejects.toMatchObject({ message: 'out of order' });
    expect(calls).toEqual(['observe', 'addBook']);
  });
});

describe('a decision', () => {
  it('is told whether what it is made from is live, and whether the Namespace is paused', async () => {
    const { reconciler } = aShelf(MISSING);
    const asked: unknown[] = [];
    const decideAndTell = (seen: Shelf, _: number, circumstances: unknown) => {
      asked.push(circumstances);
      return decide(seen);
    };
    const run = (known: KnownObservation<Shelf>, isNamespacePaused?: () => Promise<boolean>) => {
      const context = {
        ref: REF,
        now: Date.now,
        superseded: new AbortController().signal,
        isNamespacePaused,
      };
      const controller = { ...reconciler.controller, decide: decideAndTell };
      return new StepRun<Shelf>({ ...reconciler, controller }, context).perform('observe', known);
    };
    await run(watched(MISSING));
    await run(live(MISSING), () => Promise.resolve(true));
    await run(live(MISSING), () => Promise.resolve(false));
    expect(asked).toEqual([
      { isLive: false, isNamespacePaused: false, unknown: [] },
      { isLive: true, isNamespacePaused: true, unknown: [] },
      { isLive: true, isNamespacePaused: false, unknown: [] },
    ]);
  });
});

describe('a refusal', () => {
  const refused =
    (did: Performed<Shelf>['did'], fold: Partial<Shelf> = {}) =>
    (_: ShelfStep, before: Shelf): Promise<Performed<Shelf>> =>
      Promise.resolve({
        observation: { ...before, ...fold },
        did,
        refusal: failure('refused', 'the quota is used up'),
      });

  it('fails the step only when nothing else has to be done first', async () => {
    const { run } = aShelf(MISSING);
    const reporting = refused([], { refusal: 'the quota is used up' });
    expect(await run('addBook', undefined, { perform: reporting })).toMatchObject({
      did: [],
      next: { do: 'report' },
    });
    const reported = refused([], { refusal: 'the quota is used up', reported: 'the quota is used up' });
    await expect(run('addBook', undefined, { perform: reported })).rejects.toThrow('the quota is used up');
  });

  it('that another process has met is considered where all is observed', async () => {
    const { reconciler } = aShelf(MISSING);
    const context = {
      ref: REF,
      now: Date.now,
      superseded: new AbortController().signal,
      refusal: { because: 'refused', message: 'no room' } as const,
    };
    const considering = {
      ...reconciler,
      withRefusal: (shelf: Shelf, { message }: Refusal) => ({ ...shelf, refusal: message }),
    };
    const run = (each: Reconciler<Shelf>) => new StepRun<Shelf>(each, context).perform('observe', undefined);
    expect((await run(considering)).next.do).toBe('report');
    expect((await run(reconciler)).next.do).toBe('addBook');
  });

  it('does not hide what was done before it', async () => {
    const { run } = aShelf({ ...MISSING, wanted: 5 });
    expect(await run('addBook', undefined, { perform: refused(ADDED, { books: 3 }) })).toMatchObject({
      did: ADDED,
      next: { do: 'addBook' },
    });
  });
});

describe('a write that something changes on its way', () => {
  const sent = { metadata: { labels: { color: 'red' } } };
  const answerOf = (color: string) => ({
    metadata: { name: 'book', uid: 'u', resourceVersion: '1', labels: { color } },
  });
  const OVERRIDDEN = { because: 'overridden', step: 'addBook' } as const;

  /** Adds a book, which turns into another one where something changes it. */
  const adding =
    (calls: string[], how: string, color: () => string) =>
    (step: ShelfStep, before: Shelf, { progress }: AttemptContext<Shelf>): Promise<Performed<Shelf>> => {
      calls.push(`${how} ${step.do}`);
      progress?.(ADDED);
      const books = before.books + (color() === 'red' ? 1 : 0);
      const changed = changeOf(sent, answerOf(color()));
      return Promise.resolve({ observation: { ...before, books }, did: ADDED, changed });
    };

  /** One execution of the step, after what the run knows of an earlier one. */
  async function execution(color: string, refusal?: Refusal, shelf: Partial<Reconciler<Shelf>> = {}) {
    const calls: string[] = [];
    const { reconciler } = aShelf(MISSING);
    const changed = {
      perform: adding(calls, 'really', () => color),
      rehearse: adding(calls, 'tried', () => color),
    };
    const progress = (did: readonly Action[]) => calls.push(`told ${sentenceOf(did)}`);
    const context = { ref: REF, now: Date.now, superseded: new AbortController().signal, refusal, progress };
    const run = new StepRun<Shelf>({ ...reconciler, ...changed, ...shelf }, context);
    const end = await run.perform('addBook', live(MISSING)).catch((error: unknown) => error);
    return { calls, end };
  }

  it('so that the same step would follow is told to the run, with the field', async () => {
    const { end } = await execution('blue');
    expect(end).toMatchObject({
      did: ADDED,
      next: { do: 'addBook' },
      refusal: {
        ...OVERRIDDEN,
        message: expect.stringContaining('metadata.labels.color from "red" to "blue"'),
      },
      events: [],
    });
  });

  it('is tried by a dry run from then on, and left to backoff as long as that is changed', async () => {
    const { calls, end } = await execution('blue', { ...OVERRIDDEN, message: 'blue' });
    expect(calls).toEqual(['tried addBook']);
    expect(end).toMatchObject({ classification: 'overridden' });
  });

  it('is made again once the dry run is left as it is', async () => {
    const { calls, end } = await execution('red', { ...OVERRIDDEN, message: 'blue' });
    expect(calls).toEqual(['tried addBook', 'really addBook', 'told added Book']);
    expect(end).toMatchObject({ did: ADDED, next: { do: 'converged' } });
  });

  it('of another step is made without a dry run', async () => {
    const { calls } = await execution('red', { ...OVERRIDDEN, step: 'removeBook', message: 'blue' });
    expect(calls).toEqual(['really addBook', 'told added Book']);
  });

  it('is reported by the status before it is tried again', async () => {
    const withRefusal = (shelf: Shelf, { message }: Refusal) => ({ ...shelf, refusal: message });
    expect((await execution('blue', undefined, { withRefusal })).end).toMatchObject({
      next: { do: 'report' },
    });
  });

  it('but leaves less to do is progress', async () => {
    const perform = (_: ShelfStep, before: Shelf) =>
      Promise.resolve({
        observation: { ...before, books: 1 },
        did: ADDED,
        changed: changeOf(sent, answerOf('blue')),
      });
    expect((await execution('blue', undefined, { perform })).end).toMatchObject({
      next: { do: 'converged' },
    });
  });
});

describe('what was done', () => {
  it('before a failed look is not lost', async () => {
    const { faults, run } = aShelf({ ...MISSING, wanted: 2 });
    faults['look'] = [failure('unavailable', 'out of order')];
    const dark: Shelf = { wanted: 2, books: 1 };
    const perform = () => Promise.resolve({ observation: dark, did: ADDED });
    expect(await run('addBook', undefined, { perform })).toEqual({
      did: ADDED,
      next: { do: 'observe', because: 'the next step could not be determined: out of order' },
      known: undefined,
      events: [ADDING],
    });
  });

  it('is an Event once it is done, and not when it is decided', async () => {
    const { run } = aShelf(MISSING);
    expect((await run('observe')).events).toEqual([]);
    expect((await run('addBook')).events).toEqual([ADDING]);
  });

  it('names who approved of it, in the result and by an Event', async () => {
    const { reconciler, run, world } = aShelf(MISSING);
    const approval = {
      event: { ...ADDING, reason: 'Approved', note: 'approved by alice' },
      action: { did: 'approved', what: 'by alice' },
    };
    const approved = (seen: Shelf) => {
      const step = decide(seen);
      return step.do === 'addBook' ? { ...step, approval } : step;
    };
    const controller = { ...reconciler.controller, decide: approved };
    expect(await run('addBook', undefined, { controller })).toMatchObject({
      did: [...ADDED, approval.action],
      events: [approval.event, ADDING],
    });
    const perform = (_: ShelfStep, before: Shelf) =>
      Promise.resolve({ observation: { ...before, books: 1 }, did: [] });
    world.live = MISSING;
    expect(await run('addBook', undefined, { controller, perform })).toMatchObject({ did: [] });
  });
});

describe('the activities of a controller', () => {
  function theActivitiesOf(
    shelf: { readonly reconciler: Reconciler<Shelf> },
    watched?: (ref: typeof REF) => unknown,
    isNamespacePaused?: (namespace: string) => Promise<boolean>,
  ) {
    const memory = new Memory();
    const recorded: string[] = [];
    const regarded: string[] = [];
    const activities = stepActivities(shelf.reconciler, {
      memory,
      watched,
      isNamespacePaused,
      log: aRecordingLogger(),
      recorder: {
        record: ({ namespace, name, uid }, { apiVersion, kind }, { note }) => {
          recorded.push(`${apiVersion} ${kind}: ${note}`);
          regarded.push(`${namespace}/${name} ${uid}`);
        },
      },
    });
    const attempt = (context: FakeContext, heartbeatDetails?: unknown, more: Partial<StepInput> = {}) =>
      asActivity(
        {
          ...{ workflowExecution: { workflowId: 'shelf/shop/web/uid-1', runId: 'run-1' } },
          ...{ attempt: 1, activityType: 'addBook', heartbeatDetails },
        },
        async () => activities['addBook']?.({ ref: REF, changes: 0, results: 0, ...more }),
        context,
      );
    const call = (activityType: string, changes = 0, results = 0, ref = REF) => {
      const workflowExecution = { workflowId: 'shelf/shop/web/uid-1', runId: 'run-1' };
      const activity = activities[activityType];
      if (activity === undefined) throw new Error(`no activity ${activityType}`);
      return asActivity({ workflowExecution, attempt: 1, activityType }, () =>
        activity({ ref, changes, results }),
      );
    };
    return { memory, recorded, regarded, activities, call, attempt };
  }

  it('ask for no pause of a Namespace for a cluster-scoped resource of its name', async () => {
    const { reconciler } = aShelf(MISSING);
    const type = { ...reconciler.controller.primary.type, namespaced: false };
    const controller = { ...reconciler.controller, primary: { type } };
    const isPaused = (namespace: string) => Promise.reject(new Error(`asked for ${namespace}`));
    const { call } = theActivitiesOf({ reconciler: { ...reconciler, controller } }, undefined, isPaused);
    expect(await call('addBook')).toMatchObject({ did: ADDED });
  });

  it('report with the next result what an attempt wrote that failed in the end', async () => {
    const { reconciler } = aShelf(MISSING);
    const written = [{ did: 'updated', what: 'the status' }];
    const away = new ApiError('out of order', { classification: 'unavailable' });
    let attempts = 0;
    const perform = (step: ShelfStep, before: Shelf) => {
      attempts += 1;
      if (attempts > 1) return reconciler.perform(step, before);
      return Promise.reject(new PartlyDone(away, written));
    };
    const { call } = theActivitiesOf({ reconciler: { ...reconciler, perform } });
    await expect(call('addBook')).rejects.toMatchObject({ type: 'Unavailable' });
    expect(await call('addBook')).toMatchObject({ did: [...written, ...ADDED] });
  });

  it('send what an attempt has done with its heartbeats, and report what the last one of another process says', async () => {
    const { reconciler } = aShelf({ ...MISSING, wanted: 2 });
    const away = new ApiError('out of order', { classification: 'unavailable' });
    const perform = (_: ShelfStep, __: Shelf, { progress }: AttemptContext<Shelf>) => {
      progress?.(ADDED);
      return Promise.reject(away);
    };
    const beats: unknown[] = [];
    const heartbeat = (details: unknown) => beats.push(details);
    const failing = theActivitiesOf({ reconciler: { ...reconciler, perform } });
    await expect(failing.attempt({ heartbeat })).rejects.toMatchObject({ type: 'Unavailable' });
    expect(beats).toEqual([{ did: ADDED }]);
    const two = [{ ...ADDED[0], count: 2 }];
    await expect(failing.attempt({ heartbeat }, beats[0])).rejects.toMatchObject({ type: 'Unavailable' });
    expect(beats[1]).toEqual({ did: two });
    const inAnotherProcess = theActivitiesOf({ reconciler });
    expect(await inAnotherProcess.attempt({}, beats[1])).toMatchObject({ did: [{ ...ADDED[0], count: 3 }] });
  });

  it.each([
    ['ask an attempt to end that Temporal has cancelled', {}, true],
    ['let one finish that is to do so', { onChange: 'finish' } as const, false],
  ])('%s', async (_, input, isAsked) => {
    const { reconciler } = aShelf(MISSING);
    const cancelled = new AbortController();
    const asked: boolean[] = [];
    const perform = (step: ShelfStep, before: Shelf, { superseded }: AttemptContext<Shelf>) => {
      cancelled.abort();
      asked.push(superseded.aborted);
      return reconciler.perform(step, before);
    };
    const { attempt } = theActivitiesOf({ reconciler: { ...reconciler, perform } });
    const next = isAsked ? { do: 'observe', because: 'the attempt was asked to end' } : converged('1 books');
    expect(await attempt({ cancellationSignal: cancelled.signal }, undefined, input)).toEqual({
      did: ADDED,
      next,
    });
    expect(asked).toEqual([isAsked]);
  });

  it('hand on what is known from step to step, and read once', async () => {
    const shelf = aShelf({ ...MISSING, wanted: 2 });
    const { call } = theActivitiesOf(shelf);
    await call('addBook');
    expect(await call('addBook', 0, 1)).toEqual({ did: ADDED, next: converged('2 books') });
    expect(shelf.calls).toEqual(['observe', 'addBook', 'addBook']);
  });

  it('read anew after a signal', async () => {
    const shelf = aShelf({ ...MISSING, wanted: 2 });
    const { call } = theActivitiesOf(shelf);
    await call('addBook', 0);
    await call('addBook', 1);
    expect(shelf.calls).toEqual(['observe', 'addBook', 'observe', 'addBook']);
  });

  it.each([
    ['has what was written: nothing is read', { ...MISSING, wanted: 2, books: 1 }, ['confirm', 'addBook']],
    ['lacks it: it is read', MISSING, ['observe', 'addBook']],
  ])('go on after a signal with what the watcher shows by then, which %s', async (_, shown, expected) => {
    const shelf = aShelf({ ...MISSING, wanted: 2 });
    const hasShown = (view: Shelf, written: Shelf) => view.books === written.books;
    const { memory, call } = theActivitiesOf({ reconciler: { ...shelf.reconciler, hasShown } }, () => shown);
    await call('addBook');
    shelf.calls.length = 0;
    memory.seed('shelf/shop/web/uid-1', MISSING);
    await call('addBook', 1);
    expect(shelf.calls).toEqual(expected);
  });

  it('never take what is known of one resource for another, whatever a workflow of somebody else asks for', async () => {
    const shelf = aShelf({ ...MISSING, wanted: 2 });
    const { memory, call } = theActivitiesOf(shelf);
    memory.seed('shelf/shop/web/uid-1', MISSING);
    const other = { ...REF, name: 'other', uid: 'uid-2' };
    await call('addBook', 0, 0, other);
    await call('addBook');
    expect(shelf.calls).toEqual(['observe', 'addBook', 'confirm', 'addBook']);
  });

  it('know what a first step has found whose result got lost: nothing of an earlier run may arrive', async () => {
    const unknown = [{ step: 'addBook', isEndUnseen: true }];
    const asksOn = ({ reconciler }: ReturnType<typeof aShelf>) => {
      const controller = {
        ...reconciler.controller,
        mayStillArrive: ({ books }: Shelf) => (books > 0 ? 'addBook' : undefined),
      };
      return theActivitiesOf({ reconciler: { ...reconciler, controller } }).call;
    };
    const call = asksOn(aShelf({ ...MISSING, wanted: 2 }));
    expect(await call('addBook')).not.toHaveProperty('unknown');
    expect(await call('observe', 1)).not.toHaveProperty('unknown');
    const inAnotherProcess = asksOn(aShelf({ ...MISSING, books: 1, wanted: 2 }));
    expect(await inAnotherProcess('observe')).toMatchObject({ unknown });
    expect(await inAnotherProcess('observe')).toMatchObject({ unknown });
    expect(await inAnotherProcess('observe', 0, 1)).not.toHaveProperty('unknown');
  });

  it('record the Events of what was done', async () => {
    const { recorded, call } = theActivitiesOf(aShelf(MISSING));
    await call('addBook');
    expect(recorded).toEqual(['v1 Pod: adding a book']);
  });

  it('record an Event on other resources, too, if it says so', async () => {
    const { reconciler } = aShelf(MISSING);
    const event = { ...ADDING, alsoAbout: [{ namespace: 'team', name: 'other', uid: 'uid-2' }] };
    const perform = (step: ShelfStep, before: Shelf) =>
      reconciler.perform(step, before).then((performed) => ({ ...performed, event }));
    const { recorded, regarded, call } = theActivitiesOf({ reconciler: { ...reconciler, perform } });
    await call('addBook');
    expect(recorded).toEqual(Array(3).fill('v1 Pod: adding a book'));
    expect(regarded).toEqual(['shop/web uid-1', 'shop/web uid-1', 'team/other uid-2']);
  });

  it('fail with what was done, and record its Events, where the server then says when to come back', async () => {
    const { faults, reconciler } = aShelf({ ...MISSING, wanted: 2 });
    const busy = new ApiError('too many requests', { classification: 'retry-after', retryAfterMs: 7_000 });
    const perform = () => {
      faults['observe'] = [busy];
      return Promise.resolve({ observation: undefined, did: ADDED });
    };
    const { recorded, call } = theActivitiesOf({ reconciler: { ...reconciler, perform } });
    await expect(call('addBook')).rejects.toMatchObject({ type: 'RetryAfter', details: [7_000, ADDED] });
    expect(recorded).toEqual(['v1 Pod: adding a book']);
    // The failure has told the run what was done; the next result must not tell it once more.
    expect(await call('observe')).toMatchObject({ did: [] });
  });

  it('record the Event of a rest that is found, and of one that follows a step', async () => {
    const event = { ...ADDING, note: 'full' };
    const shelf = aShelf(MISSING);
    const full = (seen: Shelf) =>
      seen.books === seen.wanted ? { ...converged('full'), event } : decide(seen);
    const reconciler = {
      ...shelf.reconciler,
      controller: { ...shelf.reconciler.controller, decide: full },
    };
    const { recorded, call } = theActivitiesOf({ ...shelf, reconciler });
    await call('addBook');
    expect(recorded).toEqual(['v1 Pod: adding a book', 'v1 Pod: full']);
    await call('observe');
    expect(recorded).toHaveLength(3);
  });

  it('hand the refusal that comes first to the run, by its class', async () => {
    const report = { refusal: 'no room' };
    const ends = async (classification: ApiErrorClass) => {
      const shelf = aShelf(MISSING);
      const perform = (_: ShelfStep, before: Shelf) =>
        Promise.resolve({
          observation: { ...before, ...report },
          did: [],
          refusal: failure(classification, 'no room'),
        });
      const { call } = theActivitiesOf({ ...shelf, reconciler: { ...shelf.reconciler, perform } });
      return (await call('addBook')).refusal;
    };
    expect(await ends('refused')).toMatchObject({ because: 'refused', message: 'no room' });
    expect(await ends('access-denied')).toMatchObject({ because: 'access-denied', message: 'no room' });
    expect(await ends('namespace-terminating')).toMatchObject({
      because: 'namespace-terminating',
      message: 'no room',
    });
  });

  it('show what the watcher of the process sees, where there is one', async () => {
    const shelf = aShelf({ ...MISSING, wanted: 2 });
    const seen: unknown[] = [];
    const perform = (step: ShelfStep, before: Shelf, { ref, watched }: AttemptContext<Shelf>) => {
      seen.push(ref, watched?.());
      return shelf.reconciler.perform(step, before);
    };
    const observed = { ...shelf, reconciler: { ...shelf.reconciler, perform } };
    await theActivitiesOf(observed).call('addBook');
    await theActivitiesOf(observed, ({ name }) => `a view of ${name}`).call('addBook');
    expect(seen).toEqual([REF, undefined, REF, 'a view of web']);
  });
});

describe('the activities of all controllers', () => {
  const named = (name: string): StepActivity => {
    return () => Promise.resolve({ did: [], next: converged(name) });
  };
  const all = dispatching({
    shelf: { observe: named('a shelf is seen'), addBook: named('a book is added') },
    lamp: { observe: named('a lamp is seen') },
  });
  const call = (controller: string, name: string) =>
    all[name]?.({ ref: { ...REF, controller }, changes: 0, results: 0 });

  it('are those of the controller that the resource names', async () => {
    expect(Object.keys(all)).toEqual(['observe', 'addBook', 'default']);
    expect(await call('shelf', 'observe')).toMatchObject({ next: { because: 'a shelf is seen' } });
    expect(await call('lamp', 'observe')).toMatchObject({ next: { because: 'a lamp is seen' } });
    expect(await call('shelf', 'addBook')).toMatchObject({ next: { because: 'a book is added' } });
  });

  it.each([
    ['of another controller', 'addBook', 'addBook'],
    ['of another version', 'default', 'removeBook'],
  ])('decide anew where the step is one %s, a moment later', async (_, name, activityType) => {
    const info = { workflowExecution: { workflowId: 'lamp', runId: 'run-1' }, attempt: 1, activityType };
    expect(
      await asActivity(info, () => call('lamp', name) ?? Promise.reject(new Error('no activity'))),
    ).toEqual({
      did: [],
      hasNotLooked: true,
      next: waitFor(`another decision: this version has no step ${activityType}`, 1_000),
    });
  });

  it('fail where the worker has no such controller', async () => {
    await expect(call('door', 'observe')).rejects.toThrow('this worker has no controller door');
  });
});
