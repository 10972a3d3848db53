import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { coresdk } from '@temporalio/proto';
import {
  converged,
  namedStep,
  nextInHistory,
  stalled,
  waitFor,
  type Action,
  type NextInHistory,
  type Observe,
  type Refusal,
  type Step,
  type StepReport,
} from '../../src/runs/decision.ts';
import { FAILURE } from '../../src/runs/failures.ts';
import type { RunInput } from '../../src/runs/run.ts';
import { CHANGE, WorkflowInProcess } from '../support/workflow-in-process.ts';
import { aCause } from '../support/causes.ts';

const { WAIT_CANCELLATION_COMPLETED } = coresdk.workflow_commands.ActivityCancellationType;

const REF = { controller: 'pod-label', namespace: 'shop', name: 'web', uid: 'uid-1' };
const OBSERVE: Observe = { do: 'observe', because: 'nothing is known' };
const ADD: Step = { do: 'addPod', summary: 'create a Pod', because: 'a Pod is missing' };
const MANY: Step = { do: 'addMany', summary: 'create Pods', because: 'many are missing', writes: 11 };
const POD: Action = { did: 'created', what: 'Pod', count: 1 };
const STATUS: Action = { did: 'updated', what: 'the status' };
const REFUSAL: Refusal = { because: 'refused', message: 'the quota is used up' };
const GRACE = 'timer of 500 ms: the resource changed: grace period for the attempt in progress';
const ASKED = [
  'patch asked-to-end',
  'timer of 2000 ms: the resource changed: the attempt in progress is asked to end',
  'cancel addMany',
  'ask the attempt to end',
];

const start = (first: NextInHistory, more: Partial<RunInput> = {}) =>
  WorkflowInProcess.start({ ref: REF, reason: 'a test', first, ...more });
const result = (next: NextInHistory, ...did: readonly Action[]): StepReport => ({ did, next });
const DONE = converged('up to date');
const failure = (type: string, ...details: unknown[]) =>
  ApplicationFailure.create({ type, message: 'no', nonRetryable: true, details });
const UNAVAILABLE = failure(FAILURE.unavailable);

describe('a run', () => {
  it('calls the step that it was started with, and each that a result names, until it has converged and seen all changes', async () => {
    const [run, story] = await start(ADD);
    expect(story).toEqual(['addPod locally']);
    expect(run.details).toBe('**addPod**: a Pod is missing');
    expect(await run.ends(result(OBSERVE, POD))).toEqual(['observe locally']);
    expect(run.details).toBe('**observe**: nothing is known\n\nDone so far: created Pod.');
    expect(run.called?.summary).toBe('read the live state: nothing is known');
    expect(await run.ends(result(DONE), CHANGE)).toEqual(['observe locally']);
    expect(await run.ends(result(DONE, STATUS))).toEqual(['result: created Pod, updated the status']);
  });

  it('adds what it does to what the run before it did', async () => {
    const [run] = await start(ADD, { did: [POD, STATUS] });
    expect(await run.ends(result(DONE, POD))).toEqual(['result: created 2 Pods, updated the status']);
  });

  it('tells each step how many changes it has seen, and how many results it has got', async () => {
    const [run] = await start(ADD);
    expect(run.called?.input).toEqual({ ref: REF, changes: 0, results: 0 });
    await run.ends(result(ADD));
    expect(run.called?.input).toEqual({ ref: REF, changes: 0, results: 1 });
    await run.ends(result(ADD), CHANGE, CHANGE);
    expect(run.called?.input).toEqual({ ref: REF, changes: 2, results: 2 });
  });

  it('fails where there is a bug, so that Temporal shows it', async () => {
    const [run] = await start(OBSERVE);
    const nothing: unknown = undefined;
    await expect(run.ends(nothing as StepReport)).rejects.toThrow(TypeError);
  });
});

describe('a step that is named like a rest', () => {
  it.each(['converged', 'wait', 'stalled', 'held'])(
    'is called, whichever comes before it: %s',
    async (name) => {
      const step: Step = { ...namedStep(name), because: 'it is needed' };
      const [run, story] = await start(step);
      expect(story).toEqual([`${name} locally`]);
      expect(run.details).toBe(`**${name}**: it is needed`);
      expect(await run.ends(result(nextInHistory(step), POD))).toEqual([`${name} locally`]);
      expect(await run.ends(result(DONE))).toEqual(['result: created Pod']);
    },
  );
});

describe('a brief step', () => {
  it('is tried once, within the workflow task', async () => {
    const [run] = await start(ADD);
    expect(run.called).toMatchObject({
      isLocal: true,
      summary: 'create a Pod: a Pod is missing',
      scheduleToCloseMs: 1_000,
      retry: { attempts: 1 },
    });
  });

  it('has a summary of a length that Temporal takes', async () => {
    const [run] = await start({ ...ADD, because: 'a Pod is missing, '.repeat(30) });
    expect(run.called?.summary).toMatch(/^create a Pod: (?:a Pod is missing, )+.{0,17}…$/);
  });

  it.each(['wrapped', 'bare'] as const)(
    'that fails is tried durably (the failure comes %s)',
    async (kind) => {
      const [run] = await start(ADD);
      expect(await run.fails(UNAVAILABLE, kind)).toEqual(['addPod']);
      expect(run.called).toEqual({
        name: 'addPod',
        isLocal: false,
        seq: 2,
        input: { ref: REF, changes: 0, results: 0 },
        summary: 'create a Pod: a Pod is missing',
        startToCloseMs: 15_000,
        scheduleToCloseMs: undefined,
        retry: { initialMs: 500, coefficient: 2, mostMs: 30_000, attempts: 0 },
        cancellation: WAIT_CANCELLATION_COMPLETED,
      });
    },
  );

  it('has no more than ten writes', async () => {
    expect((await start({ ...ADD, writes: 10 }))[1]).toEqual(['addPod locally']);
    expect((await start({ ...ADD, writes: 11 }))[1]).toEqual(['addPod']);
  });

  it('is durable after four in a row, and local again after that', async () => {
    const [run, story] = await start(ADD);
    const called = [...story];
    for (let i = 0; i < 6; i += 1) called.push(...(await run.ends(result(ADD, POD))));
    const LOCAL = 'addPod locally';
    expect(called).toEqual([LOCAL, LOCAL, LOCAL, LOCAL, 'addPod', LOCAL, LOCAL]);
  });
});

describe('a step that is durable from the start', () => {
  const durable: Step = { ...ADD, isDurable: true };

  beforeEach(() => {
    jest.spyOn(Date, 'now').mockReturnValue(1_000);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('is not tried within the workflow task first', async () => {
    expect((await start(durable))[1]).toEqual(['addPod']);
  });

  it('may take as long as it says, and take effect as long after it was dropped', async () => {
    const [run] = await start({ ...durable, attemptMaxMs: 905_000 });
    expect(run.called?.startToCloseMs).toBe(905_000);
    await run.changes();
    await run.timeIsUp();
    await run.isCancelled();
    expect(run.called?.input).toMatchObject({ unknown: [{ step: 'addPod', untilMs: 906_000 }] });
  });

  it('that is dropped may still take effect, which the steps after it are told for as long', async () => {
    const [run] = await start(durable);
    await run.changes();
    await run.timeIsUp();
    await run.isCancelled();
    expect(run.called?.input).toMatchObject({ changes: 1, unknown: [{ untilMs: 16_000 }] });
  });

  it('that fails for good may still take effect, too', async () => {
    const [run] = await start(durable);
    await run.fails(failure('Odd'));
    await run.changes();
    expect(run.called?.input).toMatchObject({ changes: 1, unknown: [{ untilMs: 16_000 }] });
  });

  it('whose earlier attempts may still take effect says so, and the run goes on with that', async () => {
    const unknown = [{ step: 'addPod', begunMs: 0, untilMs: 7_000 }];
    const [run] = await start(durable);
    await run.ends({ ...result(OBSERVE, POD), unknown });
    await run.ends(result(OBSERVE, POD));
    expect(run.called?.input).toMatchObject({ results: 2, unknown });
    run.suggestToContinueAsNew();
    await run.ends(result(OBSERVE, POD));
    expect(run.continuesAs).toMatchObject({ unknown });
  });
});

describe('an observation of an outside system', () => {
  it('is not tried within a workflow task, which would cut it off after a second', async () => {
    const [run, story] = await start(OBSERVE, { observesOutside: true });
    expect(story).toEqual(['observe']);
    expect(await run.ends(result(ADD))).toEqual(['addPod locally']);
    expect(await run.ends(result(OBSERVE))).toEqual(['observe']);
  });
});

describe('a step whose attempt finishes in spite of a change', () => {
  const FINISHES: Step = { ...MANY, onChange: 'finish' };

  it('has its result counted, and then the run looks again', async () => {
    const [run] = await start(FINISHES);
    expect(run.called?.input.onChange).toBe('finish');
    await run.changes();
    expect(await run.timeIsUp()).toEqual(['cancel addMany']);
    expect(await run.ends(result(MANY, POD))).toEqual(['observe locally']);
    expect(run.called?.input).toMatchObject({ changes: 1, results: 1 });
    expect(await run.ends(result(DONE))).toEqual(['result: created Pod']);
  });

  it('is dropped in its backoff', async () => {
    const [run] = await start(FINISHES);
    await run.changes();
    await run.timeIsUp();
    expect(await run.isCancelled()).toEqual(['observe locally']);
    expect(run.called?.input).toMatchObject({ changes: 1, results: 0 });
  });

  it('ends the run where a person has cancelled it, and stalls it where it fails for good', async () => {
    const [cancelled] = await start(FINISHES);
    expect(await cancelled.fails(new CancelledFailure('by hand'))).toEqual(['failure: Activity task failed']);
    const [failing] = await start(FINISHES);
    expect(await failing.fails(failure('Odd'))).toEqual(['RunState: Stalled']);
  });
});

describe('a durable step', () => {
  it('is tried again as soon as it says', async () => {
    const [run] = await start({ ...MANY, retry: { initialInterval: 2_000, maximumInterval: 60_000 } });
    expect(run.called?.retry).toEqual({ initialMs: 2_000, coefficient: 2, mostMs: 60_000, attempts: 0 });
  });

  it('whose result comes with a change leads to another look, and is not dropped', async () => {
    const [run] = await start(MANY);
    expect(await run.changes()).toEqual([GRACE]);
    expect(await run.ends(result(MANY, POD))).toEqual(['no timer', 'observe locally']);
    expect(run.called).toMatchObject({ input: { changes: 1, results: 1 }, summary: LOOK_AGAIN });
    expect(await run.ends(result(DONE))).toEqual(['result: created Pod']);
  });

  it('is asked to end a moment after a change, and what it returns within two seconds counts', async () => {
    const [run] = await start(MANY);
    await run.changes();
    expect(await run.timeIsUp()).toEqual(ASKED);
    expect(await run.ends(result(MANY, POD))).toEqual(['no timer', 'observe locally']);
    expect(run.called).toMatchObject({ input: { changes: 1, results: 1 }, summary: LOOK_AGAIN });
    expect(await run.ends(result(DONE))).toEqual(['result: created Pod']);
  });

  it('that hangs is dropped two seconds after it was asked to end', async () => {
    const [run] = await start(MANY);
    await run.changes();
    await run.timeIsUp();
    expect(await run.timeIsUp()).toEqual(['observe locally']);
    expect(run.called).toMatchObject({ input: { changes: 1, results: 0 }, summary: LOOK_AGAIN });
  });

  it('that is in its backoff is dropped at once', async () => {
    const [run] = await start(MANY);
    await run.changes();
    await run.timeIsUp();
    expect(await run.isCancelled()).toEqual(['no timer', 'observe locally']);
    expect(run.called).toMatchObject({ input: { changes: 1, results: 0 }, summary: LOOK_AGAIN });
  });

  it('that fails where it is asked to end leads to another look', async () => {
    const [run] = await start(MANY);
    await run.changes();
    await run.timeIsUp();
    const aborted = ApplicationFailure.create({ type: 'AbortError', message: 'aborted' });
    expect(await run.fails(aborted)).toEqual(['no timer', 'observe locally']);
    expect(run.called).toMatchObject({ input: { changes: 1, results: 0 }, summary: LOOK_AGAIN });
  });

  it('goes on, in its backoff, where a change is only possible; once it has ended, the run looks', async () => {
    const [run] = await start(MANY);
    expect(await run.changeIsPossible()).toEqual([]);
    expect(await run.ends(result(MANY, POD))).toEqual(['observe locally']);
  });

  it('that fails for good stalls the run until its resource changes', async () => {
    const [run] = await start(MANY);
    expect(await run.fails(failure('Odd'))).toEqual(['RunState: Stalled']);
    expect(run.details).toBe('**Stalled**: no\n\nWaiting for a change of the resource.');
    expect(await run.changes()).toEqual(['RunState: null', 'observe locally']);
  });

  it('whose attempts a person has limited in Temporal is tried again after a while', async () => {
    const [run] = await start(MANY);
    const refused = ApplicationFailure.create({ type: FAILURE.refused, message: 'quota' });
    expect(await run.fails(refused)).toEqual([
      'timer of 30000 ms: recheck: waiting for the next attempt of addMany: quota',
    ]);
    expect(await run.timeIsUp()).toEqual(['observe locally']);
  });

  it('that somebody has cancelled ends the run', async () => {
    const [run] = await start(MANY);
    expect(await run.fails(new CancelledFailure('by hand'))).toEqual(['failure: Activity task failed']);
  });

  const LOOK_AGAIN = 'read the live state: the resource changed';
});

describe('a wait', () => {
  it('ends with its time', async () => {
    const [run] = await start(ADD);
    const JOB = waitFor('the Job to end', 3_600_000);
    expect(await run.ends(result(JOB, POD))).toEqual([
      'timer of 3600000 ms: recheck: waiting for the Job to end',
    ]);
    expect(run.details).toBe('**Waiting** for the Job to end.\n\nDone so far: created Pod.');
    expect(await run.timeIsUp()).toEqual(['observe locally']);
    expect(run.called?.summary).toBe('read the live state: waited for the Job to end');
  });

  it('ends where a change is only possible', async () => {
    const [run] = await start(ADD);
    await run.ends(result(waitFor('the Job to end', 3_600_000)));
    expect(await run.changeIsPossible()).toEqual(['no timer', 'observe locally']);
  });

  it('ends with the step that the change calls for, which decides again', async () => {
    const [run] = await start(ADD);
    await run.ends(result(waitFor('the Job to end', 3_600_000)));
    const step: Step = { do: 'updateStatus', because: 'the Job has ended' };
    expect(await run.changes(step)).toEqual(['no timer', 'updateStatus locally']);
    expect(run.called?.input).toEqual({ ref: REF, changes: 1, results: 1 });
    await run.ends(result(waitFor('the next Job to end', 3_600_000), STATUS));
    expect(await run.changes()).toEqual(['no timer', 'observe locally']);
  });

  it('ends with a look where a step was refused, since only a look tries it again', async () => {
    const [run] = await start(ADD);
    await run.ends({ ...result(waitFor('a quota', 3_600_000)), refusal: REFUSAL });
    expect(await run.changes(ADD)).toEqual(['no timer', 'observe locally']);
  });

  it('with which a run starts does not begin where a change has come before', async () => {
    const first = { ref: REF, reason: 'a test', first: waitFor('the Job to end', 1_000) };
    expect((await WorkflowInProcess.start(first, CHANGE))[1]).toEqual(['observe locally']);
  });
});

describe('a stalled run', () => {
  it('says so until its resource changes, and waits without a timer', async () => {
    const [run] = await start(ADD);
    expect(await run.ends(result(stalled(aCause('the name is too long'))))).toEqual(['RunState: Stalled']);
    expect(run.details).toBe('**Stalled**: the name is too long\n\nWaiting for a change of the resource.');
    expect(await run.changes()).toEqual(['RunState: null', 'observe locally']);
    expect(run.called?.summary).toBe('read the live state: the resource changed');
  });
});

describe('a stalled run whose cause no watch shows', () => {
  const next = stalled(aCause('the name is taken'), { recheckMs: 60_000 });

  it('checks again after a while', async () => {
    const [run] = await start(ADD);
    const timer = 'timer of 60000 ms: recheck: the name is taken';
    expect(await run.ends(result(next))).toEqual(['RunState: Stalled', timer]);
    expect(await run.timeIsUp()).toEqual(['RunState: null', 'observe locally']);
    expect(run.called?.summary).toBe('read the live state: stalled for 60 s');
  });

  it('goes on at once where its resource changes', async () => {
    const [run] = await start(ADD);
    await run.ends(result(next));
    expect(await run.changes()).toEqual(['no timer', 'RunState: null', 'observe locally']);
    expect(run.called?.summary).toBe('read the live state: the resource changed');
  });
});

describe('a run that is held', () => {
  const held = (by: 'pause' | 'approval'): NextInHistory => ({
    do: 'held',
    by,
    reason: by === 'pause' ? 'Paused' : 'AwaitingApproval',
    message: 'somebody asked for it',
    would: 'addPod: a Pod is missing',
  });

  it.each([
    ['pause', 'Paused'],
    ['approval', 'AwaitingApproval'],
  ] as const)('says so until its resource changes: %s', async (by, state) => {
    const [run] = await start(ADD);
    const timer = 'timer of 30000 ms: recheck: somebody asked for it';
    expect(await run.ends(result(held(by)))).toEqual([`RunState: ${state}`, timer]);
    expect(run.details).toBe('**On hold**: somebody asked for it\n\nThe step: addPod: a Pod is missing.');
    expect(await run.changes()).toEqual(['no timer', 'RunState: null', 'observe locally']);
    expect(run.called?.summary).toBe('read the live state: the resource changed');
  });

  it('looks by itself ever less often, and every hour in the end; after a change as in the beginning', async () => {
    const [run] = await start(ADD);
    const waits: string[] = [];
    const nextWait = async () => {
      const commands = await run.ends(result(held('pause')));
      waits.push(...commands.filter((command) => command.startsWith('timer')));
    };
    for (let looks = 0; looks < 9; looks += 1) {
      await nextWait();
      expect(await run.timeIsUp()).toEqual(['RunState: null', 'observe locally']);
    }
    await nextWait();
    await run.changes();
    await nextWait();
    expect(waits.map((wait) => Number(/(\d+) ms/.exec(wait)?.[1]) / 1000)).toEqual([
      ...[30, 60, 120, 240, 480, 960, 1920, 3600, 3600],
      ...[3600, 30],
    ]);
  });

  it.each<[string, NextInHistory]>([
    ['it went on in between', ADD],
    ['it waited in between', waitFor('a Pod', 1_000)],
    ['a person holds it for another reason', held('approval')],
  ])('looks as soon as at first where the next hold begins without a signal: %s', async (_, between) => {
    const [run] = await start(ADD);
    await run.ends(result(held('pause')));
    await run.timeIsUp();
    expect(await run.ends(result(held('pause')))).toContainEqual(expect.stringContaining('60000 ms'));
    await run.timeIsUp();
    const commands = [...(await run.ends(result(between)))];
    if (between.do === 'wait') await run.timeIsUp();
    if (between.do !== 'held') commands.push(...(await run.ends(result(held('pause')))));
    expect(commands).toContainEqual(expect.stringMatching(/timer of 30000 ms: recheck/));
  });
});

describe('a Retry-After', () => {
  const asked = (ms: number, ...did: Action[]) => failure(FAILURE.retryAfter, ms, did);
  const timer = (ms: number) => `timer of ${ms} ms: Retry-After, as the server asked`;

  it.each(['wrapped', 'bare'] as const)('is waited for, and then comes a look (%s)', async (kind) => {
    const [run] = await start(ADD);
    expect(await run.fails(asked(7_000, POD), kind)).toEqual([timer(7_000)]);
    expect(run.details).toBe(
      '**Waiting** 7 s because the server asked for it: no\n\nDone so far: created Pod.',
    );
    expect(await run.timeIsUp()).toEqual(['observe locally']);
    expect(run.called?.summary).toBe('read the live state: the Retry-After of the server has passed');
    expect(await run.ends(result(DONE, POD))).toEqual(['result: created 2 Pods']);
  });

  it('is shortened by no change', async () => {
    const [run] = await start(ADD);
    await run.fails(asked(7_000));
    expect(await run.changes()).toEqual([]);
    expect(await run.timeIsUp()).toEqual(['observe locally']);
    expect(run.called?.input.changes).toBe(1);
  });

  it('of a durable step is the same', async () => {
    const [run] = await start(MANY);
    expect(await run.fails(asked(7_000))).toEqual([timer(7_000)]);
  });

  it.each([
    ['less than a second', asked(0)],
    ['nothing', failure(FAILURE.retryAfter)],
  ])('of %s is a second', async (_, asking) => {
    const [run] = await start(ADD);
    expect(await run.fails(asking)).toEqual([timer(1_000)]);
    await run.timeIsUp();
    expect(await run.ends(result(DONE))).toEqual(['result: up to date']);
  });

  it('of a day is five minutes', async () => {
    const [run] = await start(ADD);
    expect(await run.fails(asked(86_400_000))).toEqual([timer(300_000)]);
  });
});

describe('a refusal', () => {
  const REPORT: Step = { do: 'report', because: 'refused' };
  const refused = (next: NextInHistory, ...did: readonly Action[]) => ({
    ...result(next, ...did),
    refusal: REFUSAL,
  });

  it('is told to all steps until the one that was refused has done something', async () => {
    const [run] = await start(ADD);
    await run.ends(refused(REPORT));
    expect(run.called?.input).toMatchObject({ refusal: REFUSAL });
    // What another step does, and what the refused one does not do, change nothing.
    for (const did of [[STATUS], []]) {
      await run.ends(result(ADD, ...did));
      expect(run.called?.input).toMatchObject({ refusal: REFUSAL });
    }
    await run.ends(result(ADD, POD));
    expect(run.called?.input).not.toHaveProperty('refusal');
  });

  it('is forgotten once the resource has changed', async () => {
    const [run] = await start(ADD);
    await run.ends(refused(REPORT), CHANGE);
    expect(run.called?.input).not.toHaveProperty('refusal');
  });

  it('is kept where something changes what is written: the next attempt is a dry run, whatever else has changed', async () => {
    const [run] = await start(ADD);
    const overridden = { because: 'overridden', message: 'changed a label' } as const;
    await run.ends({ ...result(ADD, POD), refusal: overridden }, CHANGE);
    expect(run.called?.input.refusal).toEqual({ ...overridden, step: ADD.do });
  });
});

describe('a run with a long history', () => {
  it('continues as new, observes first, and keeps what it did and for which cluster', async () => {
    const cluster = { name: 'prod' };
    const [run] = await start(ADD, { cluster });
    expect(run.called?.input.cluster).toEqual(cluster);
    run.suggestToContinueAsNew();
    expect(await run.ends(result(ADD, POD))).toEqual(['continue as new']);
    expect(run.continuesAs).toEqual({
      ref: REF,
      cluster,
      reason: 'a test',
      first: { do: 'observe', because: 'the run continued as new with an empty history' },
      did: [POD],
      unknown: [],
    });
  });
});
