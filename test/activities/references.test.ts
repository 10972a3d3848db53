import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { definedReconciler } from '../../activities/defined-reconciler.ts';
import { defineController, defineKind, NAMESPACES, SECRETS } from '../../src/api/index.ts';
import type { ReferredState } from '../../src/engine/controller.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { referredObjects, stateOf } from '../../src/engine/referred.ts';
import { definedController } from '../../src/engine/defined-controller.ts';
import type { DefinedView } from '../../src/engine/view.ts';
import type { KubernetesClient, RequestOptions } from '../../src/kubernetes/client.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { watcherRules } from '../../src/program/generate/permissions.ts';
import { isStep } from '../../src/runs/decision.ts';

const Copy = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Copy', description: 'A copy.' },
  spec: z.object({ secrets: z.array(z.string()), team: z.string().optional() }),
});
const definition = defineController({
  name: 'copy',
  for: Copy,
  references: [
    { ...SECRETS, names: ({ resource }) => resource.spec.secrets.map((name) => ({ name })) },
    {
      ...NAMESPACES,
      matchLabels: ({ resource: { spec } }) => (spec.team === undefined ? undefined : { team: spec.team }),
    },
  ],
  observe: () => Promise.resolve(undefined),
  steps: {},
  decide: (_, next) => next.converged('it is copied'),
});
const controller = definedController(definition);
const REF = { controller: 'copy', namespace: 'shop', name: 'copy', uid: 'uid-1' };

function object(name: string, resourceVersion: string, namespace?: string): KubernetesObject {
  return { metadata: { name, uid: `uid-of-${name}`, resourceVersion, ...(namespace && { namespace }) } };
}

/** A cluster with a Secret a, and two Namespaces of a team. */
function aCluster(spec: object, version = '5') {
  const asked: string[] = [];
  let copy: KubernetesObject = { metadata: { ...REF, resourceVersion: '1', generation: 1 }, spec };
  const answer = ({ method, path, query, metadataOnly, body }: RequestOptions): object => {
    if (path.includes('/copies') || path.includes('/copys')) {
      if (method === 'PATCH') copy = { ...copy, ...(body as object), metadata: copy.metadata };
      return copy;
    }
    asked.push(`${path} ${JSON.stringify(query?.['labelSelector'] ?? '')} ${String(metadataOnly)}`);
    if (path.endsWith('/namespaces'))
      return { metadata: {}, items: [object('one', '1'), object('two', '2')] };
    if (path.endsWith('/a')) return object('a', version, 'shop');
    throw new ApiError('there is none', { classification: 'not-found', status: 404 });
  };
  const client = {
    request: (options: RequestOptions) => Promise.resolve().then(() => answer(options)),
  } as unknown as KubernetesClient;
  const reconciler = definedReconciler(definition, client);
  const context = { ref: REF, now: () => 0, superseded: new AbortController().signal };
  return {
    asked,
    get copy() {
      return copy;
    },
    /** Observes and does steps until nothing is left to do. @returns the steps */
    async converge(): Promise<string[]> {
      const steps: string[] = [];
      for (;;) {
        const observation = await reconciler.observe(context);
        const next = reconciler.controller.decide(observation, 0);
        if (next.do === 'converged') return steps;
        if (steps.length > 5 || !isStep(next)) throw new Error(`it does ${next.do}`);
        await reconciler.perform(next, observation, context);
        steps.push(next.do);
      }
    },
  };
}

function viewOf(copy: KubernetesObject): DefinedView {
  const view = controller.primary.view(copy);
  if (view === undefined) throw new Error('it has a view');
  return view;
}

/** What the watcher decides. @param referred undefined: it does not know */
function watched(copy: KubernetesObject, referred: ReferredState | undefined) {
  const identity = { ...copy.metadata, referred };
  return controller.decide(controller.observation(viewOf(copy), [], identity), 0);
}

const state = (version: string) =>
  stateOf([
    ...referredObjects(
      SECRETS,
      ['shop/a', 'shop/b'],
      [{ key: 'shop/a', uid: 'uid-of-a', resourceVersion: version }],
    ),
    ...referredObjects(
      NAMESPACES,
      [],
      [
        { key: 'one', uid: 'uid-of-one', resourceVersion: '1' },
        { key: 'two', uid: 'uid-of-two', resourceVersion: '2' },
      ],
    ),
  ]);

describe('what a resource refers to', () => {
  it('is read by name, absent or not, and by labels, and only its metadata', async () => {
    const cluster = aCluster({ secrets: ['a', 'b'], team: 'x' });
    await cluster.converge();
    expect(new Set(cluster.asked)).toEqual(
      new Set([
        '/api/v1/namespaces/shop/secrets/a "" true',
        '/api/v1/namespaces/shop/secrets/b "" true',
        '/api/v1/namespaces "team=x" list',
      ]),
    );
  });

  it('makes no run at a start unless it has changed meanwhile, since the status says what was observed', async () => {
    const cluster = aCluster({ secrets: ['a', 'b'], team: 'x' });
    expect(await cluster.converge()).toEqual(['updateStatus']);
    expect(watched(cluster.copy, state('5'))).toMatchObject({ do: 'converged' });
    expect(watched(cluster.copy, state('6'))).toMatchObject({
      do: 'observe',
      because: 'what the watch shows is not what was observed',
    });
    expect(watched(cluster.copy, undefined)).toMatchObject({ do: 'converged' });
  });

  it('is news to an open run', () => {
    const copy = aCluster({ secrets: ['a'] }).copy;
    const view = viewOf(copy);
    const inputs = (referred: ReferredState) =>
      controller.inputs?.(controller.observation(view, [], { ...copy.metadata, referred }));
    expect(inputs(state('1'))).not.toEqual(inputs(state('2')));
  });

  it('leaves no trace in the status where there is nothing', async () => {
    const cluster = aCluster({ secrets: [] });
    await cluster.converge();
    expect(JSON.stringify(cluster.copy)).not.toContain('References');
    expect(watched(cluster.copy, stateOf([]))).toMatchObject({ do: 'converged' });
  });

  it('is not asked for without a name', async () => {
    const cluster = aCluster({ secrets: [''] });
    await expect(cluster.converge()).rejects.toThrow('secrets: a name is needed');
    expect(cluster.asked).toEqual([]);
  });

  it('needs the rights to get or list it, and to watch it', () => {
    expect(controller.permissions).toContainEqual({
      apiGroups: [''],
      resources: ['secrets'],
      verbs: ['get'],
    });
    expect(controller.permissions).toContainEqual({
      apiGroups: [''],
      resources: ['namespaces'],
      verbs: ['list'],
    });
    const rules = watcherRules(controller);
    const verbs = ['list', 'watch'];
    expect(rules.namespaced).toContainEqual(
      expect.objectContaining({ resources: expect.arrayContaining(['secrets']), verbs }),
    );
  });
});
