import { describe, expect, it, jest } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { applyManifest } from '../../local/manifests.ts';
import { resourcePath, type PathType } from '../../src/kubernetes/paths.ts';
import { eventually } from '../../testing/eventually.ts';
import { PODS, uniqueName } from '../support/cluster.ts';
import { charted, parseDocuments, type Delivered } from '../support/delivered.ts';
import { generated } from '../support/generated.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(600_000);
const WITHIN_MS = 90_000;

const { cluster } = setUpStage();
const BUDGETS = { group: 'policy', version: 'v1', plural: 'poddisruptionbudgets' };

const ofChart = (name: string) => charted([], { name, namespace: `${name}-system` });

async function ofAuthor(name: string): Promise<readonly Delivered[]> {
  return parseDocuments(await readFile(join(await generated(name), 'deploy/install.yaml'), 'utf8'));
}

/** What of it makes Pods, and protects them. */
const NEEDED = ['ServiceAccount', 'Deployment', 'PodDisruptionBudget'];
const Pods = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });
const Budget = z.object({ expectedPods: z.number(), currentHealthy: z.number() });
const Budgets = z.object({ items: z.array(z.object({ status: Budget })) });

describe.each([
  ['the chart', ofChart],
  ["an author's install.yaml", ofAuthor],
])('%s', (_, objectsOf) => {
  it('lets a node be drained while no Pod of the operator is ready, as while Temporal is away', async () => {
    const name = uniqueName();
    const namespace = `${name}-system`;
    await cluster.createNamespace(namespace);
    const objects = (await objectsOf(name)).filter(({ kind }) => NEEDED.includes(kind));
    for (const object of objects) await applyManifest(cluster.client, object, 'test');
    const pods = await eventually(() => unreadyPods(namespace), WITHIN_MS);
    for (const pod of pods) await evict(namespace, pod);
  });
});

/**
 * The Pods, once the budget counts none of them as ready: before, the controller of budgets has not caught up,
 * and would let a ready Pod go. Each look makes all of them unready, since they become ready one after the other.
 */
async function unreadyPods(namespace: string): Promise<readonly string[]> {
  const pods = Pods.parse(await list(PODS, namespace)).items.map(({ metadata }) => metadata.name);
  for (const name of pods) await makeUnready(namespace, name);
  const budgets = Budgets.parse(await list(BUDGETS, namespace));
  expect(budgets.items).toEqual([{ status: { expectedPods: pods.length, currentHealthy: 0 } }]);
  expect(pods.length).toBeGreaterThanOrEqual(2);
  return pods;
}

async function list(type: PathType, namespace: string): Promise<unknown> {
  return await cluster.client.request({ method: 'GET', path: resourcePath(type, { namespace }) });
}

async function makeUnready(namespace: string, name: string): Promise<void> {
  const conditions = [{ type: 'Ready', status: 'False' }];
  await cluster.patch({ type: PODS, namespace, name }, { status: { conditions } }, 'status');
}

/** As `kubectl drain` asks. @throws ApiError where the budget forbids it */
async function evict(namespace: string, name: string): Promise<void> {
  await cluster.client.request({
    method: 'POST',
    path: `${resourcePath(PODS, { namespace, name })}/eviction`,
    body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } },
  });
}
