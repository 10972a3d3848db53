import { describe, expect, it } from '@jest/globals';
import { CONFIG_MAPS, DEPLOYMENTS, SECRETS, SERVICES, STATEFUL_SETS } from '../../src/api/built-in.ts';
import { child, type ChildManifest, type ChildOptions, type Children } from '../../src/api/child.ts';
import { defineController, type ResourceOf } from '../../src/api/controller.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import type { FailedAnswer } from '../../src/kubernetes/errors.ts';
import type { AnyDefinition } from '../../src/engine/definition.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import { statusAnswer } from '../../testing/explorer/api-server.ts';
import { objectKey } from '../../testing/explorer/cluster.ts';
import { AuthorWorld } from '../support/author-world.ts';
import { Website } from '../support/website.ts';

/** Declared objects with an order, with options, and what there is of them. */

type Site = ResourceOf<typeof Website>;

const PASSWORD = 'hunter2hunter2';
const GENERATED = Buffer.from(PASSWORD).toString('base64');
const TYPES = [CONFIG_MAPS, SECRETS, SERVICES, STATEFUL_SETS, DEPLOYMENTS];
const STATEFUL_SET = objectKey(STATEFUL_SETS, 'db');
const DEPLOYMENT = objectKey(DEPLOYMENTS, 'app');
const SECRET = objectKey(SECRETS, 'password');

const secret: ChildManifest = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'password' } };
const config: ChildManifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'config' } };
const db: ChildManifest = {
  ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'db' } },
  spec: { replicas: 1 },
};
const app = ({ spec: { image } }: Site): ChildManifest => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'app' }, spec: { image } },
});

function declaring(children: (site: Site) => Children, more: object = {}) {
  return defineController({
    ...{ name: 'website', for: Website, owns: TYPES },
    children: ({ resource }) => children(resource),
    ...more,
  });
}

interface WorldOptions {
  readonly refuse?: (path: string) => FailedAnswer | undefined;
}

function aWorld(controller: AnyDefinition, { refuse }: WorldOptions = {}): AuthorWorld {
  return new AuthorWorld(controller, {
    ...{ types: TYPES, spec: { image: 'one' } },
    ...(refuse && { refuse: ({ method, path }) => (method === 'GET' ? undefined : refuse(path)) }),
  });
}

function becomesReady({ cluster }: AuthorWorld): void {
  const status = { observedGeneration: 1, replicas: 1, readyReplicas: 1, updatedReplicas: 1 };
  cluster.change(STATEFUL_SET, (object) => ({
    ...object,
    status: { ...status, currentRevision: 'a', updateRevision: 'a' },
  }));
}

const refusedBy = (name: string) => (path: string) =>
  path.endsWith(`/${name}`)
    ? statusAnswer(403, { reason: 'Forbidden', message: `"${name}" is forbidden: exceeded quota: few` })
    : undefined;

describe('a child that is created after another one', () => {
  const ordered = (more: object = {}) => declaring((site) => [db, child(app(site), { after: [db] })], more);

  it('is created once that is ready; until then the resource rests without a run, and says both', async () => {
    const world = aWorld(ordered());
    expect(await world.run()).toEqual(['createStatefulSet', 'updateStatus']);
    expect(world.condition('Ready')).toMatchObject({
      ...{ status: 'False', reason: 'StatefulSetNotReady' },
      message: expect.stringContaining('Deployment shop/app waits for it'),
    });
    expect(world.watched().decision.do).toBe('converged');
    becomesReady(world);
    expect(world.watched().decision.do).toBe('createDeployment');
    expect((await world.run())[0]).toBe('createDeployment');
  });

  it('is changed at any time', async () => {
    const world = aWorld(ordered());
    await world.run();
    becomesReady(world);
    await world.run();
    world.cluster.change(STATEFUL_SET, (object) => ({ ...object, status: {} }));
    world.cluster.change(objectKey(Website, 'front'), (site) => ({ ...site, spec: { image: 'two' } }));
    expect(await world.run()).toContain('applyDeployment');
  });

  it.each([
    [
      'that is not declared',
      [child(config, { after: [db] })],
      'after StatefulSet shop/db, which it does not',
    ],
    [
      'in a cycle',
      [child(db, { after: [config] }), child(config, { after: [db] })],
      'a cycle: StatefulSet shop/db after ConfigMap shop/config after StatefulSet shop/db',
    ],
  ])('%s is a mistake of the controller', async (_, children, words) => {
    const world = aWorld(declaring(() => children));
    await world.run();
    expect(world.condition('Ready')?.['message']).toContain(words);
  });

  it('is deleted before the other one, and gone with its Pods, where there is a finalizer', async () => {
    const controller = ordered({ finalizer: 'example.com/website' });
    const world = aWorld(controller);
    await world.run();
    becomesReady(world);
    await world.run();
    world.cluster.markDeleted(objectKey(Website, 'front'), []);
    expect(await world.run()).toEqual(['deleteDeployment', 'updateStatus']);
    expect(world.condition('Ready')?.['message']).toContain('Deployment shop/app to be deleted');
    expect(world.cluster.get(STATEFUL_SET)?.metadata.deletionTimestamp).toBeUndefined();
    world.cluster.changeMetadata(DEPLOYMENT, () => ({ finalizers: [] }));
    expect(await world.run()).toContain('removeFinalizer');
  });
});

describe('the readiness of a child', () => {
  const judging = (ready: NonNullable<ChildOptions['ready']>) =>
    declaring((site) => [child(db, { ready }), child(app(site), { after: [db] })], {
      owns: [
        SECRETS,
        DEPLOYMENTS,
        { ...STATEFUL_SETS, view: ({ spec }: KubernetesObject) => fieldsOf(spec)['replicas'] },
      ],
    });

  it('can be judged by its view, and counts for others, too', async () => {
    expect(await aWorld(judging(({ view }) => view === 1)).run()).toContain('createDeployment');
    const world = aWorld(judging(({ view }) => view === 2));
    expect(await world.run()).not.toContain('createDeployment');
    expect(world.watched().decision.do).toBe('converged');
  });

  it('can be a cause in the words of the author', async () => {
    const cause = { reason: 'NoQuorum', message: 'one of three is there', advice: [] };
    const world = aWorld(judging(() => cause));
    await world.run();
    expect(world.condition('Ready')).toMatchObject({ status: 'False', reason: 'NoQuorum' });
    expect(world.watched().decision.do).toBe('converged');
  });
});

describe('a child that is only created', () => {
  const generating = (generate: NonNullable<ChildOptions['generate']>, more: object = {}) =>
    declaring(
      ({ spec: { image } }) => [child({ ...secret, data: { user: image } }, { createOnly: true, generate })],
      more,
    );

  it('has what was generated, and is left as it is', async () => {
    let calls = 0;
    const world = aWorld(
      generating(() => {
        calls += 1;
        return { data: { password: GENERATED } };
      }),
    );
    expect(await world.run()).toEqual(['createSecret', 'updateStatus']);
    expect(world.cluster.get(SECRET)).toMatchObject({ data: { user: 'one', password: GENERATED } });
    world.cluster.change(SECRET, (object) => ({ ...object, data: { password: 'rotated' } }));
    world.cluster.change(objectKey(Website, 'front'), (site) => ({ ...site, spec: { image: 'two' } }));
    expect(world.watched().decision.do).toBe('converged');
    expect(await world.run()).toEqual([]);
    expect(calls).toBe(1);
    world.cluster.remove(SECRET);
    expect(await world.run()).toContain('createSecret');
    expect(calls).toBe(2);
  });

  it('leaves no trace of it in what is kept, decided and told', async () => {
    const world = aWorld(generating(() => ({ stringData: { password: PASSWORD } })));
    await world.run();
    const kept = JSON.stringify([world.watched(), world.observed(), world.status]);
    expect(kept).toContain('password');
    expect(kept).not.toMatch(new RegExp(`${PASSWORD}|${GENERATED}`));
    expect(world.observed()).toMatchObject({ there: [{ digest: '' }] });
  });

  it('hides it in the words of a refusal', async () => {
    const message = `Secret "password" is invalid: data[password]: Invalid value: "${GENERATED}": too short`;
    const world = aWorld(
      generating(() => ({ stringData: { password: PASSWORD } })),
      {
        refuse: (path) =>
          path.endsWith('/password') ? statusAnswer(422, { reason: 'Invalid', message }) : undefined,
      },
    );
    expect((await world.run()).at(-1)).toBe('failed: refused');
    expect(world.condition('Ready')?.['message']).toContain('Invalid value: "[generated]"');
    expect(JSON.stringify(world.status)).not.toContain(GENERATED);
  });

  it('says that the function has failed, and does not hold up others', async () => {
    const generate = () => {
      throw new Error('no entropy');
    };
    const world = aWorld(declaring(() => [child(secret, { createOnly: true, generate }), config]));
    expect(await world.run()).toEqual(expect.arrayContaining(['createSecret', 'createConfigMap']));
    expect(world.condition('Ready')).toMatchObject({
      ...{ reason: 'GenerateFailed' },
      message: expect.stringContaining('generate of child Secret password of controller website has failed'),
    });
  });

  it('needs createOnly', () => {
    expect(() => child(secret, { generate: () => ({}) })).toThrow('which needs createOnly');
  });
});

describe('what there is of a declared object', () => {
  const owning = { owns: [CONFIG_MAPS, SECRETS, SERVICES] };
  const service: ChildManifest = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { type: 'LoadBalancer' },
  };

  it('is what status is made from, on the watch, too', async () => {
    const world = aWorld(
      defineController({
        ...{ name: 'website', for: Website },
        owns: [{ ...SERVICES, view: ({ status }) => fieldsOf(fieldsOf(status)['loadBalancer'])['ip'] }],
        children: () => [service],
        status: ({ current }) => {
          const { view, ready } = current(SERVICES, 'web') ?? {};
          return { url: `${String(view)} ${String(ready)}` };
        },
      }),
    );
    await world.run();
    expect(world.status).toMatchObject({ url: 'undefined false' });
    const status = { loadBalancer: { ip: '10.0.0.1', ingress: [{ ip: '10.0.0.1' }] } };
    world.cluster.change(objectKey(SERVICES, 'web'), (object) => ({ ...object, status }));
    expect(world.watched().decision.do).toBe('updateStatus');
    await world.run();
    expect(world.status).toMatchObject({ url: '10.0.0.1 true' });
    expect(world.watched().decision.do).toBe('converged');
  });

  it('is what children is asked with, on the watch, in a step, and after its writes', async () => {
    const world = aWorld(
      defineController({
        ...{ name: 'website', for: Website, owns: [CONFIG_MAPS, SECRETS] },
        children: ({ current }) => (current(CONFIG_MAPS, 'config')?.ready ? [config, secret] : [config]),
      }),
    );
    expect(world.watched().decision.do).toBe('createConfigMap');
    expect(await world.run()).toEqual(['createConfigMap', 'createSecret', 'updateStatus']);
    expect(world.watched().decision.do).toBe('converged');
    expect(await world.run({ isElsewhere: true })).toEqual([]);
    world.cluster.remove(objectKey(CONFIG_MAPS, 'config'));
    expect(world.watched().decision.do).toBe('createConfigMap');
  });

  it('says what is refused and what waits, and then decide is asked all the same', async () => {
    const asked: unknown[] = [];
    const controller = defineController({
      ...{ name: 'website', for: Website, ...owning },
      children: () => [service, config, child(secret, { after: [config] })],
      steps: { note: { summary: 'note it', run: () => Promise.resolve('noted it') } },
      decide: ({ current }, next) => {
        const { refused } = current(CONFIG_MAPS, 'config') ?? {};
        const { waitsFor } = current(SECRETS, 'password') ?? {};
        asked.push({ refused: refused?.reason, waitsFor });
        return refused
          ? next.stalled({ reason: 'TooLate', message: 'the deadline is over', advice: [] })
          : next.converged('all is well');
      },
    });
    const world = aWorld(controller, { refuse: refusedBy('config') });
    await world.run();
    expect(asked).toContainEqual({ refused: 'QuotaExceeded', waitsFor: 'ConfigMap shop/config' });
    expect(world.condition('Ready')).toMatchObject({ reason: 'TooLate' });
  });

  it('goes on trying what is refused where decide has nothing else to do', async () => {
    const controller = defineController({
      ...{ name: 'website', for: Website, ...owning },
      children: () => [config],
      decide: (_, next) => next.wait('the config', { recheckAfter: '1m' }),
    });
    const world = aWorld(controller, { refuse: refusedBy('config') });
    expect((await world.run()).at(-1)).toContain('failed: refused');
    expect(world.condition('Ready')).toMatchObject({ reason: 'QuotaExceeded' });
  });

  it('lets a deadline fire though an object cannot be had: a name that is taken', async () => {
    const controller = defineController({
      ...{ name: 'website', for: Website, ...owning },
      children: () => [config],
      decide: ({ nowMs }, next) =>
        nowMs < 5_000
          ? next.wait('the config', { recheckAfter: '5s' })
          : next.stalled({ reason: 'TooLate', message: 'the deadline is over', advice: [] }),
    });
    const world = aWorld(controller);
    world.put(CONFIG_MAPS, { metadata: { name: 'config' } });
    await world.run();
    expect(world.condition('Ready')).toMatchObject({ reason: 'NameTaken' });
    const { next } = await world.step('createConfigMap');
    expect(next).toMatchObject({ do: 'stalled', reason: 'NameTaken', recheckMs: 5_000 });
    world.nowMs = 6_000;
    await world.run();
    expect(world.condition('Ready')).toMatchObject({ reason: 'TooLate' });
  });
});

describe('a child that may be adopted', () => {
  const CONFIG = objectKey(CONFIG_MAPS, 'config');
  const OWNER = { apiVersion: 'example.com/v1', kind: 'Website', controller: true } as const;
  const wanted = { ...config, data: { a: 'ours' } };
  const adopting = (options: ChildOptions = { adopt: true }) => declaring(() => [child(wanted, options)]);

  it.each([
    ['nobody controls', {}],
    [
      'an earlier resource of the name has left, as in a restored backup',
      {
        labels: { 'durable-operator.dev/owner-uid': 'uid-before' },
        ownerReferences: [{ ...OWNER, name: 'front', uid: 'uid-before' }],
      },
    ],
  ])('is taken over if %s', async (_, metadata) => {
    const world = aWorld(adopting());
    world.put(CONFIG_MAPS, { metadata: { name: 'config', ...metadata }, data: { a: 'theirs' } });
    expect(await world.run()).toEqual(['createConfigMap', 'applyConfigMap', 'updateStatus']);
    const adopted = world.cluster.get(CONFIG);
    expect(adopted?.metadata.ownerReferences?.map(({ uid }) => uid)).toEqual(['uid-of-front']);
    expect(adopted).toMatchObject({ data: { a: 'ours' } });
    expect(world.watched().decision.do).toBe('converged');
    expect(await world.run({ isElsewhere: true })).toEqual([]);
  });

  it.each([
    ['something else controls it', { ownerReferences: [{ ...OWNER, name: 'other', uid: 'uid-of-other' }] }],
    ['it is being deleted', { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a/b'] }],
  ])('is not taken over where %s', async (_, metadata) => {
    const world = aWorld(adopting());
    world.put(CONFIG_MAPS, { metadata: { name: 'config', ...metadata }, data: { a: 'theirs' } });
    await world.run();
    expect(world.condition('Ready')).toMatchObject({ reason: 'NameTaken' });
    expect(world.cluster.get(CONFIG)).toMatchObject({ data: { a: 'theirs' } });
  });

  it('is left as it is, once it is ours, where it is only created', async () => {
    const world = aWorld(adopting({ adopt: true, createOnly: true }));
    const ownerReferences = [
      { apiVersion: 'v1', kind: 'Node', name: 'a', uid: 'uid-of-a' },
      { ...OWNER, name: 'front', uid: 'uid-before' },
    ];
    world.put(CONFIG_MAPS, { metadata: { name: 'config', ownerReferences }, data: { a: 'theirs' } });
    expect(await world.run()).toEqual(['createConfigMap', 'updateStatus']);
    expect(world.cluster.get(CONFIG)).toMatchObject({
      metadata: { ownerReferences: [{ uid: 'uid-of-a' }, { uid: 'uid-of-front' }] },
      data: { a: 'theirs' },
    });
    expect(world.watched().decision.do).toBe('converged');
  });

  it('is taken over in the version that was judged, or not at all', async () => {
    const judgedBy = (object: KubernetesObject) => fieldsOf(object['data'])['a'] === 'theirs';
    const world: AuthorWorld = new AuthorWorld(adopting({ adopt: judgedBy }), {
      ...{ types: TYPES, spec: { image: 'one' } },
      refuse: ({ method, body }, cluster) => {
        if (method !== 'PATCH' || fieldsOf(fieldsOf(body)['metadata'])['ownerReferences'] === undefined)
          return undefined;
        if (fieldsOf(cluster.get(CONFIG)?.['data'])['a'] === 'theirs')
          cluster.change(CONFIG, (object) => ({ ...object, data: { a: 'changed' } }));
        return undefined;
      },
    });
    world.put(CONFIG_MAPS, { metadata: { name: 'config' }, data: { a: 'theirs' } });
    await world.run();
    expect(world.cluster.get(CONFIG)).toMatchObject({ data: { a: 'changed' } });
    expect(world.condition('Ready')).toMatchObject({ reason: 'NameTaken' });
  });

  it('needs a function outside of the namespace of its resource', async () => {
    const elsewhere = { ...config, metadata: { name: 'config', namespace: 'other' } };
    const controller = declaring(() => [child(elsewhere, { adopt: true })], {
      finalizer: 'example.com/website',
    });
    const world = aWorld(controller);
    await world.run();
    expect(world.condition('Ready')?.['message']).toContain('give a function that says which object');
  });
});

describe('a type whose API may be missing', () => {
  const optional = (more: object = {}) =>
    declaring((site) => [db, child(app(site), { after: [db] })], {
      owns: [DEPLOYMENTS, { ...STATEFUL_SETS, optional: true, ...more }],
    });
  const NO_API = statusAnswer(404, { reason: 'NotFound', details: {} });

  function aWorldWithout(controller: AnyDefinition) {
    const api = { isMissing: true };
    const world = new AuthorWorld(controller, {
      ...{ types: TYPES, spec: { image: 'one' } },
      refuse: ({ path }) => (api.isMissing && path.includes('/statefulsets') ? NO_API : undefined),
    });
    return { api, world };
  }

  it('is ignored while it is, and nothing waits for its objects', async () => {
    const { api, world } = aWorldWithout(optional());
    expect(await world.run()).toEqual(['createDeployment', 'updateStatus']);
    const missing = { missing: [STATEFUL_SETS] };
    expect(world.watched(missing).decision.do).toBe('converged');
    api.isMissing = false;
    expect(world.watched().decision.do).toBe('createStatefulSet');
    expect(await world.run()).toContain('createStatefulSet');
    expect(world.watched(missing).decision.do).not.toBe('deleteStatefulSet');
  });

  it('may be one of which decide has views', async () => {
    const viewed = { ...STATEFUL_SETS, optional: true, ownerOf: 'app', view: () => true } as const;
    const { world } = aWorldWithout(declaring(() => [config], { owns: [CONFIG_MAPS, viewed] }));
    expect(await world.run()).toEqual(['createConfigMap', 'updateStatus']);
  });

  it('is no mistake of a step that finds out', async () => {
    const { world } = aWorldWithout(optional({ optional: undefined }));
    expect(await world.run()).toEqual(['failed: api-missing']);
  });
});
