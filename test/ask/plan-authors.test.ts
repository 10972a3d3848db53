import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  allow,
  child,
  defineController,
  defineKind,
  SECRETS,
  type WrappedChild,
} from '../../src/api/index.ts';
import { defaultOptions } from '../../src/config/config.ts';
import { mergePatch } from '../../src/ask/plan/rehearsal.ts';
import { definedController } from '../../src/engine/defined-controller.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { VERSION_OF_NONE } from '../../src/kubernetes/kube.ts';
import type { RequestOptions, KubernetesClient } from '../../src/kubernetes/client.ts';
import type { AnyDefinition } from '../../src/engine/definition.ts';
import { namedResource } from '../../src/ask/resource-name.ts';
import { Planner } from '../../src/ask/plan/planner.ts';
import { textOfPlan } from '../../src/ask/plan/plan-lines.ts';
import { asked, aTemporal } from '../support/ask-session.ts';

const Shop = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Shop', description: 'A shop.' },
  spec: z.object({ replicas: z.int().default(1) }),
});
const REF = { controller: 'shop', namespace: 'shop', name: 'web', uid: 'uid-of-web' };
const AT = resourcePath(Shop, REF);

/** A cluster that answers dry runs, and keeps nothing. */
function aCluster(objects: Readonly<Record<string, KubernetesObject>>): KubernetesClient {
  const answer = ({ method, path, body }: RequestOptions): unknown => {
    const live = objects[path.replace(/\/status$/, '')];
    const collection = path.split('/').at(-1) ?? '';
    if (method === 'GET' && live === undefined && collection === 'secrets')
      return {
        metadata: { resourceVersion: '1' },
        items: Object.entries(objects).flatMap(([at, object]) =>
          at.includes(`/${collection}/`) ? [object] : [],
        ),
      };
    if (path === '/api/v1/namespaces/shop')
      return { metadata: { name: 'shop', uid: 'n', resourceVersion: '1' } };
    // As server-side apply creates it.
    if (live === undefined && method === 'PATCH' && path.includes('/secrets/'))
      return mergePatch({ metadata: { uid: 'uid-of-new', resourceVersion: '1' } }, body);
    if (live === undefined) throw new ApiError('there is none', { classification: 'not-found', status: 404 });
    const { resourceVersion } = fieldsOf(fieldsOf(body)['metadata']);
    if (path.includes('/secrets/') && resourceVersion === VERSION_OF_NONE)
      throw new ApiError('it is there', { classification: 'conflict', status: 409 });
    if (method === 'DELETE') return { kind: 'Status', metadata: {}, status: 'Success' };
    return method === 'PATCH' ? mergePatch(live, body) : live;
  };
  return {
    ...{ server: 'a fake', fieldManager: 'a fake' },
    request: <T>(options: RequestOptions) => Promise.resolve().then(() => answer(options) as T),
    watch: () => {
      throw new Error('nobody watches');
    },
    close: () => Promise.resolve(),
  };
}

function plannerOf(definition: AnyDefinition, objects: Readonly<Record<string, KubernetesObject>> = {}) {
  const program = { name: 'shop-operator', controllers: [definition] };
  return new Planner({ program, client: aCluster(objects) }, defaultOptions(program), () => 0);
}

const plain = (_: unknown, text: string) => text;
const meta = { resourceVersion: '1', generation: 1 };

const shop: KubernetesObject = {
  metadata: { ...REF, ...meta, annotations: { 'durable-operator.dev/approval': 'required' } },
  spec: {},
};
const aSecret = (namespace: string): KubernetesObject => ({
  metadata: { name: 'copy', namespace, uid: `uid-in-${namespace}`, resourceVersion: '7' },
});
const inCluster = (...objects: readonly KubernetesObject[]) =>
  Object.fromEntries(objects.map((each) => [resourcePath(SECRETS, each.metadata), each]));

const definition = defineController({
  ...{ name: 'shop', for: Shop },
  permissions: [allow(SECRETS, ['list', 'delete'])],
  observe: ({ kube }) => kube.list(SECRETS),
  observeInPlan: true,
  steps: {
    remove: {
      ...{ summary: 'remove the copies', external: false },
      deletes: (_, copies: readonly KubernetesObject[]) => ({
        what: 'Secret',
        count: copies.length,
        objects: () => copies.map(({ metadata }) => metadata),
      }),
      run: async ({ kube }, copies: readonly KubernetesObject[]) => {
        for (const { metadata } of copies)
          await kube.delete({ type: SECRETS, ...metadata }, { uid: metadata.uid });
        return 'removed them';
      },
    },
  },
  // An author may require that somebody has asked for approval.
  decide: ({ resource, observed }, next) =>
    observed.length > 0 && resource.metadata.annotations?.['durable-operator.dev/approval'] === 'required'
      ? next.do.remove('they are not asked for', observed)
      : next.converged('there are none'),
});

describe('a plan of an author', () => {
  it('shows what an approval holds back, each deletion once, and where the objects are', async () => {
    const objects = { [AT]: shop, ...inCluster(aSecret('a'), aSecret('b')) };
    const planner = plannerOf(definition, objects);
    const plan = await planner.of(
      REF.uid,
      namedResource(definedController(definition), REF.name, REF.namespace),
    );
    expect(plan.end).toMatchObject({ is: 'rest', next: { do: 'converged' } });
    const lines = textOfPlan(plan, plain).split('\n');
    expect(lines.filter((line) => line.includes('secrets/'))).toEqual([
      '   delete secrets/copy in a, secrets/copy in b',
    ]);
    expect(lines.filter((line) => line.includes('. remove: '))).toHaveLength(1);
    expect(lines).toContain(
      'on hold: awaiting approval to delete 2 Secrets (a/copy, b/copy); without the hold:',
    );
  });
});

describe('a plan of declared objects', () => {
  const declaring = (...children: readonly WrappedChild[]) =>
    defineController({ ...{ name: 'shop', for: Shop }, owns: [SECRETS], children: () => children });
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'password' }, data: { user: 'YQ==' } };

  it('generates nothing', async () => {
    let calls = 0;
    const generate = () => {
      calls += 1;
      return { data: { password: 'hunter2' } };
    };
    const controller = declaring(child(secret, { createOnly: true, generate }));
    const planner = plannerOf(controller, { [AT]: { ...shop, metadata: { ...REF, ...meta } } });
    const named = namedResource(definedController(controller), REF.name, REF.namespace);
    const text = textOfPlan(await planner.of(REF.uid, named), plain);
    expect(text).toContain('create secrets/password');
    expect(text).not.toContain('hunter2');
    expect(calls).toBe(0);
  });
});

describe('a plan of an adoption', () => {
  it('shows what becomes of the object', async () => {
    const controller = defineController({
      ...{ name: 'shop', for: Shop, owns: [SECRETS] },
      children: () => [
        child({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'copy' } }, { adopt: true }),
      ],
    });
    const objects = { [AT]: { ...shop, metadata: { ...REF, ...meta } }, ...inCluster(aSecret('shop')) };
    const named = namedResource(definedController(controller), REF.name, REF.namespace);
    const text = textOfPlan(await plannerOf(controller, objects).of(REF.uid, named), plain);
    expect(text).toContain('patch secrets/copy');
    expect(text).toMatch(/\+ +durable-operator.dev\/owner-uid: uid-of-web/);
  });
});

/** A controller of an outside system, which notes what it is asked. */
function anOutsideSystem(more: { readonly observeInPlan?: true } = {}) {
  const calls: string[] = [];
  const store = defineController({
    ...{ name: 'shop', for: Shop, ...more },
    clients: () => ({
      find: (name: string) => Promise.resolve(calls.push(`find ${name}`)),
      open: (name: string) => Promise.resolve(calls.push(`open ${name}`)),
    }),
    observe: async ({ resource: { metadata }, clients }) => {
      await clients.find(metadata.name);
      return metadata.labels?.['is'];
    },
    steps: {
      open: {
        ...{ summary: 'open the shop', external: false },
        run: async ({ resource: { metadata }, clients }) => {
          await clients.open(metadata.name);
          return 'opened it';
        },
      },
    },
    decide: ({ observed }, next) =>
      observed === 'open' ? next.converged('it is open') : next.do.open('it is closed'),
  });
  const planned = (object: KubernetesObject) =>
    asked(['plan', 'shop/web'], {
      program: { name: 'shop-operator', controllers: [store] },
      temporal: () => Promise.resolve(aTemporal({})),
      answerTo: ({ method, path, body }) => {
        if (!path.includes('shops')) return { metadata: {} };
        return method === 'PATCH' ? mergePatch(object, body) : object;
      },
    });
  return { calls, planned };
}

const condition = (type: string, status: string, reason: string, message = '') => ({
  ...{ type, status, reason, message, observedGeneration: 1 },
  lastTransitionTime: '1970-01-01T00:00:00Z',
});
const READY = [
  condition('Ready', 'True', 'AsSpecified', 'it is open'),
  condition('Stalled', 'False', 'NotStalled'),
  condition('Reconciling', 'False', 'UpToDate'),
];
const aShop = ({ generation = 1, is = 'open' }) => ({
  metadata: { ...REF, resourceVersion: '1', generation, labels: { is } },
  spec: {},
  status: { observedGeneration: 1, conditions: READY },
});

describe('a plan of a controller with an outside system', () => {
  it('reads it where the controller allows that, and says that nothing is to be done', async () => {
    const { calls, planned } = anOutsideSystem({ observeInPlan: true });
    const { stdout, status } = await planned(aShop({}));
    expect(calls).toContain('find web');
    expect(stdout).toMatch(/nothing to do\n\nup to date: it is open\n/);
    expect(status).toBe(0);
  });

  it('never writes to it', async () => {
    const { calls, planned } = anOutsideSystem({ observeInPlan: true });
    const { stdout, status } = await planned(aShop({ is: 'closed' }));
    expect(new Set(calls)).toEqual(new Set(['find web']));
    expect(stdout).toContain(
      'open: it is closed; a plan cannot try it, since it may change something outside of the cluster',
    );
    expect(status).toBe(1);
  });

  it('goes by what was observed last where the controller does not allow that, and says so', async () => {
    const { calls, planned } = anOutsideSystem();
    const { stdout, status } = await planned(aShop({ is: 'closed' }));
    expect(calls).toEqual([]);
    expect(stdout).toContain(
      'nothing to do\n\nup to date: it is open (as the operator observed it last: plan did not observe it)',
    );
    expect(status).toBe(0);
  });

  it.each([
    [{}, 'the rest depends on what `observe` finds', []],
    [{ observeInPlan: true }, 'then: up to date: it is known', ['find web']],
  ])('reads a lookup only where the controller allows that: %j', async (more, end, expected) => {
    const calls: string[] = [];
    const its = defineController({
      ...{ name: 'shop', for: Shop, ...more },
      clients: () => ({ find: (name: string) => Promise.resolve(calls.push(`find ${name}`)) }),
      lookups: { found: { read: ({ resource: { metadata }, clients }) => clients.find(metadata.name) } },
      steps: {
        mark: {
          summary: 'mark it',
          run: async ({ kube, resource: { metadata } }) => {
            const labels = { is: 'known' };
            await kube.patch({ ...metadata, type: Shop }, { metadata: { uid: metadata.uid, labels } });
            return 'marked it';
          },
        },
      },
      decide: ({ resource: { metadata }, lookups }, next) => {
        if (metadata.labels?.['is'] === 'known') return next.converged('it is known');
        return lookups.found === undefined
          ? next.stalled({ reason: 'NotFound', message: 'it is not found', advice: [] })
          : next.do.mark('it is found');
      },
    });
    const plan = await plannerOf(its, { [AT]: { ...shop, status: {} } }).of(
      REF.uid,
      namedResource(definedController(its), REF.name, REF.namespace),
    );
    expect(textOfPlan(plan, plain)).toContain(end);
    expect(calls).toEqual(expected);
  });

  it('says that it did not observe where the spec is new', async () => {
    const { calls, planned } = anOutsideSystem();
    const { stdout, status } = await planned(aShop({ generation: 2 }));
    expect(calls).toEqual([]);
    expect(stdout).toContain('0 steps that can be tried\n\nthe rest depends on what `observe` finds');
    expect(status).toBe(1);
  });
});
