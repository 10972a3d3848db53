import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineController } from '../../src/api/controller.ts';
import { defineKind } from '../../src/api/kind.ts';
import { PODS } from '../../src/api/kinds.ts';
import type { Decision } from '../../src/api/next.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { nextInHistory } from '../../src/runs/decision.ts';
import type { UnknownAttempt } from '../../src/api/unknown-attempt.ts';
import { definedController } from '../../src/engine/defined-controller.ts';
import { decideDefined } from '../../src/engine/decide.ts';
import type { AnyDefinition } from '../../src/engine/definition.ts';
import { isLibraryStep, type LiveReads } from '../../src/engine/observation.ts';
import { definedView, type DefinedView } from '../../src/engine/view.ts';
import { bucketIn, FINALIZER, UNDER_WAY, type Stored } from '../support/bucket.ts';

const NOW_MS = Date.parse('2026-11-21T12:00:00Z');
const asked = () => Promise.reject(new Error('a decision asks no store'));
const bucket = bucketIn({ find: asked, create: asked, setVersioning: asked, remove: asked });

interface Given {
  readonly stored?: Stored;
  readonly spec?: object;
  readonly status?: object;
  readonly metadata?: object;
  readonly unknownForMs?: number;
}

function aBucket({ spec = { versioned: false }, status = {}, metadata = {} }: Given): KubernetesObject {
  return {
    metadata: {
      ...{ name: 'photos', namespace: 'shop', uid: 'uid-1', resourceVersion: '7', generation: 1 },
      finalizers: [FINALIZER],
      ...metadata,
    },
    ...{ spec, status },
  };
}

function viewOf(object: KubernetesObject, definition: AnyDefinition = bucket): DefinedView {
  const view = definedView(definition, object);
  if (view === undefined) throw new Error('it is of no interest');
  return view;
}

/** The name of the step; of a write of the status, the reason, too. */
function nextAfterStatus(decision: ReturnType<typeof decideDefined>): string {
  return decision.do === 'updateStatus' && 'because' in decision
    ? `updateStatus: ${decision.because}`
    : decision.do;
}

function decide(given: Given, definition = bucket) {
  const object = aBucket(given);
  const live: LiveReads = { observed: given.stored };
  const circumstances = {
    ...{ isLive: true, isNamespacePaused: false },
    unknown:
      given.unknownForMs === undefined
        ? []
        : [{ step: 'provision', begunMs: NOW_MS, untilMs: NOW_MS + given.unknownForMs }],
  };
  return decideDefined(definition, { view: viewOf(object), owned: [], live }, NOW_MS, circumstances);
}

/** The status after what is decided. */
function reported(given: Given): object {
  const decision = decide(given);
  if (!('status' in decision)) throw new Error(`it does ${decision.do}`);
  return { ...given.status, ...decision.status };
}

function watched(given: Given) {
  return decideDefined(bucket, { view: viewOf(aBucket(given)), owned: [] }, NOW_MS);
}

const THERE = { versioned: false };
const BEGUN = { status: { conditions: [UNDER_WAY] } };
const DELETED = { deletionTimestamp: '2026-11-21T11:00:00Z', generation: 2 };
const READY = reported({ stored: THERE });

describe('a controller that decides', () => {
  it('has its finalizer before its first step, and keeps those of others', () => {
    expect(decide({ metadata: { finalizers: ['other'] } })).toMatchObject({
      do: 'addFinalizer',
      finalizers: ['other', FINALIZER],
      resourceVersion: '7',
    });
  });

  it('does its steps durably, with the data of the decision', () => {
    expect(decide(BEGUN)).toMatchObject({ do: 'provision', because: 'there is no bucket', isDurable: true });
    expect(decide({ ...BEGUN, stored: THERE, spec: { versioned: true } })).toMatchObject({
      do: 'setVersioning',
      data: { to: true },
    });
  });

  it.each([
    ['says so', { external: false, durable: true }, {}, true],
    ['may create what outlives its resource, which a finalizer keeps', { external: false }, {}, true],
    ['writes to its resource alone', { external: false, reads: 'cache' }, { observe: undefined }, false],
    ['has no finalizer', { external: false }, { finalizer: undefined }, false],
  ] as const)('does a step that changes nothing outside durably where it %s', (_, its, more, isDurable) => {
    const { steps } = bucket;
    const changed = { ...bucket, ...more, steps: { ...steps, provision: { ...steps?.provision, ...its } } };
    const decided = nextInHistory(decide(BEGUN, changed as unknown as typeof bucket));
    expect('isDurable' in decided && 'digest' in decided).toBe(isDurable);
  });

  it('has one digest for the same data, whatever the order of its fields', () => {
    const digestOf = (data: object) =>
      decide(BEGUN, { ...bucket, decide: (_, next) => next.do.setVersioning('so', data as { to: boolean }) });
    const [one, same, other] = [
      { to: true, a: 1 },
      { a: 1, to: true },
      { to: false, a: 1 },
    ].map(digestOf);
    expect(one).toMatchObject({ digest: same && 'digest' in same ? same.digest : '' });
    expect(other).not.toMatchObject({ digest: one && 'digest' in one ? one.digest : '' });
  });

  it('whose data differs each time it is decided on is a mistake of decide, which the status names', () => {
    const seen = { view: viewOf(aBucket(BEGUN)), owned: [], live: {} };
    const asked = (otherData: number) =>
      decideDefined(bucket, seen, NOW_MS, {
        ...{ isLive: true, isNamespacePaused: false },
        asking: { step: 'provision', digest: 'other', otherData },
      });
    expect(asked(1)).toMatchObject({ do: 'provision' });
    expect(asked(2)).toMatchObject({
      do: 'updateStatus',
      because: expect.stringContaining(
        'hands over other data each time it decides on provision',
      ) as unknown as string,
    });
  });

  it('gives an attempt of a step with a timeout five seconds more, and waits for the longest after a run that it knows nothing of', () => {
    const { steps } = bucket;
    const slow = {
      ...bucket,
      steps: { ...steps, provision: { ...steps?.provision, timeout: '15m' } },
    } as typeof bucket;
    expect(decide(BEGUN, slow)).toMatchObject({ do: 'provision', isDurable: true, attemptMaxMs: 905_000 });
    expect(decide(BEGUN)).not.toHaveProperty('attemptMaxMs');
    expect(definedController(slow).attemptMaxMs).toBe(905_000);
    expect(definedController(bucket).attemptMaxMs).toBe(15_000);
  });

  it('hands Temporal how soon a step is tried again, how many writes it makes, and what a change means for it', () => {
    const { steps } = bucket;
    const its = {
      ...{ retry: { first: '2s', longest: '5m' } },
      writes: ({ resource }: { resource: { spec: object } }) => Object.keys(resource.spec).length,
    };
    const changed = { ...bucket, steps: { ...steps, provision: { ...steps?.provision, ...its } } };
    expect(nextInHistory(decide(BEGUN, changed as typeof bucket))).toEqual({
      ...{ do: 'provision', because: 'there is no bucket', isDurable: true, onChange: 'finish', writes: 1 },
      retry: { initialInterval: 2_000, maximumInterval: 300_000 },
      digest: expect.any(String) as unknown as string,
    });
    const interrupted = { ...steps, provision: { ...steps?.provision, onChange: 'interrupt' } };
    expect(
      nextInHistory(decide(BEGUN, { ...bucket, steps: interrupted } as typeof bucket)),
    ).not.toHaveProperty('onChange');
  });

  it('reports once what it found, with the fields of the author', () => {
    expect(READY).toMatchObject({
      url: 'store://uid-1',
      observedGeneration: 1,
      conditions: [
        { type: 'Ready', status: 'True', message: 'the bucket is as specified' },
        { type: 'Stalled', status: 'False' },
        { type: 'Reconciling', status: 'False', reason: 'UpToDate' },
        { type: 'InputsObserved' },
      ],
    });
    expect(decide({ stored: THERE, status: READY })).toEqual({
      do: 'converged',
      because: 'the bucket is as specified',
    });
  });

  it('takes Ready back before it changes something again, so that Ready says that nothing is in progress', () => {
    const drifted = { status: READY };
    expect(decide(drifted)).toMatchObject({ do: 'updateStatus' });
    expect(reported(drifted)).toMatchObject({
      url: null,
      conditions: [{ type: 'Ready', status: 'False' }, {}, { type: 'Reconciling', status: 'True' }, {}, {}],
    });
    expect(decide({ status: reported(drifted) })).toMatchObject({ do: 'provision' });
  });

  it('is neither Ready nor let go while an attempt may still take effect', () => {
    expect(decide({ stored: THERE, unknownForMs: 4_000 })).toMatchObject({ do: 'wait', recheckMs: 4_000 });
    expect(decide({ metadata: DELETED, unknownForMs: 4_000 })).toMatchObject({
      do: 'wait',
      recheckMs: 4_000,
    });
    expect(decide({ metadata: DELETED })).toMatchObject({ do: 'removeFinalizer', finalizers: [] });
  });

  it('does nothing for what is being deleted without its finalizer', () => {
    expect(decide({ metadata: { ...DELETED, finalizers: [] } }).do).toBe('converged');
  });

  it('says of a stored spec that does not fit what is wrong, and still removes what it stands for', () => {
    const spec = { versioned: 'perhaps' };
    expect(reported({ spec })).toMatchObject({
      conditions: [
        {
          reason: 'InvalidSpec',
          message: expect.stringMatching(/^spec\.versioned: .* correct the spec of shop\/photos/),
        },
        { type: 'Stalled', status: 'True' },
        { type: 'Reconciling', status: 'False' },
        { type: 'InputsObserved' },
      ],
    });
    expect(decide({ ...BEGUN, spec, metadata: DELETED, stored: THERE })).toMatchObject({ do: 'remove' });
  });

  it.each<readonly [string, Decision, object]>([
    [
      'waits',
      { is: 'wait', what: 'the store', recheckAfter: '7ms' },
      { reason: 'Waiting', message: 'waiting for the store' },
    ],
    [
      'stalls',
      { is: 'stalled', cause: { reason: 'NoQuota', message: 'the store is full', advice: ['ask for more'] } },
      { reason: 'NoQuota', message: 'the store is full; ask for more' },
    ],
    [
      'is not Ready, with nothing left to do',
      {
        is: 'converged',
        because: 'it is there',
        notReady: { reason: 'Slow', message: 'it is slow', advice: [] },
      },
      { reason: 'Slow', message: 'it is slow' },
    ],
  ])('that %s says so in its condition, and then rests', (_, outcome, ready) => {
    const definition = { ...bucket, decide: () => outcome };
    const first = decide({ stored: THERE }, definition);
    if (!('status' in first)) throw new Error(`it does ${first.do}`);
    expect(first.status).toMatchObject({
      conditions: [{ type: 'Ready', status: 'False', ...ready }, {}, {}, {}],
    });
    expect(decide({ stored: THERE, status: first.status }, definition).do).toBe(outcome.is);
  });

  it('may release a resource at any time, but not while an attempt may still take effect', () => {
    const definition = { ...bucket, decide: (): Decision => ({ is: 'removeFinalizer', because: 'nothing' }) };
    expect(decide({}, definition).do).toBe('removeFinalizer');
    const taken = { metadata: { finalizers: [] } };
    expect(decide(taken, definition)).toMatchObject({
      do: 'updateStatus',
      because: expect.stringContaining('nothing'),
    });
    expect(decide({ ...taken, unknownForMs: 4_000 }, definition)).toMatchObject({
      do: 'wait',
      recheckMs: 4_000,
    });
    const without = Object.fromEntries(
      Object.entries(definition).filter(([member]) => member !== 'finalizer'),
    ) as typeof definition;
    expect(decide({}, without)).toMatchObject({
      do: 'updateStatus',
      because: expect.stringContaining('answers next.removeFinalizer, but has no finalizer'),
    });
  });
});

describe('a definition', () => {
  it('with a poll has its resources checked so often, unless their annotation asks for another interval', () => {
    const controller = definedController({ ...bucket, pollInterval: '10m' });
    const intervalOf = (annotations: object) => {
      const view = controller.primary.view(aBucket({ metadata: { annotations } }));
      return view?.control?.pollInterval;
    };
    expect(intervalOf({})).toBe('10m');
    expect(intervalOf({ 'durable-operator.dev/poll-interval': '1m' })).toBe('1m');
  });
});

describe('what the watcher decides of it', () => {
  it('needs no run while the status of this generation is Ready', () => {
    expect(watched({ status: READY }).do).toBe('converged');
  });

  it.each<readonly [string, Given]>([
    ['a new spec', { status: READY, metadata: { generation: 2 } }],
    ['no finalizer', { status: READY, metadata: { finalizers: [] } }],
    ['a deletion', { status: READY, metadata: DELETED }],
    ['no status', {}],
    ['that it is not Ready', { status: reported({ status: READY }) }],
  ])('needs a look because of %s', (_, given) => {
    expect(watched(given).do).toBe('observe');
  });

  it('is stalled where the status says so', () => {
    expect(watched({ status: reported({ spec: { versioned: 1 } }) })).toMatchObject({
      do: 'stalled',
      reason: 'InvalidSpec',
    });
  });
});

describe('an attempt of an earlier run', () => {
  const mayArrive = (given: Given) =>
    definedController(bucket).mayStillArrive?.({ view: viewOf(aBucket(given)), owned: [] });
  const before = { status: READY, metadata: { generation: 2 } };
  const begun = { ...before, status: reported(before) };

  it('may be in progress from the status before it on, whatever the generation, until a rest that waits for none', () => {
    expect(begun.status).toMatchObject({
      conditions: [{ type: 'Ready', status: 'False' }, {}, {}, {}, EXTERNAL],
    });
    expect(mayArrive(begun)).toBe('provision');
    const waiting = { ...begun, stored: THERE, unknownForMs: 4_000 };
    expect(decide(waiting)).toMatchObject({ do: 'wait', recheckMs: 4_000 });
    const ended = { ...begun, status: reported({ ...begun, stored: THERE }) };
    expect(mayArrive(ended)).toBeUndefined();
  });

  it('whose end nobody has seen is not begun anew before its time is over', () => {
    const unknown = (more: object) => [
      { step: 'provision', begunMs: NOW_MS, untilMs: NOW_MS + 4_000, ...more } as UnknownAttempt,
    ];
    const decided = (attempts: readonly UnknownAttempt[]) => {
      const seen = { view: viewOf(aBucket(begun)), owned: [], live: {} };
      const circumstances = { isLive: true, isNamespacePaused: false, unknown: attempts };
      return nextAfterStatus(decideDefined(bucket, seen, NOW_MS, circumstances));
    };
    expect(decided(unknown({ isEndUnseen: true }))).toMatch(/wait|updateStatus: .*may still be in progress/);
    expect(decided(unknown({}))).toBe('provision');
    expect(decided(unknown({ isEndUnseen: true, untilMs: NOW_MS }))).toBe('provision');
    expect(decided(unknown({ isEndUnseen: true, step: 'remove' }))).toBe('provision');
  });

  it('that the status says may be in progress ends a longer wait, so that the status says it no longer than it may be', () => {
    const waits = {
      ...bucket,
      decide: (): Decision => ({ is: 'wait', what: 'the store', recheckAfter: '10m' }),
    };
    const told = decide({ ...begun, unknownForMs: 4_000 }, waits);
    if (!('status' in told)) throw new Error(`it does ${told.do}`);
    const waiting = { ...begun, status: told.status, unknownForMs: 4_000 };
    expect(decide(waiting, waits)).toMatchObject({ do: 'wait', recheckMs: 4_000 });
    expect(decide({ ...waiting, unknownForMs: 0 }, waits)).toMatchObject({
      status: { conditions: expect.arrayContaining([expect.objectContaining({ reason: 'NoneInProgress' })]) },
    });
  });

  it('is not waited for where none has begun: a new resource, an edit and a deletion', () => {
    expect(mayArrive({})).toBeUndefined();
    expect(mayArrive({ status: READY })).toBeUndefined();
    expect(mayArrive(before)).toBeUndefined();
    expect(mayArrive({ status: READY, metadata: DELETED })).toBeUndefined();
  });
});
const EXTERNAL = { type: 'ExternalStep', status: 'True', message: 'provision' };

const AS_WANTED: Decision = { is: 'converged', because: 'it is as it should be' };

it('the types know the steps and their data', () => {
  const Lamp = defineKind({
    group: 'example.com',
    version: 'v1',
    kind: 'Lamp',
    description: 'A lamp.',
    spec: z.object({ brightness: z.int() }),
  });
  const lamp = defineController({
    name: 'lamp',
    for: Lamp,
    observe: () => Promise.resolve({ brightness: 1 }),
    steps: {
      dim: {
        summary: 'dim the lamp',
        run: ({ observed }, { to }: { readonly to: number }) =>
          Promise.resolve(`dimmed it from ${observed.brightness} to ${to}`),
      },
    },
    decide({ resource: { spec }, observed }, next) {
      // @ts-expect-error -- there is no such step
      expect(next.do.smash).toBeUndefined();
      // @ts-expect-error -- the step needs data
      next.do.dim('it is too bright');
      // @ts-expect-error -- other data
      next.do.dim('it is too bright', { to: 'nothing' });
      // @ts-expect-error -- the kind has no such field
      if (spec.colour !== undefined) return next.removeFinalizer('it never is');
      return observed.brightness === spec.brightness
        ? next.converged('as bright as asked')
        : next.do.dim('it is too bright', { to: spec.brightness });
    },
  });
  const ofPods = { name: 'pods', for: PODS, view: () => 'seen', decide: () => AS_WANTED };
  // @ts-expect-error -- the status of a built-in type is not ours
  expect(() => defineController({ ...ofPods, status: () => ({}) })).toThrow('status cannot');
  expect(() => defineController({ ...ofPods, pollInterval: '10m' })).not.toThrow();
  const object = { ...aBucket(BEGUN), spec: { brightness: 3 } };
  const live = { observed: { brightness: 5 } };
  const decision = decideDefined(lamp, { view: viewOf(object, lamp), owned: [], live }, NOW_MS);
  expect(decision).toMatchObject({ do: 'dim', data: { to: 3 } });
  expect('data' in decision && isLibraryStep(decision)).toBe(false);
});
