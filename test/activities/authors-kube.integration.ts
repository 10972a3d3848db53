import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { authorsKube, type AcceptedWrite } from '../../activities/authors-kube.ts';
import { dryRunning } from '../../activities/dry-run.ts';
import { CONFIG_MAPS, DEPLOYMENTS, POD_DISRUPTION_BUDGETS } from '../../src/api/built-in.ts';
import { PODS } from '../../src/api/kinds.ts';
import type { ResourceType } from '../../src/api/resource-type.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { fieldsOf, listOf } from '../../src/api/fields.ts';
import { eventually } from '../../testing/eventually.ts';
import { uniqueName } from '../support/cluster.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(120_000);

/** What a real API server makes of what an author writes, without a run. */
const { cluster } = setUpStage();
const MANAGER = 'durable-operator.web';
const WITHIN_MS = 60_000;
let namespace: string;

beforeAll(async () => {
  namespace = await cluster.aNamespace();
});

function aKube() {
  const written: AcceptedWrite[] = [];
  const { client } = cluster;
  const kube = authorsKube({
    ...{ client, controller: 'web' },
    onWritten: (write) => written.push(write),
  });
  return { kube, written };
}

function at(type: ResourceType, name: string) {
  return { type, namespace, name };
}

function managersOf(object: KubernetesObject): readonly unknown[] {
  return listOf(fieldsOf(object.metadata)['managedFields']).map(({ manager, operation }) => [
    manager,
    operation,
  ]);
}

describe('an apply', () => {
  const { kube } = aKube();
  const flags = (name: string, data: object, more: object = {}) =>
    kube.apply(CONFIG_MAPS, { metadata: { namespace, name, ...more }, data });

  it('without a UID creates the object, in the name of the controller', async () => {
    const created = await flags('new', { search: 'on' });
    expect(created).toMatchObject({ kind: 'ConfigMap', data: { search: 'on' } });
    expect(managersOf(created)).toEqual([[MANAGER, 'Apply']]);
  });

  it('without a UID is in conflict with an object that is there', async () => {
    await flags('there', { search: 'on' });
    await expect(flags('there', { search: 'off' })).rejects.toMatchObject({ classification: 'conflict' });
    expect(await cluster.get(at(CONFIG_MAPS, 'there'))).toMatchObject({ data: { search: 'on' } });
  });

  it('with the UID says all that the controller wants, and leaves the rest to others', async () => {
    const { metadata } = await flags('changed', { search: 'on', chat: 'on' });
    await cluster.patch(at(CONFIG_MAPS, 'changed'), { data: { theirs: 'yes' } });
    const changed = await flags('changed', { search: 'off' }, { uid: metadata.uid });
    expect(changed).toMatchObject({ data: { search: 'off', theirs: 'yes' } });
    expect(changed['data']).not.toHaveProperty('chat');
  });

  it.each([
    ['gone', false],
    ['made anew', true],
  ])('with the UID of an object that is %s is in conflict', async (name, isMadeAnew) => {
    const its = name.replace(' ', '-');
    const { metadata } = await flags(its, { search: 'on' });
    await cluster.deleteAndWait(at(CONFIG_MAPS, its));
    if (isMadeAnew) await flags(its, { search: 'anew' });
    await expect(flags(its, { search: 'off' }, { uid: metadata.uid })).rejects.toMatchObject({
      classification: 'conflict',
    });
    const data = isMadeAnew ? { search: 'anew' } : undefined;
    expect((await cluster.get(at(CONFIG_MAPS, its)))?.['data']).toEqual(data);
  });

  it('with an older resourceVersion is in conflict', async () => {
    const { metadata } = await flags('older', { search: 'on' });
    const { uid, resourceVersion } = metadata;
    await cluster.patch(at(CONFIG_MAPS, 'older'), { data: { theirs: 'yes' } });
    await expect(flags('older', { search: 'off' }, { uid, resourceVersion })).rejects.toMatchObject({
      classification: 'conflict',
    });
  });

  it('with a resourceVersion alone is not sent: the server would make anew what is gone', async () => {
    const { metadata } = await flags('gone-version', { search: 'on' });
    await cluster.deleteAndWait(at(CONFIG_MAPS, 'gone-version'));
    const { resourceVersion } = metadata;
    await expect(flags('gone-version', { search: 'off' }, { resourceVersion })).rejects.toThrow(
      'without the UID',
    );
    expect(await cluster.get(at(CONFIG_MAPS, 'gone-version'))).toBeUndefined();
  });

  it('is refused where a field is of another manager, unless by force', async () => {
    const { metadata } = await flags('theirs', { search: 'on' });
    await cluster.patch(at(CONFIG_MAPS, 'theirs'), { data: { search: 'mine' } });
    const wanted = { metadata: { namespace, name: 'theirs', uid: metadata.uid }, data: { search: 'off' } };
    await expect(kube.apply(CONFIG_MAPS, wanted)).rejects.toMatchObject({
      classification: 'refused',
      words: expect.stringMatching(/^Apply failed with 1 conflict: .*\.data\.search/),
    });
    expect(await kube.apply(CONFIG_MAPS, wanted, { force: true })).toMatchObject({ data: { search: 'off' } });
  });
});

describe('a scale', () => {
  it('sets the replicas of the object of that UID and version, and answers with its scale', async () => {
    const { kube, written } = aKube();
    const labels = { app: 'scaled' };
    const containers = [{ name: 'web', image: 'nginx' }];
    const { metadata } = await cluster.create<KubernetesObject>(DEPLOYMENTS, {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace, name: 'scaled' } },
      spec: {
        ...{ replicas: 0, selector: { matchLabels: labels } },
        template: { metadata: { labels }, spec: { containers } },
      },
    });
    const { uid, resourceVersion } = metadata;
    const scaled = at(DEPLOYMENTS, 'scaled');
    const others = '00000000-0000-4000-8000-000000000000';
    await expect(kube.scale(scaled, { uid: others, replicas: 3 })).rejects.toMatchObject({
      classification: 'conflict',
    });
    await cluster.patch(scaled, { metadata: { annotations: { a: 'b' } } });
    await expect(kube.scale(scaled, { uid, resourceVersion, replicas: 3 })).rejects.toMatchObject({
      classification: 'conflict',
    });
    expect(await kube.scale(scaled, { uid, replicas: 2 })).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 2 },
      status: { selector: 'app=scaled' },
    });
    expect(await cluster.get(scaled)).toMatchObject({ spec: { replicas: 2 } });
    expect(written).toMatchObject([{ verb: 'scale', changed: undefined }]);
  });
});

describe('an eviction', () => {
  const labels = { app: uniqueName() };
  const { kube, written } = aKube();
  const budget = (minAvailable: number) => ({
    ...{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { namespace, name: 'web' } },
    spec: { minAvailable, selector: { matchLabels: labels } },
  });
  let uid: string;

  function aPod(name: string, its: object) {
    const metadata = { namespace, name, labels: its };
    const spec = { containers: [{ name: 'web', image: 'nginx' }] };
    return cluster.create<KubernetesObject>(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
  }

  beforeAll(async () => {
    ({ uid } = (await aPod('web-1', labels)).metadata);
    await cluster.create(POD_DISRUPTION_BUDGETS, budget(1));
    await eventually(async () => {
      const status = fieldsOf((await cluster.get(at(POD_DISRUPTION_BUDGETS, 'web')))?.['status']);
      return status['currentHealthy'] === 1;
    }, WITHIN_MS);
  });

  const pod = () => at(PODS, 'web-1');

  it('is held back by a PodDisruptionBudget, which is neither a failure nor unknown', async () => {
    await expect(kube.evict(pod(), { uid })).rejects.toMatchObject({
      ...{ classification: 'disruption-budget', status: 429 },
      details: {
        name: 'web-1',
        causes: [{ message: expect.stringMatching(/^The disruption budget web needs/) }],
      },
    });
    expect(written).toEqual([]);
  });

  it('can be tried by a dry run, which deletes nothing', async () => {
    await cluster.patch(at(POD_DISRUPTION_BUDGETS, 'web'), { spec: { minAvailable: 0 } });
    const trying = authorsKube({ client: dryRunning(cluster.client), controller: 'web' });
    await eventually(
      () =>
        trying.evict(pod(), { uid }).then(
          () => true,
          (error: unknown) => fieldsOf(error)['classification'] !== 'disruption-budget',
        ),
      WITHIN_MS,
    );
    await trying.evict(pod(), { uid });
    expect((await cluster.get(pod()))?.metadata).not.toHaveProperty('deletionTimestamp');
  });

  it('is in conflict with a Pod of another UID, and not found where there is none', async () => {
    // Of a Pod with a PodDisruptionBudget, it would use that up.
    await aPod('free', {});
    await expect(kube.evict({ namespace, name: 'free' }, { uid })).rejects.toMatchObject({
      classification: 'conflict',
    });
    await expect(kube.evict({ namespace, name: 'none' }, { uid })).rejects.toMatchObject({
      classification: 'not-found',
    });
  });

  it('deletes the Pod where it is allowed', async () => {
    await kube.evict(pod(), { uid });
    expect(written).toEqual([{ verb: 'delete', at: pod(), uid }]);
    await eventually(async () => {
      const object = await cluster.get(pod());
      return object === undefined || object.metadata.deletionTimestamp !== undefined;
    }, WITHIN_MS);
  });
});
