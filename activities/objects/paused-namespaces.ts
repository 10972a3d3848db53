import { LRUCache } from 'lru-cache';
import { PAUSED_ANNOTATION } from '../../src/api/annotations.ts';
import { NAMESPACES } from '../../src/api/kinds.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { kubeOf } from '../../src/kubernetes/kube.ts';

/** A pause takes effect within that time where no watcher shows it. */
const KEPT_MS = 2_000;
const NAMESPACES_MAX = 1_000;

/**
 * Whether a Namespace is paused: as the watcher of this process shows it, else as the API server says.
 *
 * @param watched undefined where the watcher does not know, or there is none
 */
export function pausedNamespaces(
  client: KubernetesClient,
  watched: (namespace: string) => boolean | undefined = () => undefined,
): (namespace: string) => Promise<boolean> {
  const recent = new LRUCache<string, Promise<boolean>>({
    max: NAMESPACES_MAX,
    ttl: KEPT_MS,
    perf: performance,
  });
  const read = (namespace: string) => {
    const reading = isPaused(client, namespace);
    recent.set(namespace, reading);
    reading.catch(() => recent.delete(namespace));
    return reading;
  };
  return async (namespace) => watched(namespace) ?? recent.get(namespace) ?? read(namespace);
}

/** @throws ApiError */
async function isPaused(client: KubernetesClient, name: string): Promise<boolean> {
  const namespace = await kubeOf(client).get({ type: NAMESPACES, name }, { metadataOnly: true });
  return namespace?.metadata.annotations?.[PAUSED_ANNOTATION] === 'true';
}
