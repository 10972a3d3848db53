import { describe, expect, it } from '@jest/globals';
import { CONFIG_MAPS, DEPLOYMENTS, SECRETS, SERVICES } from '../../src/api/built-in.ts';
import { defineController } from '../../src/api/controller.ts';
import type { WatchedType } from '../../src/api/watched.ts';
import { sentenceOf, type Action, type Refusal } from '../../src/runs/decision.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import type { FailedAnswer } from '../../src/kubernetes/errors.ts';
import { objectKey, type SimulatedCluster } from '../../testing/explorer/cluster.ts';
import { AuthorWorld } from '../support/author-world.ts';
import { publishedWebsite, Website, website } from '../support/website.ts';

/** The steps of a website on a server that changes or refuses what is written. */

const DEPLOYMENT = objectKey(DEPLOYMENTS, 'front');

interface Meddling {
  /** What becomes of a Deployment's metadata on its way. */
  readonly strip?: (metadata: KubernetesObject['metadata']) => KubernetesObject['metadata'];
  /** What becomes of the spec of a Deployment on its way. */
  readonly meddle?: (spec: object, writes: number) => object;
  /** What is answered to whoever creates a Service. */
  readonly refuse?: FailedAnswer;
}

function aWorld({ meddle = (spec) => spec, strip = (metadata) => metadata, refuse }: Meddling): AuthorWorld {
  let writes = 0;
  return new AuthorWorld(website, {
    types: [DEPLOYMENTS, { ...SERVICES, ...(refuse && { refuse: () => refuse }) }],
    spec: { image: 'one', replicas: 2, isPublic: true },
    meddle: ({ path }, cluster) => {
      if (!path.includes('/deployments')) return;
      writes += 1;
      cluster.change(DEPLOYMENT, (object) => ({
        ...object,
        metadata: strip(object.metadata),
        spec: meddle(fieldsOf(object['spec']), writes),
      }));
    },
  });
}

describe('declared objects that are changed on their way', () => {
  it('are applied once more with a note, and are then as declared, also for whoever knows nothing', async () => {
    const world = aWorld({ meddle: (spec) => ({ ...spec, replicas: 7 }) });
    const steps = await world.run();
    expect(steps).toEqual(['createDeployment', 'createService', 'applyDeployment', 'updateStatus']);
    expect(world.cluster.get(DEPLOYMENT)?.metadata.annotations).toHaveProperty([
      'durable-operator.dev/applied-as',
    ]);
    const before = [...world.requests];
    expect(await world.run()).toEqual([]);
    expect(world.requests).toEqual(before);
  });

  it('are told to be overridden where each answer is another one, and are then tried with backoff', async () => {
    const world = aWorld({ meddle: (spec, writes) => ({ ...spec, replicas: 10 + writes }) });
    const steps = await world.run();
    expect(steps.slice(-3)).toEqual(['updateStatus', 'applyDeployment', 'failed: overridden']);
    expect(world.condition('Ready')?.['reason']).toBe('Overridden');
  });
});

describe('a step on declared objects', () => {
  it('of a refused object in another namespace tells of the quota of that namespace', async () => {
    const elsewhere = defineController({
      ...{ name: 'website', for: Website, finalizer: 'example.com/website', owns: [SERVICES] },
      children: () => [
        {
          ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'front', namespace: 'team-a' } },
          spec: { ports: [{ port: 80 }] },
        },
      ],
    });
    const spec = { image: 'one', replicas: 1, isPublic: true };
    const world = new AuthorWorld(elsewhere, { types: [SERVICES], spec });
    await world.step('addFinalizer');
    const message = 'services "front" is forbidden: exceeded quota: few';
    await world.step('updateStatus', { refusal: { because: 'refused', message, step: 'createService' } });
    expect(world.condition('Ready')?.['message']).toContain('raise the quota of namespace team-a');
  });

  it('tells what it has written so far', async () => {
    const told: string[] = [];
    const progress = (did: readonly Action[]) => told.push(sentenceOf(did));
    await aWorld({}).step('createDeployment', { progress });
    expect(told).toEqual(['created Deployment front']);
  });
});

describe('declared objects that lose their owner reference', () => {
  const stripped = (metadata: KubernetesObject['metadata']) => ({ ...metadata, ownerReferences: [] });

  it('are taken back', async () => {
    const world = aWorld({});
    await world.run();
    world.cluster.change(DEPLOYMENT, (object) => ({ ...object, metadata: stripped(object.metadata) }));
    expect(await world.run()).toEqual(['createDeployment', 'applyDeployment']);
    expect(world.cluster.get(DEPLOYMENT)?.metadata.ownerReferences).toHaveLength(1);
    expect(await world.run()).toEqual([]);
  });

  it('are told to be overridden where they lose it with each write', async () => {
    const world = aWorld({ strip: stripped });
    expect((await world.run()).slice(-2)).toEqual(['applyDeployment', 'failed: overridden']);
    expect(world.condition('Ready')).toMatchObject({
      reason: 'Overridden',
      message: expect.stringContaining('metadata.ownerReferences'),
    });
  });

  it('are left alone while the resource is being deleted', async () => {
    const world = aWorld({});
    await world.run();
    world.cluster.change(DEPLOYMENT, (object) => ({ ...object, metadata: stripped(object.metadata) }));
    world.cluster.change(objectKey(Website as WatchedType, 'front'), (object) => ({
      ...object,
      metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['theirs'] },
    }));
    expect(await world.run()).toEqual([]);
  });
});

describe('declared objects that the server refuses', () => {
  it('are told to be refused with its words, and are then tried with backoff', async () => {
    const status = { kind: 'Status', code: 403, reason: 'Forbidden', message: 'exceeded quota: services' };
    const world = aWorld({ refuse: { status: 403, body: JSON.stringify(status) } });
    const steps = await world.run();
    expect(steps).toEqual([
      'createDeployment',
      'createService',
      'updateStatus',
      'createService',
      'failed: refused',
    ]);
    expect(world.condition('Ready')?.['reason']).toBe('QuotaExceeded');
  });

  it('for a field that the type does not have tell the field, though the server answers 500', async () => {
    const message =
      'failed to create typed patch object (shop/front; /v1, Kind=Service): .spec.prots: field not declared in schema';
    const status = { kind: 'Status', code: 500, message };
    const world = aWorld({ refuse: { status: 500, body: JSON.stringify(status) } });
    expect((await world.run()).at(-1)).toBe('failed: refused');
    expect(world.condition('Ready')?.['message']).toContain('.spec.prots');
  });
});

/** Its Service has the name that the spec says, as its address; what is declared first is created first. */
const renaming = defineController({
  name: 'website',
  for: Website,
  owns: [SERVICES, CONFIG_MAPS, SECRETS],
  children: ({ resource: { metadata, spec } }) => [
    {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: spec.image } },
      spec: { clusterIPs: ['10.0.0.1'], ports: [{ port: 80 }] },
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: metadata.name }, data: { a: 'b' } },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: metadata.name }, data: {} },
  ],
});

describe('what the server refuses of several objects', () => {
  const aRenamingWorld = (refuse: (path: string, cluster: SimulatedCluster) => string | undefined) =>
    new AuthorWorld(renaming, {
      types: [SERVICES, CONFIG_MAPS, SECRETS],
      spec: { image: 'one' },
      refuse: ({ method, path }, cluster) => {
        const message = method === 'PATCH' ? refuse(path, cluster) : undefined;
        const status = { kind: 'Status', code: 403, reason: 'Forbidden', message };
        return message === undefined ? undefined : { status: 403, body: JSON.stringify(status) };
      },
    });
  const rename = ({ cluster }: AuthorWorld) =>
    cluster.change(objectKey(Website as WatchedType, 'front'), (site) => ({
      ...site,
      metadata: { ...site.metadata, generation: 2 },
      spec: { image: 'two' },
    }));
  const services = ({ cluster }: AuthorWorld) =>
    cluster.list(SERVICES).map(({ object }) => object.metadata.name);
  const DENIED = 'admission webhook "x" denied the request: not today';

  it.each([[false], [true]])('does not hold up the others, known or not: %s', async (isElsewhere) => {
    const denies = /services|configmaps/;
    const world = aRenamingWorld((path) => (denies.test(path) ? DENIED : undefined));
    const steps = await world.run({ isElsewhere });
    expect(steps.slice(-2)).toEqual([
      expect.stringMatching(/^create(Service|ConfigMap)$/),
      'failed: refused',
    ]);
    expect(world.cluster.list(SECRETS)).toHaveLength(1);
    expect(world.condition('Ready')).toMatchObject({
      reason: 'Refused',
      message: expect.stringContaining(DENIED),
    });
  });

  it('is all tried again, whichever step is repeated', async () => {
    let denies = /services|configmaps/;
    const world = aRenamingWorld((path) => (denies.test(path) ? DENIED : undefined));
    await world.run();
    denies = /services/;
    const refusalOf = (step: string): Refusal => ({ because: 'refused', message: DENIED, step });
    const refusal = { ...refusalOf('createConfigMap'), others: [refusalOf('createService')] };
    const end = await world.step('createService', { refusal, isDurable: true });
    expect(sentenceOf(end.did)).toBe('created ConfigMap front');
    expect(end.refusal?.step).toBe('createService');
  });

  it.each([
    ['a quota', 'services "two" is forbidden: exceeded quota: all, requested: services=1, used: services=1'],
    [
      'its address',
      'Service "two" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.1"]: failed to allocate IP 10.0.0.1: provided IP is already allocated',
    ],
  ])('lets what is no longer declared go first if that holds %s', async (_, words) => {
    const world = aRenamingWorld((path, cluster) =>
      path.endsWith('/two') && cluster.list(SERVICES).length > 0 ? words : undefined,
    );
    await world.run();
    rename(world);
    expect(await world.run()).toEqual([
      ...['createService', 'updateStatus', 'deleteService', 'createService', 'updateStatus'],
    ]);
    expect(services(world)).toEqual(['two']);
  });

  it.each([
    ['a webhook', DENIED],
    [
      'an address that something else holds',
      'Invalid value: failed to allocate IP 10.0.0.11: provided IP is already allocated',
    ],
  ])('keeps what is no longer declared after any other refusal: %s', async (_, words) => {
    let isRefused = true;
    const world = aRenamingWorld((path) => (path.endsWith('/two') && isRefused ? words : undefined));
    await world.run();
    rename(world);
    expect((await world.run()).slice(-2)).toEqual(['createService', 'failed: refused']);
    expect(services(world)).toEqual(['one']);
    isRefused = false;
    expect(await world.run()).toEqual(['createService', 'deleteService', 'updateStatus']);
    expect(services(world)).toEqual(['two']);
  });
});

describe('decide beside declared objects', () => {
  it('is asked with what observe finds after they were written', async () => {
    const asked: unknown[] = [];
    const observing = defineController({
      ...{ name: 'website', for: Website, owns: [CONFIG_MAPS] },
      observe: ({ kube }) => kube.list(CONFIG_MAPS, {}, ({ metadata }) => metadata.name),
      children: ({ resource: { metadata } }) => [
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: metadata.name } },
      ],
      steps: {},
      decide({ observed }, next) {
        asked.push(observed);
        return next.converged('all is there');
      },
    });
    const world = new AuthorWorld(observing, { types: [CONFIG_MAPS], spec: { image: 'one' } });
    expect(await world.run()).toEqual(['createConfigMap', 'updateStatus']);
    expect(asked).not.toContainEqual([]);
    expect(asked).toContainEqual(['front']);
  });
});

describe('declared objects in another namespace, of an operator that watches some namespaces', () => {
  it('are a mistake, which is told once, and makes no further run', async () => {
    const narrow = { ...publishedWebsite, isNarrow: true };
    const world = new AuthorWorld(narrow, { types: [CONFIG_MAPS], spec: { image: 'one' } });
    expect((await world.run()).at(0)).toBe('updateStatus');
    expect(world.condition('Ready')).toMatchObject({
      reason: 'ChildrenFailed',
      message: expect.stringContaining('which an operator with --namespaces cannot watch'),
    });
    expect(world.cluster.list(CONFIG_MAPS)).toEqual([]);
  });
});

/** Its ConfigMap has the version of the Secret that it refers to. */
const referring = defineController({
  name: 'website',
  for: Website,
  references: [{ ...SECRETS, names: ({ resource }) => [{ name: resource.spec.image }] }],
  owns: [CONFIG_MAPS],
  children: ({ resource: { metadata }, references: [secret] }, next) =>
    secret?.uid === undefined
      ? next.wait(`Secret ${secret?.name}`, { recheckAfter: '1m' })
      : [
          {
            ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: metadata.name } },
            data: { version: secret.resourceVersion },
          },
        ],
});

describe('declared objects that depend on what their resource refers to', () => {
  const aReferringWorld = () =>
    new AuthorWorld(referring, { types: [SECRETS, CONFIG_MAPS], spec: { image: 'password' } });
  const versionIn = ({ cluster }: AuthorWorld) =>
    fieldsOf(cluster.get(objectKey(CONFIG_MAPS, 'front'))?.['data'])['version'];
  const versionOf = ({ cluster }: AuthorWorld) =>
    cluster.get(objectKey(SECRETS, 'password'))?.metadata.resourceVersion;

  it('are applied once that changes, and a watcher that knows no more than the cluster makes no run', async () => {
    const world = aReferringWorld();
    world.put(SECRETS, { metadata: { name: 'password' }, data: { text: 'a' } });
    expect(await world.run()).toEqual(['createConfigMap', 'updateStatus']);
    expect(versionIn(world)).toBe(versionOf(world));
    expect(world.watched().decision.do).toBe('converged');
    const { inputs } = world.watched();

    world.cluster.change(objectKey(SECRETS, 'password'), (secret) => ({ ...secret, data: { text: 'b' } }));
    expect(world.watched().decision.do).toBe('applyConfigMap');
    expect(world.watched().inputs).not.toEqual(inputs);
    expect(await world.run()).toEqual(['applyConfigMap']);
    expect(versionIn(world)).toBe(versionOf(world));
    expect(world.watched().decision.do).toBe('converged');
  });

  it('are compared with what they would be of that as it is', async () => {
    const world = aReferringWorld();
    world.put(SECRETS, { metadata: { name: 'password' } });
    await world.run();
    world.cluster.change(objectKey(CONFIG_MAPS, 'front'), (object) => ({
      ...object,
      data: { version: 'x' },
    }));
    expect(world.watched().decision.do).toBe('applyConfigMap');
  });

  it('can wait for what is absent', async () => {
    const world = aReferringWorld();
    expect(await world.run()).toEqual(['updateStatus']);
    expect(world.condition('Ready')?.['message']).toContain('Secret password');
    world.put(SECRETS, { metadata: { name: 'password' } });
    expect(world.watched().decision.do).toBe('createConfigMap');
    expect(await world.run()).toEqual(['createConfigMap', 'updateStatus']);
  });
});
