import { describe, expect, it } from '@jest/globals';
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
    const kubernetes = fakeKubernetes({ 'POST default/jobs': ['unavailable', 'taken'] });
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

  it('has objects to observe', async () => {
    const status = { conditions: [{ type: 'Complete', status: 'True' }] };
    const kubernetes = fakeKubernetes({ 'GET jobs/example-backup': { metadata: OURS, status } });
    expect(await kubernetes.observe(migration, { spec })).toMatchObject({
      backup: 'succeeded',
      migrate: 'absent',
    });
  });

  it('allows what the permissions of the controller allow', async () => {
    const asked = fakeKubernetes().run({ ...migration, permissions: [] }, start);
    await expect(asked).rejects.toThrow('it has no right to get jobs of batch');
  });
});
