import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { allow, defineController, defineKind, SECRETS } from '../../src/api/index.ts';
import { defaultOptions } from '../../src/config/config.ts';
import { mergePatch } from '../../src/ask/plan/rehearsal.ts';
import { definedController } from '../../src/controllers/defined/controller.ts';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import type { RequestOptions } from '../../src/kubernetes/client.ts';
import { definedIn } from '../../src/program/defined.ts';
import type { AnyDefinition } from '../../src/controllers/defined/definition.ts';
import { namedResource } from '../../src/ask/resource-name.ts';
import { Planner } from '../../src/ask/plan/planner.ts';
import { textOfPlan } from '../../src/ask/plan/plan-lines.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';

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
    if (live === undefined) throw new ApiError('there is none', { classification: 'not-found', status: 404 });
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
  const program = { name: 'shop-operator', controllers: [definedIn(definition, 'shop-operator')] };
  return new Planner({ program, client: aCluster(objects) }, defaultOptions(program), () => 0);
}

const plain = (_: unknown, text: string) => text;
const meta = { resourceVersion: '1', generation: 1 };

const shop: KubernetesObject = {
  metadata: { ...REF, ...meta, annotations: { 'durable-operator.dev/approval': 'required' } },
  spec: {},
};
const aSecret = (namespace: string): KubernetesObject => ({
  metadata: { name: 'copy', namespace, uid: `uid-in-${namespace}`, resourceVersion: '1' },
});
const inCluster = (...objects: readonly KubernetesObject[]) =>
  Object.fromEntries(objects.map((each) => [resourcePath(SECRETS, each.metadata), each]));

const definition = defineController({
  ...{ name: 'shop', for: Shop },
  permissions: [allow(SECRETS, ['list', 'delete'])],
  observe: ({ kube }) => kube.list(SECRETS),
  steps: {
    remove: {
      ...{ summary: 'remove the copies', external: false },
      deletes: (_, copies: readonly KubernetesObject[]) => ({
        what: 'Secret',
        count: copies.length,
        names: () => [],
        of: 'copies',
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
    expect(lines).toContain('on hold: awaiting approval to delete 2 Secrets; without the hold:');
  });
});
