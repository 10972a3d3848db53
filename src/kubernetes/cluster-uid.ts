import type { KubernetesClient } from './client.ts';
import { ApiError } from './errors.ts';
import { kubeOf } from './kube.ts';

const KUBE_SYSTEM = { type: { group: '', version: 'v1', plural: 'namespaces' }, name: 'kube-system' };

/**
 * What tells a cluster from others: the UID of its Namespace kube-system, as OpenTelemetry's `k8s.cluster.uid` has it.
 * Undefined where whoever asks may not read it.
 *
 * @throws ApiError
 */
export async function clusterUid(client: KubernetesClient): Promise<string | undefined> {
  try {
    return (await kubeOf(client).get(KUBE_SYSTEM, { metadataOnly: true }))?.metadata.uid;
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return undefined;
    throw error;
  }
}
