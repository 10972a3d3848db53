import { expect } from '@jest/globals';
import { RESOURCE_QUOTAS } from '../../src/api/kinds.ts';
import type { At, TestCluster } from './cluster.ts';
import { eventually } from '../../testing/eventually.ts';

const WITHIN_MS = 60_000;

/** Refuses Pods beyond so many. Resolves with where the quota is, once it counts. */
export async function limitPods(cluster: TestCluster, namespace: string, pods: number): Promise<At> {
  const at = { type: RESOURCE_QUOTAS, namespace, name: 'few' };
  await cluster.create(RESOURCE_QUOTAS, {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: at.name, namespace },
    spec: { hard: { pods: String(pods) } },
  });
  await eventually(async () => {
    const quota = await cluster.get(at);
    expect(quota?.['status']).toMatchObject({ hard: { pods: String(pods) } });
    return true;
  }, WITHIN_MS);
  return at;
}
