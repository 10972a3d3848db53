import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { readManifests } from '../../local/manifests.ts';
import { DEPLOYMENTS, SECRETS, SERVICES } from '../../src/api/built-in.ts';
import { RESOURCE_QUOTAS } from '../../src/api/kinds.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import { refOf } from '../support/cluster.ts';
import { Author } from '../support/author.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Operator } from '../support/operator.ts';
import { conditionIn } from '../support/programs.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(300_000);

const WEBSITES = { group: 'example.com', version: 'v1', plural: 'websites' };
const WITHIN_MS = 60_000;
const stage = setUpStage(() => author.remove(stage));
const { cluster, temporal } = stage;

let author: Author;
let operator: Operator;
let namespace: string;

beforeAll(async () => {
  author = await Author.begin('website');
  await author.applyKinds(stage, 'src/crd.ts');
  namespace = await cluster.aNamespace();
  operator = await author.start(stage);
});

const at = (type: typeof WEBSITES) => ({ type, namespace, name: 'shop' });

function ask(...args: readonly string[]): Promise<string> {
  return author.ask(stage, ...args, '-n', namespace);
}

async function ref(): Promise<ResourceRef> {
  const object = await cluster.get(at(WEBSITES));
  if (object === undefined) throw new Error('the website is gone');
  return refOf('website', object);
}

async function isReady(): Promise<boolean> {
  const object = await cluster.get(at(WEBSITES));
  const { observedGeneration } = fieldsOf(object?.['status']);
  const isOfThis = observedGeneration === object?.metadata.generation;
  return isOfThis && conditionIn(object, 'Ready')['status'] === 'True';
}

function specOf(object: KubernetesObject | undefined) {
  return fieldsOf(object?.['spec']);
}

describe('the example website, on the packed package', () => {
  it('compiles', async () => {
    await author.compile();
  });

  it('makes what the resource declares, says so, and is ready once that is', async () => {
    const [sample] = await readManifests(`${author.directory}/samples`);
    if (sample === undefined) throw new Error('the example has no sample');
    await cluster.create(WEBSITES, { ...sample, metadata: { ...sample.metadata, namespace } });
    await eventually(isReady, WITHIN_MS);
    expect(specOf(await cluster.get(at(DEPLOYMENTS)))).toMatchObject({ replicas: 3 });
    expect(await cluster.get(at(SERVICES))).toBeDefined();
    expect(await cluster.get(at(WEBSITES))).toMatchObject({
      status: { url: `http://shop.${namespace}.svc` },
    });
    // A workflow task that has to be done again reports all of it with its first step.
    const done = /createDeployment .*created Deployment shop[^]*created Service shop[^]*updated the status/;
    expect(await ask('history', 'website/shop')).toMatch(done);
    expect(await ask('why', 'website/shop')).toContain('is up to date');
  });

  it('goes on without an open run while its Pods cannot be created, and says what keeps them', async () => {
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'three-pods', namespace } };
    await cluster.create(RESOURCE_QUOTAS, { ...quota, spec: { hard: { pods: '3' } } });
    await cluster.patch(at(WEBSITES), { spec: { replicas: 5 } });
    const isTold = async () =>
      /DeploymentNotReady[^]*cannot create its Pods: .*exceeded quota/.test(await ask('why', 'website/shop'));
    await eventually(isTold, WITHIN_MS);
    await temporal.untilCompleted(await ref(), WITHIN_MS);
    await cluster.delete({ type: RESOURCE_QUOTAS, namespace, name: 'three-pods' });
  });

  it('takes back what somebody else changes, and leaves what is not declared', async () => {
    await cluster.patch(at(WEBSITES), { spec: { replicas: 3 } });
    await eventually(isReady, WITHIN_MS);
    await cluster.patch(at(DEPLOYMENTS), { metadata: { labels: { team: 'a' } }, spec: { replicas: 9 } });
    await eventually(async () => specOf(await cluster.get(at(DEPLOYMENTS)))['replicas'] === 3, WITHIN_MS);
    expect((await cluster.get(at(DEPLOYMENTS)))?.metadata.labels).toMatchObject({ team: 'a' });
    await eventually(isReady, WITHIN_MS);
  });

  it('restarts its Pods once the Secret with their environment changes', async () => {
    const secret = { type: SECRETS, namespace, name: 'environment' };
    const versionOf = async () => (await cluster.get(secret))?.metadata.resourceVersion;
    const versionInPods = async () => {
      const { template } = specOf(await cluster.get(at(DEPLOYMENTS)));
      return fieldsOf(fieldsOf(fieldsOf(template)['metadata'])['annotations'])['example.com/environment'];
    };
    const follows = async () => (await versionInPods()) === (await versionOf());
    await cluster.create(SECRETS, { metadata: { name: 'environment', namespace }, stringData: { A: '1' } });
    await cluster.patch(at(WEBSITES), { spec: { environment: 'environment' } });
    await eventually(follows, WITHIN_MS);
    await cluster.patch(secret, { stringData: { A: '2' } });
    await eventually(follows, WITHIN_MS);
    expect(await ask('history', 'website/shop')).toContain('applyDeployment');
    await eventually(isReady, WITHIN_MS);
  });

  it('costs nothing while nothing changes, also after a restart', async () => {
    await temporal.untilCompleted(await ref(), WITHIN_MS);
    const runs = (await temporal.runsOf(await ref())).length;
    const versions = () =>
      Promise.all([WEBSITES, DEPLOYMENTS, SERVICES].map(async (type) => cluster.get(at(type))));
    const before = await versions();
    await operator.end('SIGTERM');
    operator = await author.start(stage);
    await cluster.create(WEBSITES, {
      ...{ apiVersion: 'example.com/v1', kind: 'Website' },
      ...{ metadata: { name: 'other', namespace }, spec: { image: 'nginx:1.29' } },
    });
    await eventually(() => cluster.get({ type: DEPLOYMENTS, namespace, name: 'other' }), WITHIN_MS);
    expect(await versions()).toEqual(before);
    expect(await temporal.runsOf(await ref())).toHaveLength(runs);
  });

  it('plans a change with what the server would make of it', async () => {
    await author.write(
      'shop.yaml',
      'apiVersion: example.com/v1\nkind: Website\nmetadata: {name: shop}\nspec: {image: nginx:1.30, replicas: 3}\n',
    );
    expect(await ask('plan', '-f', 'shop.yaml')).toMatch(/applyDeployment[^]*nginx:1.30/);
  });

  it('says who has a name that it declares, and takes nothing of theirs', async () => {
    const theirs = await cluster.create(SERVICES, {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'taken', namespace } },
      spec: { ports: [{ port: 80 }] },
    });
    await cluster.create(WEBSITES, {
      ...{ apiVersion: 'example.com/v1', kind: 'Website' },
      ...{ metadata: { name: 'taken', namespace }, spec: { image: 'nginx:1.29' } },
    });
    const isTold = async () =>
      /NameTaken[^]*Service .*taken exists already/.test(await ask('why', 'website/taken'));
    await eventually(isTold, WITHIN_MS);
    expect(await cluster.get({ type: SERVICES, namespace, name: 'taken' })).toEqual(theirs);
    await cluster.delete({ type: WEBSITES, namespace, name: 'taken' });
  });
});
