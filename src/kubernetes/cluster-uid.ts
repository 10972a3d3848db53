import type { KubernetesObject } from '../contract/object.ts';
import type { KubernetesClient } from './client.ts';
import { ApiError, found } from './errors.ts';
import { resourcePath } from './paths.ts';

const PATH = resourcePath({ group: '', version: 'v1', plural: 'namespaces' }, { name: 'kube-system' });

/**
 * What tells a cluster from others: the UID of its Namespace kube-system, as OpenTelemetry's `k8s.cluster.uid` has it.
 * Undefined where whoever asks may not read it.
 *
 * @throws ApiError
 */
export async function clusterUid(client: KubernetesClient): Promise<string | undefined> {
  try {
    const request = { method: 'GET', path: PATH, metadataOnly: true } as const;
    return (await found(client.request<KubernetesObject>(request)))?.metadata.uid;
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return undefined;
    throw error;
  }
}
