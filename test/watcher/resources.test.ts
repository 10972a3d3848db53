import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Control } from '../../src/engine/holds/control.ts';
import type { Controller, WatchedChild } from '../../src/engine/controller.ts';
import type { ResourceType } from '../../src/api/resource-type.ts';
import { converged, reasonOf, type Step } from '../../src/runs/decision.ts';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import type { Evaluation } from '../../src/watcher/evaluation.ts';
import { Resources } from '../../src/watcher/resources.ts';
import { Watches } from '../../src/watcher/watches.ts';
import { eventually } from '../../testing/eventually.ts';
import { aFakeApi } from '../support/fake-api.ts';
import { type Handler } from '../support/fake-api-server.ts';
import { FakeCollection } from '../support/fake-collection.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

interface Web {
  readonly wanted: string;
}

interface Shadow {
  readonly has: string;
}

interface Shown {
  readonly wanted: string;
  readonly has: string;
}

const typeOf = (plural: string): ResourceType => ({
  group: '',
  version: 'v1',
  plural,
  kind: plural,
  namespaced: true,
});

const followers = (plural: string): WatchedChild<Shadow> => ({
  type: typeOf(plural),
  labelSelector: 'of',
  view: ({ metadata }) => ({ has: metadata.labels?.['has'] ?? '' }),
  ownerKey: ({ metadata }) => `default/${metadata.labels?.['of'] ?? ''}`,
});

/** A web is to have shadows and echoes that have, all together, what it wants: `a+b`. */
const shadows: Controller<Web, Shadow, Shown> = {
  name: 'shadows',
  workflowType: 'shadow',
  summary: ({ name }) => name,
  steps: { fix: 'mend' },
  primary: {
    type: typeOf('webs'),
    metadataOnly: true,
    fieldSelector: 'status.phase!=Failed',
    view: ({ metadata }) => ({ wanted: metadata.labels?.['wants'] ?? '' }),
  },
  children: ['shadows', 'echoes'].map(followers),
  observation: ({ wanted }, children) => ({
    wanted,
    has: children
      .map(({ has }) => has)
      .sort()
      .join('+'),
  }),
  decide: ({ wanted, has }) =>
    wanted === has
      ? converged('all there')
      : ({ do: 'fix', because: `${has} is not ${wanted}` } satisfies Step),
  inputs: ({ wanted }) => [wanted],
  permissions: [],
};

let webs: FakeCollection;
let children: FakeCollection;
let echoes: FakeCollection;
/** By plural, or by path. */
let collections: Map<string, FakeCollection>;
let resources: Resources;
let changed: Evaluation[];
let gone: ResourceRef[];
let terminating: readonly string[];
let isPaused: boolean | undefined;
/** What the quotas say. */
let allowed: string;

afterEach(() => resources.stop());

const api = aFakeApi();

beforeEach(() => {
  webs = new FakeCollection();
  children = new FakeCollection();
  echoes = new FakeCollection();
  collections = new Map([
    ['webs', webs],
    ['shadows', children],
    ['echoes', echoes],
  ]);
  api.server.handle((request, response) => {
    const { pathname } = request.url;
    const collection = collections.get(pathname) ?? collections.get(pathname.split('/').at(-1) ?? '');
    collection?.handler(request, response);
  });
  changed = [];
  gone = [];
  terminating = [];
  isPaused = false;
  allowed = '';
});

function watching<P, C, O>(controller: Controller<P, C, O>): Resources {
  resources = new Resources({
    controller: controller,
    client: api.client,
    watches: new Watches(),
    namespace: undefined,
    log: aRecordingLogger(),
    namespaces: { isTerminating: (namespace) => terminating.includes(namespace), isPaused: () => isPaused },
    quotas: { in: () => allowed },
    onChange: (evaluation) => changed.push(evaluation),
    onPoll: () => undefined,
    onGone: (ref) => gone.push(ref),
  });
  resources.start();
  return resources;
}

const addedShadow = (name: string, index: number) => {
  const labels = { of: 'web', has: 'a' };
  const metadata = { name, namespace: 'default', uid: name, resourceVersion: `${1000 + index}`, labels };
  return JSON.stringify({ type: 'ADDED', object: { metadata } });
};

const refTo = (name: string, uid: string): ResourceRef => ({
  controller: 'shadows',
  namespace: 'default',
  name,
  uid,
});

const decisions = () =>
  Object.fromEntries([...resources.all()].map(({ ref, decision }) => [ref.name, decision.do]));

describe('Resources', () => {
  it('leaves a resource that its controller cannot decide on to a run, and goes on with the others', async () => {
    webs.put('odd', { wants: 'a' });
    webs.put('plain', { wants: '' });
    const decide: typeof shadows.decide = (shown, nowMs) => {
      if (shown.wanted === 'a') throw new TypeError('wanted is not iterable');
      return shadows.decide(shown, nowMs);
    };
    await watching({ ...shadows, decide }).synced();
    expect(decisions()).toEqual({ odd: 'observe', plain: 'converged' });
    const odd = [...resources.all()].find(({ ref }) => ref.name === 'odd');
    expect(odd?.observation).toBeUndefined();
    expect(odd && reasonOf(odd.decision)).toContain('wanted is not iterable');
  });

  it('reports once a resource whose children changed all at once', async () => {
    webs.put('web', { wants: 'a+a+a' });
    await watching(shadows).synced();
    await eventually(() => children.openWatches === 1);
    children.sendLine(['one', 'two', 'three'].map(addedShadow).join('\n'));
    await eventually(() => decisions()['web'] === 'converged');
    await eventually(() => changed.length > 0);
    expect(changed.map(({ decision }) => decision.do)).toEqual(['converged']);
  });

  it('says nothing while one of its lists is not complete', async () => {
    const held: (() => void)[] = [];
    children.faults.list.push((request, response) => held.push(() => children.handler(request, response)));
    webs.put('web', { wants: 'a' });
    watching(shadows);
    await eventually(() => webs.openWatches === 1 && held.length === 1);
    webs.put('web', { wants: 'b' });
    await eventually(() => [...resources.all()].some(({ decision }) => reasonOf(decision).endsWith('not b')));
    expect(changed).toEqual([]);
    expect(resources.hasSynced()).toBe(false);
    for (const answer of held) answer();
    await resources.synced();
    expect(decisions()).toEqual({ web: 'fix' });
  });

  it('tells of a resource whose child is gone', async () => {
    webs.put('web', { wants: 'a' });
    children.put('one', { of: 'web', has: 'a' });
    await watching(shadows).synced();
    await eventually(() => children.openWatches === 1);
    children.remove('one');
    await eventually(() => changed.length === 1);
    expect(changed[0]?.decision.do).toBe('fix');
  });

  it('shows no resource while its children are listed anew, some as they are now and some as they were', async () => {
    webs.put('web', { wants: 'a' });
    children.put('child', { of: 'web', has: 'a' });
    await watching(shadows).synced();
    const ref = refTo('web', 'uid-1');
    expect(resources.observation(ref)).toEqual({ wanted: 'a', has: 'a' });
    const held: (() => void)[] = [];
    const hold: Handler = (request, response) => held.push(() => children.handler(request, response));
    children.faults.list.push(hold);
    await eventually(() => children.openWatches === 1);
    children.breakWatches('reset');
    children.put('child', { of: 'web', has: 'b' });
    children.compact();
    // The first reads only the version.
    await eventually(() => held.length === 1);
    held[0]?.();
    children.faults.list.push(hold);
    await eventually(() => held.length === 2);
    expect(resources.observation(ref)).toBeUndefined();
    held[1]?.();
    await eventually(() => resources.observation(ref) !== undefined);
    expect(resources.observation(ref)).toEqual({ wanted: 'a', has: 'b' });
  });

  it('names as inputs what the controller names, and nothing that a label of somebody changes', async () => {
    webs.put('web', { wants: 'a' });
    await watching(shadows).synced();
    const before = resources.find(refTo('web', 'uid-1'))?.inputs;
    await eventually(() => webs.openWatches === 1);
    webs.put('web', { wants: 'a', other: 'label' });
    await eventually(() => changed.length === 1);
    webs.put('web', { wants: 'b' });
    await eventually(() => changed.length === 2);
    expect(changed[0]?.inputs).toBe(before);
    expect(changed[1]?.inputs).not.toBe(before);
  });

  it('asks for all namespaces at once, metadata alone and with the selectors that are declared', async () => {
    await watching(shadows).synced();
    const asked = api.server.requests.map(({ url, headers }) => ({
      path: url.pathname,
      fieldSelector: url.searchParams.get('fieldSelector'),
      labelSelector: url.searchParams.get('labelSelector'),
      metadataOnly: (headers.accept ?? '').includes('PartialObjectMetadata'),
    }));
    expect(asked).toEqual(
      expect.arrayContaining([
        {
          path: '/api/v1/webs',
          fieldSelector: 'status.phase!=Failed',
          labelSelector: null,
          metadataOnly: true,
        },
        { path: '/api/v1/shadows', fieldSelector: null, labelSelector: 'of', metadataOnly: false },
      ]),
    );
    expect(new Set(asked.map(({ path }) => path))).toEqual(
      new Set(['/api/v1/webs', '/api/v1/shadows', '/api/v1/echoes']),
    );
  });

  it('tells of the resources of a namespace once its deletion has begun', async () => {
    webs.put('web', { wants: 'a' });
    await watching({ ...shadows, endsWithNamespace: true }).synced();
    terminating = ['default'];
    resources.evaluateIn('default');
    resources.evaluateIn('another');
    expect(changed.map(({ decision }) => decision)).toEqual([converged('its namespace is being deleted')]);
  });

  it('is news to open runs that a quota has changed, or that the Namespace is paused', async () => {
    webs.put('web', { wants: 'a' });
    await watching(shadows).synced();
    const inputs = () => [...resources.all()].map((each) => each.inputs)[0];
    const before = inputs();
    allowed = 'quotas changed 1';
    expect(inputs()).toBe(`${before}; quotas changed 1`);
    isPaused = true;
    expect(inputs()).toBe(`${before}; its Namespace is paused; quotas changed 1`);
  });

  it('leaves a cluster-scoped resource alone when the Namespace of its name is paused or deleted, or has quotas', async () => {
    const type = { ...typeOf('webs'), namespaced: false };
    webs = new FakeCollection({ isClusterScoped: true });
    collections.set('webs', webs);
    webs.put('web', { wants: 'a' });
    const primary = { ...shadows.primary, type };
    await watching({ ...shadows, primary, endsWithNamespace: true }).synced();
    const seen = () => [...resources.all()].map(({ decision, inputs }) => ({ decision, inputs }));
    const before = seen();
    [allowed, isPaused, terminating] = ['quotas changed 1', true, ['web']];
    expect(seen()).toEqual(before);
    resources.evaluateIn('web');
    expect(changed).toEqual([]);
  });

  it('keeps children of two types with one plural apart', async () => {
    const theirs = new FakeCollection();
    collections.set('/apis/example.com/v1/shadows', theirs);
    const type = { ...typeOf('shadows'), group: 'example.com' };
    const both = [followers('shadows'), { ...followers('shadows'), type }];
    webs.put('web', { wants: 'a+b' });
    children.put('one', { of: 'web', has: 'a' });
    theirs.put('one', { of: 'web', has: 'b' });
    await watching({ ...shadows, children: both }).synced();
    expect(decisions()).toEqual({ web: 'converged' });
    expect(resources.watchStates.map(({ resource }) => resource)).toEqual([
      'webs',
      'shadows',
      'shadows.example.com',
    ]);
    theirs.remove('one');
    await eventually(() => decisions()['web'] === 'fix');
  });

  describe('of a controller with references', () => {
    let secrets: FakeCollection;
    const seen = () =>
      Object.fromEntries([...resources.all()].map(({ ref, observation }) => [ref.name, observation]));
    /** A late evaluation of an earlier test does not count. */
    const told = () => new Set(changed.map(({ ref }) => ref.name).filter((name) => name in seen()));

    /** A web refers to the Secrets that it names, and to those with the label that it selects. */
    async function referring(): Promise<void> {
      secrets = new FakeCollection();
      collections.set('secrets', secrets);
      const view: Controller<Web>['primary']['view'] = ({ metadata }) => ({
        wanted: metadata.labels?.['refers'] ?? '',
      });
      const type = typeOf('secrets');
      const watcher: Controller<Web, never, string> = {
        ...{ name: 'shadows', workflowType: 'shadow', summary: ({ name }) => name, steps: {} },
        ...{ primary: { type: typeOf('webs'), view }, children: [], permissions: [] },
        references: [
          {
            type,
            isSelected: false,
            of: ({ wanted }) => ({ keys: wanted.split('.').map((name) => `default/${name}`) }),
          },
          { type, isSelected: true, of: ({ wanted }) => ({ keys: [], labels: { of: wanted } }) },
        ],
        observation: (_view, _children, { referred }) => referred?.digest ?? '',
        decide: () => converged('it is there'),
        inputs: (referred) => [referred],
      };
      webs.put('one', { refers: 'a' });
      webs.put('both', { refers: 'a.b' });
      webs.put('other', { refers: 'c' });
      await watching(watcher).synced();
      changed = [];
    }

    it('tells all that refer to an object of each change of it, also while it is absent', async () => {
      await referring();
      const before = seen();
      for (const change of [() => secrets.put('a'), () => secrets.put('a'), () => secrets.remove('a')]) {
        changed = [];
        const last = seen();
        change();
        await eventually(() => told().size === 2);
        expect(told()).toEqual(new Set(['one', 'both']));
        expect(seen()['one']).not.toBe(last['one']);
        expect(seen()['other']).toBe(last['other']);
      }
      expect(seen()).toEqual(before);
    });

    it('tells those that select an object when it gets their label, changes, and loses it', async () => {
      await referring();
      for (const labels of [{ of: 'c' }, { of: 'c', more: 'b' }, {}] as Record<string, string>[]) {
        changed = [];
        secrets.put('d', labels);
        await eventually(() => told().size > 0);
        expect(told()).toEqual(new Set(['other']));
      }
    });

    it('tells a resource no more of what it no longer refers to', async () => {
      await referring();
      webs.put('one', { refers: 'c' });
      webs.remove('both');
      await eventually(() => Object.keys(seen()).length === 2 && told().has('one'));
      changed = [];
      secrets.put('a');
      secrets.put('c');
      await eventually(() => told().size >= 2);
      expect(told()).toEqual(new Set(['one', 'other']));
    });
  });

  it('looks at what an annotation asks to be looked at, until a run was started for it', async () => {
    const asked = (value: string): Control => ({
      ...{ uid: 'uid-1', isBeingDeleted: false, isPaused: false, isApprovalRequired: false, problems: [] },
      requestedAt: value,
    });
    const controls: Control[] = [];
    webs.put('web', {});
    await watching({ ...shadows, control: () => controls.at(-1) }).synced();
    expect(decisions()).toEqual({ web: 'converged' });
    controls.push(asked('1'));
    webs.put('web', {});
    const view = await eventually(() => changed.find(({ decision }) => decision.do === 'observe'));
    expect(view).toMatchObject({
      decision: { because: 'a reconcile was requested: 1' },
      inputs: expect.stringContaining('look 1'),
    });
    resources.requested(view);
    await eventually(() => changed.at(-1)?.decision.do === 'converged');
    expect(decisions()).toEqual({ web: 'converged' });
  });

  it('decides again when a decision no longer holds, though nothing has changed', async () => {
    let isOver = false;
    webs.put('web', {});
    const decide: typeof shadows.decide = () =>
      isOver ? converged('over') : converged('starting', { recheckMs: 1 });
    await watching({ ...shadows, decide }).synced();
    expect(decisions()).toEqual({ web: 'converged' });
    isOver = true;
    await eventually(() => changed.some(({ decision }) => reasonOf(decision) === 'over'));
  });
});
