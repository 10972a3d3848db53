import { describe, expect, it } from '@jest/globals';
import { allow, ApiError, defineController, PODS, SECRETS } from 'durable-operator';
import { maintenance } from '../../examples/maintenance/src/maintenance.ts';
import { migration } from '../../examples/migration/src/migration.ts';
import { fakeKubernetes } from '../../testing/index.ts';

const spec = { image: 'tools', backup: 'dump', migrate: 'up', verify: 'check', rollback: 'restore' };
const start = { step: 'start', resource: { spec }, data: { stage: 'backup' } };
const OURS = { ownerReferences: [{ uid: 'uid-of-example' }] };

describe('fakeKubernetes', () => {
  it('runs a step, and says what it asked for', async () => {
    const kubernetes = fakeKubernetes();
    expect(await kubernetes.run(migration, start)).toBe('started backup');
    expect(kubernetes.requests.at(-1)).toMatchObject({
      request: 'POST default/jobs',
      body: { metadata: { name: 'example-backup' } },
    });
  });

  it('answers one request after the other as its script says', async () => {
    const kubernetes = fakeKubernetes({ 'POST default/jobs': ['unavailable', 'already-exists'] });
    await expect(kubernetes.run(migration, start)).rejects.toMatchObject({ classification: 'unavailable' });
    await expect(kubernetes.run(migration, start)).rejects.toMatchObject({
      classification: 'already-exists',
    });
  });

  it.each([
    ['refused', 'refused'],
    ['forbidden', 'access-denied'],
    ['conflict', 'conflict'],
    ['hangs', 'unavailable'],
  ] as const)('has a server that says %s', async (answer, classification) => {
    const kubernetes = fakeKubernetes({ 'POST default/jobs': answer });
    await expect(kubernetes.run(migration, start)).rejects.toMatchObject({ classification });
  });

  it('says what an eviction waits for', async () => {
    const kubernetes = fakeKubernetes({ 'POST web-2/eviction': 'disruption-budget' });
    const data = ['web-1', 'web-2'].map((name) => ({ namespace: 'shop', name, uid: `uid-of-${name}` }));
    expect(
      await kubernetes.run(maintenance, { step: 'evict', resource: { spec: { node: 'a' } }, data }),
    ).toBe(
      'evicted Pod shop/web-1, waiting for PodDisruptionBudget example to allow the eviction of Pod web-2',
    );
  });

  it('has objects to observe', async () => {
    const status = { conditions: [{ type: 'Complete', status: 'True' }] };
    const kubernetes = fakeKubernetes({ 'GET jobs/example-backup': { metadata: OURS, status } });
    expect(await kubernetes.observe(migration, { spec })).toMatchObject({
      backup: 'succeeded',
      migrate: 'absent',
    });
  });

  it('adds the metadata that a list and its objects lack', async () => {
    const copying = defineController({
      name: 'copying',
      for: migration.for,
      observe: ({ kube }) => kube.list(SECRETS, { namespace: 'default' }),
      decide: (_, next) => next.converged('it is copied'),
      permissions: [allow(SECRETS, ['list'])],
    });
    const kubernetes = fakeKubernetes({ 'GET default/secrets': { items: [{ data: { key: 'a2V5' } }] } });
    expect(await kubernetes.observe(copying, { spec })).toMatchObject([
      { metadata: { name: 'secrets-0' }, data: { key: 'a2V5' } },
    ]);
  });

  it('runs a step of a resource with a name and a UID of its own', async () => {
    const resource = { spec, metadata: { name: 'shop', uid: 'uid-of-shop' } };
    expect(await fakeKubernetes().run(migration, { ...start, resource })).toBe('started backup');
  });

  it('runs a step of a resource that is read by a list', async () => {
    const labelling = defineController({
      name: 'labelling',
      for: { ...PODS, labelSelector: 'app' },
      view: ({ metadata }) => metadata.name,
      steps: {
        label: { summary: 'label it', run: ({ resource }) => Promise.resolve(`labelled ${resource.view}`) },
      },
      decide: (_, next) => next.do.label('it has no label'),
    });
    expect(await fakeKubernetes().run(labelling, { step: 'label' })).toBe('labelled example');
  });

  it('throws the error that an author can tell from others', async () => {
    const starting = defineController({
      name: 'starting',
      for: migration.for,
      permissions: [allow(SECRETS, ['create'])],
      steps: {
        start: {
          summary: 'start it',
          run: async ({ kube }) => {
            const error: unknown = await kube
              .create(SECRETS, { metadata: { name: 'key', namespace: 'default' } })
              .catch((thrown: unknown) => thrown);
            return error instanceof ApiError ? `it is ${error.classification}` : 'it is created';
          },
        },
      },
      decide: (_, next) => next.do.start('it is not started'),
    });
    const kubernetes = fakeKubernetes({ 'POST default/secrets': 'already-exists' });
    expect(await kubernetes.run(starting, { step: 'start', resource: { spec } })).toBe(
      'it is already-exists',
    );
  });

  it('allows what the permissions of the controller allow', async () => {
    const asked = fakeKubernetes().run({ ...migration, permissions: [] }, start);
    await expect(asked).rejects.toThrow('it has no right to get jobs of batch');
  });
});
