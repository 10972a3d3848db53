import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Controller } from '../../src/engine/controller.ts';
import { converged } from '../../src/runs/decision.ts';
import { RunsUnavailable } from '../../src/watcher/runs.ts';
import { Watcher, type WatcherOptions } from '../../src/watcher/watcher.ts';
import { eventually } from '../../testing/eventually.ts';
import { aFakeApi } from '../support/fake-api.ts';
import { answerJson, answerText, type Handler } from '../support/fake-api-server.ts';
import { defineController, SECRETS } from '../../src/api/index.ts';
import { referredObjects, stateOf } from '../../src/engine/referred.ts';
import { controlOf } from '../../src/engine/holds/annotations.ts';
import { inputsDigest } from '../../src/engine/inputs.ts';
import { definedView } from '../../src/engine/view.ts';
import { definedController } from '../../src/engine/defined-controller.ts';
import { Bucket } from '../support/bucket.ts';
import { FakeCollection } from '../support/fake-collection.ts';
import { FakeRuns } from '../support/fake-runs.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

/** Nothing of it is ever in its desired state. */
const greedy = (plural: string): Controller<string, never, string> => ({
  name: plural,
  workflowType: 'greedy',
  summary: ({ name }) => name,
  steps: { take: 'take it' },
  primary: {
    type: { group: '', version: 'v1', plural, kind: plural, namespaced: true },
    metadataOnly: true,
    view: ({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`,
  },
  children: [],
  observation: (key) => key,
  decide: (key) => {
    evaluated.add(key);
    return { do: 'take', because: 'it is there' };
  },
  permissions: [],
});

/** The keys of all resources that were decided on. */
const evaluated = new Set<string>();
let namespaces: FakeCollection;
let webs: FakeCollection;
let others: Handler;
/** A namespace in which the operator has no rights. */
let forbidden: string;
let runs: FakeRuns;
let watcher: Watcher;

afterEach(async () => {
  jest.useRealTimers();
  await watcher.stop();
});

const api = aFakeApi();

beforeEach(() => {
  evaluated.clear();
  forbidden = 'nowhere';
  namespaces = new FakeCollection();
  webs = new FakeCollection();
  others = answerText(404, '404 page not found\n');
  api.server.handle((request, response) => {
    const { pathname } = request.url;
    if (pathname === '/api/v1/namespaces') namespaces.handler(request, response);
    else if (pathname.includes(`/namespaces/${forbidden}`)) FORBIDDEN(request, response);
    else if (pathname.endsWith('/webs')) webs.handler(request, response);
    else others(request, response);
  });
  runs = new FakeRuns();
  watcher = aWatcher();
});

function aWatcher(options: Partial<WatcherOptions> = {}): Watcher {
  return new Watcher({
    controllers: [greedy('webs'), greedy('others')],
    client: api.client,
    runs,
    namespaces: [],
    resyncMs: 180_000,
    concurrency: 10,
    log: aRecordingLogger(),
    ...options,
  });
}

const FORBIDDEN = answerJson(403, { kind: 'Status', message: 'forbidden: User "operator" cannot list' });

async function expectStarted(name: string): Promise<void> {
  watcher.start();
  watcher.lead(() => true);
  await eventually(() => runs.calls.length > 0);
  expect(runs.calls).toEqual([`start ${name}`]);
}

/** @param what is forbidden, as a problem names it */
async function expectForbidden(what: string, besides: readonly string[] = []): Promise<void> {
  const count = 2 + besides.length;
  expect(await eventually(() => watcher.problems.length === count && watcher.problems)).toEqual([
    `${what}: the initial list is not complete yet`,
    expect.stringContaining('403 forbidden: User "operator" cannot list'),
    ...besides.map((text): unknown => expect.stringContaining(text)),
  ]);
}

/** Reads by name. */
const answerNamespace: Handler = (request, response) => {
  const name = request.url.pathname.split('/').at(-1) ?? '';
  answerJson(200, { metadata: { name, uid: name, resourceVersion: '1' } })(request, response);
};

describe('a controller whose list cannot be had', () => {
  it('holds up no other, and is no problem, where its CRD is not installed', async () => {
    webs.put('web');
    await expectStarted('web');
    await eventually(() => watcher.problems.length === 0);
  });

  it('holds up no other, but is a problem, where it is forbidden', async () => {
    others = FORBIDDEN;
    webs.put('web');
    await expectStarted('web');
    await expectForbidden('others');
  });
});

describe('a 404 that is no Status', () => {
  const NOT_HERE = answerText(404, 'no backend serves this');

  it('is a problem of what was listed before, as where a gateway answers it', async () => {
    watcher.start();
    await eventually(() => watcher.problems.length === 0 && webs.openWatches === 1);
    webs.faults.list.push(...Array.from({ length: 10_000 }, () => NOT_HERE));
    webs.breakWatches('reset');
    expect(await eventually(() => watcher.problems.length > 0 && watcher.problems)).toEqual([
      expect.stringContaining('GET /api/v1/webs: 404 no backend serves this'),
    ]);
    expect(watcher.state.watches.find(({ resource }) => resource === 'webs')?.silenceSeconds).not.toBe(0);
  });

  it('does not hide what is wrong with the other types of its controller', async () => {
    const { primary, children, ...rest } = greedy('webs');
    const child = { ...primary, view: () => undefined, ownerKey: () => undefined };
    const missing = { ...child, type: { ...primary.type, plural: 'others' } };
    watcher = aWatcher({ controllers: [{ ...rest, primary, children: [...children, missing] }] });
    webs.faults.list.push(...Array.from({ length: 10_000 }, () => FORBIDDEN));
    watcher.start();
    await expectForbidden('webs');
  });
});

describe('an optional type', () => {
  const { primary, ...rest } = greedy('webs');
  const child = {
    ...{ type: { ...primary.type, plural: 'others' }, isOptional: true as const },
    view: () => undefined,
    ownerKey: () => undefined,
  } as const;
  const waiting: Controller<string, never, string> = {
    ...{ ...rest, primary, children: [child] },
    observation: (key, _, { missing = [] }) =>
      [key, ...missing.map(({ plural }) => plural)].join(' without '),
    decide: (seen) => {
      evaluated.add(seen);
      return seen.includes('without')
        ? { do: 'converged', because: 'nothing is declared' }
        : { do: 'take', because: 'it is there' };
    },
  };

  it('holds nothing up while its API is missing, and what is declared of it is created once that comes', async () => {
    watcher = aWatcher({ controllers: [waiting] });
    webs.put('web');
    watcher.start();
    watcher.lead(() => true);
    await eventually(() => evaluated.has('default/web without others'));
    expect(watcher.problems).toEqual([]);
    expect(runs.calls).toEqual([]);
    const collection = new FakeCollection();
    others = collection.handler;
    expect(await eventually(() => runs.calls.length > 0 && runs.calls, 20_000)).toEqual(['start web']);
  });
});

describe('a namespace that cannot be watched', () => {
  it('holds up no other, and is named', async () => {
    forbidden = 'secret';
    others = answerNamespace;
    watcher = aWatcher({ controllers: [greedy('webs')], namespaces: ['default', forbidden] });
    webs.put('web');
    await expectStarted('web');
    await expectForbidden('webs in namespace secret', ['GET /api/v1/namespaces/secret: 403 forbidden']);
  });
});

describe('controllers that ask for the same objects', () => {
  const named = (name: string, primary: object = {}) => {
    const { primary: usual, ...rest } = greedy('webs');
    return { ...rest, name, primary: { ...usual, ...primary } };
  };
  const started = async (controllers: WatcherOptions['controllers'], watches: number) => {
    watcher = aWatcher({ controllers });
    webs.put('web');
    watcher.start();
    watcher.lead(() => true);
    await eventually(() => runs.calls.length === controllers.length);
    await eventually(() => webs.openWatches === watches);
  };

  it('share one watch, and each is told of every change', async () => {
    await started([named('one'), named('other')], 1);
    webs.put('late');
    await eventually(() => runs.calls.length === 4);
    expect(runs.calls.toSorted()).toEqual(['start late', 'start late', 'start web', 'start web']);
  });

  it('go on with it where one of them cannot parse an object', async () => {
    const fails = () => {
      throw new Error('it is odd');
    };
    watcher = aWatcher({ controllers: [named('odd', { view: fails }), named('other')] });
    webs.put('web');
    await expectStarted('web');
  });

  it('have watches of their own where they ask for other fields or with other selectors', async () => {
    const others = [named('whole', { metadataOnly: false }), named('some', { labelSelector: 'a' })];
    await started([named('one'), ...others], 3);
  });
});

describe('a cluster-scoped resource', () => {
  it('is watched where only some namespaces are', async () => {
    webs = new FakeCollection({ isClusterScoped: true });
    const { primary, ...rest } = greedy('webs');
    const type = { ...primary.type, namespaced: false };
    others = answerNamespace;
    watcher = aWatcher({
      controllers: [{ ...rest, primary: { ...primary, type } }],
      namespaces: ['default', 'shop'],
    });
    webs.put('web');
    await expectStarted('web');
    const ref = { controller: 'webs', namespace: 'web', name: 'web', uid: 'uid-1' };
    expect(watcher.observation(ref)).toBe('/web');
  });
});

describe('a start with many resources of an author', () => {
  const aBucket = (index: number, reason: string) => {
    const metadata = { name: `b-${index}`, namespace: 'default', uid: `uid-${index}`, resourceVersion: '1' };
    const at = { observedGeneration: 1, lastTransitionTime: '2026-01-01T12:00:00Z' };
    const conditions = [
      { ...at, type: 'Ready', status: 'True', reason: 'AsSpecified', message: 'it is as specified' },
      { ...at, type: 'InputsObserved', status: 'True', reason, message: '' },
    ];
    return {
      metadata: { ...metadata, generation: 1 },
      spec: {},
      status: { observedGeneration: 1, conditions },
    };
  };

  it('makes runs only for those whose references have changed meanwhile', async () => {
    const secret = { metadata: { name: 'a', namespace: 'default', uid: 'uid-a', resourceVersion: '7' } };
    const there = [{ ...secret.metadata, key: 'default/a' }];
    const bucket = defineController({
      name: 'bucket',
      for: Bucket,
      references: [{ ...SECRETS, names: () => [{ name: 'a' }] }],
      observe: () => Promise.resolve(undefined),
      steps: {},
      decide: (_, next) => next.converged('it is as specified'),
    });
    const view = definedView(bucket, aBucket(0, 'None'));
    const referred = stateOf(referredObjects(SECRETS, ['default/a'], there));
    const seen = (view && inputsDigest(bucket, { view, owned: [], referred })) ?? '';
    const items = Array.from({ length: 300 }, (_, index) =>
      aBucket(index, index === 7 ? 'Sha256_other' : seen),
    );
    others = (request, response) => {
      if (request.url.searchParams.has('watch')) return;
      const isOfSecrets = request.url.pathname.endsWith('/secrets');
      const list = { metadata: { resourceVersion: '9' }, items: isOfSecrets ? [secret] : items };
      answerJson(200, list)(request, response);
    };
    watcher = aWatcher({ controllers: [definedController(bucket)] });
    await expectStarted('b-7');
  });
});

const KEPT = { name: 'web', uid: 'uid', resourceVersion: '1' };
const requesting = (value: string) => ({ 'durable-operator.dev/reconcile-requested-at': value });
const isKnown = (name: string) => evaluated.has(`default/${name}`);

describe('a watcher that stands by', () => {
  it('is ready, and starts nothing, until it leads: then what it knows by then', async () => {
    webs.put('early');
    watcher.start();
    await eventually(() => watcher.problems.length === 0);
    webs.put('late');
    await eventually(() => isKnown('late'));
    expect(runs.calls).toEqual([]);
    watcher.lead(() => true);
    await eventually(() => runs.calls.length === 2);
    expect(runs.calls).toEqual(['start early', 'start late']);
  });

  it('starts nothing for what the last leader was asked, but one run for what came at its end', async () => {
    const controller: Controller<string, never, string> = {
      ...greedy('webs'),
      primary: { ...greedy('webs').primary, view: ({ metadata }) => metadata.labels?.['asked'] ?? '' },
      decide: (asked) => {
        evaluated.add(asked);
        return { do: 'converged', because: 'it is well' };
      },
      control: (asked) =>
        controlOf({ metadata: { ...KEPT, annotations: asked === '' ? {} : requesting(asked) } }),
    };
    watcher = aWatcher({ controllers: [controller] });
    webs.put('early');
    webs.put('late');
    watcher.start();
    await eventually(() => watcher.problems.length === 0 && webs.openWatches === 1);
    const asks = async (name: string, asked: string) => {
      webs.put(name, { asked });
      await eventually(() => evaluated.has(asked));
    };
    await asks('early', 'at 10:00');
    const ledUntilMs = performance.now() + 15_000;
    await asks('late', 'at 11:00');
    await asks('late', 'at 11:01');
    watcher.lead(() => true, ledUntilMs);
    await eventually(() => runs.calls.length > 0);
    expect(runs.calls).toEqual(['start late']);
  });

  it('starts nothing any more where it did lead, and goes on watching', async () => {
    watcher.start();
    watcher.lead(() => true);
    webs.put('early');
    await eventually(() => runs.calls.length === 1);
    await watcher.standBy();
    webs.put('late');
    await eventually(() => isKnown('late'));
    watcher.runEnded({ controller: 'webs', namespace: 'default', name: 'early', uid: 'uid-1' });
    expect(runs.calls).toEqual(['start early']);
  });
});

describe('a watcher that stops', () => {
  it('and is asked to stand by or to stop again, has ended what was in progress before each says so', async () => {
    const inProgress: (() => void)[] = [];
    runs.start = () => new Promise((resolve) => inProgress.push(() => resolve('started')));
    webs.put('web');
    watcher.start();
    watcher.lead(() => true);
    await eventually(() => inProgress.length === 1);
    const said: string[] = [];
    const ends = [
      watcher.standBy().then(() => said.push('stood by')),
      watcher.standBy().then(() => said.push('stood by again')),
      watcher.stop().then(() => said.push('stopped')),
      watcher.stop().then(() => said.push('stopped again')),
    ];
    await eventually(() => webs.openWatches === 0);
    await new Promise(setImmediate);
    expect(said).toEqual([]);
    inProgress[0]?.();
    await Promise.all(ends);
  });
});

describe('a run whose resource vanished while nobody watched', () => {
  const gone = { controller: 'webs', namespace: 'default', name: 'gone', uid: 'uid-of-gone' };

  it("is signalled within a resync period and half a minute, where Temporal's database was restored", async () => {
    watcher = aWatcher({ controllers: [greedy('webs')] });
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    watcher.start();
    await watcher.synced();
    watcher.lead(() => true);
    await jest.advanceTimersByTimeAsync(60_000);
    runs.isOpen(gone);
    await jest.advanceTimersByTimeAsync(215_000);
    expect(runs.calls).toContain('signal gone: the resource is gone');
  });

  it('is signalled, although Temporal was away for minutes at first', async () => {
    runs.isOpen(gone);
    watcher.start();
    await eventually(() => watcher.problems.length === 0);
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    runs.failure = new RunsUnavailable('away');
    watcher.lead(() => true);
    await jest.advanceTimersByTimeAsync(180_000);
    runs.failure = undefined;
    await jest.advanceTimersByTimeAsync(60_000);
    expect(runs.calls).toContain('signal gone: the resource is gone');
  });
});

describe('a watcher that leads no more, and does not know it yet', () => {
  it('starts nothing', async () => {
    let asked = 0;
    webs.put('web');
    watcher.start();
    watcher.lead(() => {
      asked += 1;
      return false;
    });
    await eventually(() => asked > 0);
    await watcher.standBy();
    expect(runs.calls).toEqual([]);
  });
});

describe('a run that ends and finds nothing of what is shown', () => {
  const ref = { controller: 'webs', namespace: 'default', name: 'web', uid: 'uid-1' };
  const WEB = '/api/v1/namespaces/default/webs/web';
  const requestsForWebs = () =>
    api.server.requests.filter(({ url }) => url.pathname.endsWith('/webs')).length;
  const endsInVain = async () => {
    await eventually(() => runs.calls.length > 0 && webs.openWatches === 1 && namespaces.openWatches === 1);
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] });
    runs.end(ref);
    watcher.runEnded(ref);
  };

  beforeEach(() => {
    for (let i = 0; i < 5; i += 1) webs.put('web');
    watcher = aWatcher({ controllers: [greedy('webs')] });
    watcher.start();
    watcher.lead(() => true);
  });

  it('has the server checked ten seconds later, and everything read anew where it has gone back in time', async () => {
    await endsInVain();
    webs.restore();
    webs.put('restored');
    await jest.advanceTimersByTimeAsync(10_000);
    await eventually(() => isKnown('restored'));
  });

  it.each<[what: string, answer: Handler, ms: number]>([
    ['is older', answerJson(200, { metadata: { resourceVersion: '9' } }), 0],
    [
      'is gone',
      answerJson(404, { kind: 'Status', message: 'no', details: { kind: 'webs', name: 'web' } }),
      10_000,
    ],
  ])('is as good as a step that reads that it %s', async (_, answer, ms) => {
    await eventually(() => watcher.observation(ref) !== undefined && webs.openWatches === 1);
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] });
    webs.restore();
    webs.put('restored');
    others = answer;
    await watcher
      .comparing(api.client)
      .request({ method: 'GET', path: WEB })
      .catch(() => undefined);
    await jest.advanceTimersByTimeAsync(ms);
    await eventually(() => isKnown('restored'));
  });

  it('costs no request where the watch tells the deletion by then', async () => {
    await endsInVain();
    const asked = requestsForWebs();
    webs.remove('web');
    await eventually(() => watcher.observation(ref) === undefined);
    await jest.advanceTimersByTimeAsync(20_000);
    expect(requestsForWebs()).toBe(asked);
  });
});

describe('who observes', () => {
  it('may ask how long the oldest resource has needed a step', async () => {
    webs.put('one');
    watcher.start();
    watcher.lead(() => true);
    await eventually(() => (watcher.state.oldestRequests[0]?.seconds ?? 0) > 0.05);
    expect(watcher.state.oldestRequests).toEqual([
      { controller: 'webs', seconds: expect.any(Number), waitSeconds: expect.any(Number) },
    ]);
  });
});

describe('a poll', () => {
  const polled: Controller<string, never, string> = {
    ...greedy('webs'),
    decide: () => converged('all is well'),
    control: () => ({
      ...{ uid: 'web', isBeingDeleted: false, isPaused: false, isApprovalRequired: false, problems: [] },
      pollInterval: '1s',
    }),
  };

  it('reads in a process that leads, and starts a run for the step that follows', async () => {
    webs.put('web');
    let looks = 0;
    await watcher.stop();
    watcher = aWatcher({
      controllers: [polled],
      pollReader: {
        takeTurn: () => ({ end: () => undefined }),
        look: () => {
          looks += 1;
          return Promise.resolve(
            looks < 3 ? converged('as it was') : { do: 'take', because: 'it has changed' },
          );
        },
      },
    });
    watcher.start();
    watcher.lead(() => true);
    await eventually(() => runs.requests.length > 0);
    expect(runs.requests).toMatchObject([
      { reason: 'checked every 1s: it has changed', first: { do: 'observe' } },
    ]);
    expect(looks).toBe(3);
    await watcher.standBy();
  });

  it('starts a run in a process that only watches', async () => {
    webs.put('web');
    await watcher.stop();
    watcher = aWatcher({ controllers: [polled] });
    watcher.start();
    watcher.lead(() => true);
    await eventually(() => runs.requests.length > 0);
    expect(runs.requests).toMatchObject([{ reason: 'checked every 1s', first: { do: 'observe' } }]);
  });
});
