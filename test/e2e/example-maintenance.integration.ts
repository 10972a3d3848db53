import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SIMULATED_NODE } from '../../local/server-commands.ts';
import { NODES, POD_DISRUPTION_BUDGETS, PODS } from '../../src/api/index.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import { eventually } from '../../testing/eventually.ts';
import { apiExamples } from '../support/api-examples.ts';
import { Author } from '../support/author.ts';
import { uniqueName } from '../support/cluster.ts';
import { conditionIn } from '../support/programs.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(300_000);

const MAINTENANCES = { group: 'example.com', version: 'v1', plural: 'nodemaintenances' };
const WITHIN_MS = 60_000;
const stage = setUpStage(async () => {
  await cluster.delete({ type: NODES, name: node });
  await author.remove(stage);
});
const { cluster } = stage;
/** A Node of its own: what other tests have on theirs, stays. */
const node = uniqueName();
const app = { app: node };

let author: Author;
let namespace: string;

beforeAll(async () => {
  author = await Author.begin('maintenance');
  await author.applyKinds(stage, 'src/crd.ts');
  namespace = await cluster.aNamespace();
  await cluster.create(NODES, {
    ...{ apiVersion: 'v1', kind: 'Node' },
    metadata: { name: node, annotations: SIMULATED_NODE, labels: { 'example.com/disk': 'old' } },
  });
  const spec = { nodeName: node, containers: [{ name: 'web', image: 'nginx' }] };
  for (const name of ['web-1', 'web-2'])
    await cluster.create(PODS, {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name, labels: app }, spec },
    });
  await cluster.create(POD_DISRUPTION_BUDGETS, {
    ...{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { namespace, name: 'web' } },
    spec: { minAvailable: 1, selector: { matchLabels: app } },
  });
  await eventually(async () => (await budget())['disruptionsAllowed'] === 1, WITHIN_MS);
  await author.start(stage);
});

async function budget() {
  return fieldsOf((await cluster.get({ type: POD_DISRUPTION_BUDGETS, namespace, name: 'web' }))?.['status']);
}

const at = { type: MAINTENANCES, name: node };
const ask = (command: string) => author.ask(stage, command, `nodemaintenance/${node}`);

const ready = async () => conditionIn(await cluster.get(at), 'Ready');

async function podsThere(): Promise<readonly (KubernetesObject | undefined)[]> {
  const all = ['web-1', 'web-2'].map((name) => cluster.get({ type: PODS, namespace, name }));
  return (await Promise.all(all)).filter((pod) => pod !== undefined);
}

describe('the example maintenance, on the packed package', () => {
  it('compiles, with the examples of the page about the API', async () => {
    await author.write('src/api-examples.ts', await apiExamples());
    await author.compile();
  });

  it('evicts what a PodDisruptionBudget allows, and waits for the rest, which is no failure', async () => {
    await cluster.create(MAINTENANCES, {
      ...{ apiVersion: 'example.com/v1', kind: 'NodeMaintenance', metadata: { name: node }, spec: { node } },
    });
    const waits = /PodDisruptionBudget web to allow the eviction of Pod web-[12]/;
    await eventually(async () => waits.test(String((await ready())['message'])), WITHIN_MS);
    expect(await ready()).toMatchObject({ status: 'False', reason: 'Waiting' });
    expect(await ask('why')).toMatch(waits);
    expect(await podsThere()).toHaveLength(1);
    expect((await cluster.get({ type: NODES, name: node }))?.['spec']).toMatchObject({ unschedulable: true });
    const history = await ask('history');
    expect(history).toMatch(/cordoned Node [^]*evicted Pod/);
    expect(history).not.toMatch(/fail/i);
  });

  it('plans an eviction, and evicts nothing', async () => {
    await cluster.patch(
      { type: POD_DISRUPTION_BUDGETS, namespace, name: 'web' },
      { spec: { minAvailable: 2 } },
    );
    expect(await ask('plan')).toMatch(/PodDisruptionBudget web to allow the eviction of Pod web-[12]/);
    expect(await podsThere()).toHaveLength(1);
  });

  it('goes on once it is allowed, and says so when no Pod is left', async () => {
    await cluster.patch(
      { type: POD_DISRUPTION_BUDGETS, namespace, name: 'web' },
      { spec: { minAvailable: 0 } },
    );
    await eventually(async () => (await ask('why')).includes('is up to date'), WITHIN_MS);
    expect(await podsThere()).toEqual([]);
    expect((await cluster.get(at))?.['status']).toMatchObject({ pods: 0 });
  });

  it('releases the Node, and leaves what others have set', async () => {
    await cluster.delete(at);
    await eventually(async () => (await cluster.get(at)) === undefined, WITHIN_MS);
    const released = await cluster.get({ type: NODES, name: node });
    const { labels } = released?.metadata ?? {};
    expect(released?.['spec']).not.toHaveProperty('unschedulable');
    expect(labels).toMatchObject({ 'example.com/disk': 'old' });
    expect(labels).not.toHaveProperty('example.com/maintenance');
  });
});
