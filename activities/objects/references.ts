import { labelSelectorText } from '../../src/api/label-selector.ts';
import type { ReferencedObject } from '../../src/api/reference.ts';
import type { References, ReferredState } from '../../src/engine/controller.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { referredObjects, stateOf } from '../../src/engine/referred.ts';
import type { AnyDefinition, LiveResource } from '../../src/engine/definition.ts';
import { referencesOf, referredTypes } from '../../src/engine/references.ts';
import { keyOf } from '../../src/api/kinds.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { kubeOf } from '../../src/kubernetes/kube.ts';
import { REQUEST_TIMEOUT_MS } from '../authors-kube.ts';

const how = { timeoutMs: REQUEST_TIMEOUT_MS, metadataOnly: true };

/**
 * What a resource refers to, as it is now. Read it first: what changes later is then noticed by the watch.
 *
 * @returns undefined where its controller has no references @throws ApiError
 */
export async function readReferences(
  client: KubernetesClient,
  definition: AnyDefinition,
  resource: LiveResource,
): Promise<ReferredState | undefined> {
  if (referredTypes(definition).length === 0) return undefined;
  try {
    return stateOf(await read(client, definition, resource));
  } catch (error) {
    // Of a spec that does not fit, nobody can tell: that must not keep the resource from being deleted.
    const isUnavailable = error instanceof ApiError && error.classification !== 'refused';
    if (resource.invalid === undefined || isUnavailable) throw error;
    return stateOf([]);
  }
}

async function read(
  client: KubernetesClient,
  definition: AnyDefinition,
  resource: LiveResource,
): Promise<readonly ReferencedObject[]> {
  const types = referredTypes(definition);
  const references = referencesOf(definition, resource);
  const referred = await Promise.all(
    types.map(async (type, place) => {
      const its = references[place] ?? { keys: [] };
      const objects = await Promise.all([named(client, type, its), selected(client, type, its)]);
      const there = objects.flat().map(({ metadata }) => ({ ...metadata, key: keyOf(metadata) }));
      return referredObjects(type, its.keys, there);
    }),
  );
  return referred.flat();
}

type Type = ReturnType<typeof referredTypes>[number];

async function named(
  client: KubernetesClient,
  type: Type,
  { keys }: References,
): Promise<KubernetesObject[]> {
  const objects = await Promise.all(
    keys.map((key) => {
      const [first = '', name] = key.split('/');
      const at = name === undefined ? { name: first } : { namespace: first, name };
      return kubeOf(client).get({ type, ...at }, how);
    }),
  );
  return objects.filter((object) => object !== undefined);
}

async function selected(
  client: KubernetesClient,
  type: Type,
  { labels, namespace }: References,
): Promise<readonly KubernetesObject[]> {
  if (labels === undefined) return [];
  const objects = { type, namespace, labelSelector: labelSelectorText(labels), metadataOnly: true };
  return kubeOf(client).list(objects, (object) => object, { timeoutMs: REQUEST_TIMEOUT_MS });
}
