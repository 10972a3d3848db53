import type { AnyObject, Scenario } from '../../testing/index.ts';
import type { podSet } from '../../src/controllers/pod-set/controller.ts';
import { conditionsIn } from '../../src/engine/condition.ts';
import { fieldsOf } from '../../src/api/fields.ts';

type PodSetScenario = Scenario<typeof podSet, object>;
type Objects = Readonly<Record<string, AnyObject | undefined>>;

const LABELS = { app: 'example', version: 'v0.1' };
const FOREIGN = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name: 'other',
  uid: 'uid-of-other',
  controller: true,
};

/** A PodSet of two Pods, beside a Pod of another controller. Each write is judged. */
export const podSetScenario: PodSetScenario = {
  resource: { spec: { replicas: 2 } },
  objects: { 'pods/foreign': { metadata: { labels: LABELS, ownerReferences: [FOREIGN] }, ...running() } },
  userEdits: { 'somebody scales to 1': ({ spec }) => (spec.replicas = 1) },
  externalChanges: {
    'a Pod is relabelled': ({ resource, objects }) =>
      // One that neither the status nor its run knows is not released: the documented exception.
      changeOne(objects, (pod, name) =>
        namedIn(resource).includes(name)
          ? { ...pod, metadata: { ...metadataOf(pod), labels: { app: 'other' } } }
          : pod,
      ),
    'a Pod loses its owner': ({ objects }) =>
      changeOne(objects, (pod) => ({ ...pod, metadata: { ...metadataOf(pod), ownerReferences: [] } })),
    'a Pod fails': ({ objects }) => changeOne(objects, (pod) => ({ ...pod, status: { phase: 'Failed' } })),
    'a Pod is taken away': ({ objects }) => changeOne(objects, () => undefined),
  },
  happens: {
    'the Pods run': ({ objects }) => {
      for (const [key, pod] of podsIn(objects))
        if (pod['status'] === undefined) objects[key] = { ...pod, ...running() };
    },
  },
  never({ verb, plural, name }, { resource, objects, isUndisturbed }) {
    if (plural !== 'pods') return undefined;
    if (name === 'foreign') return 'a Pod of another controller is written';
    if (!isUndisturbed || resource === undefined) return undefined;
    const [{ length: available }, { replicas }] = [availableIn(objects, resource), resource.spec];
    const there = `${available} of ${replicas} are there`;
    if (verb === 'create' && objects[`pods/${name}`] === undefined && available >= replicas)
      return `a Pod is created, and ${there}`;
    const isAvailable = availableIn(objects, resource).includes(name);
    return verb === 'delete' && isAvailable && available <= replicas && `a Pod is deleted, and ${there}`;
  },
  finally({ resource, objects }) {
    if (resource === undefined) return [];
    const names = availableIn(objects, resource);
    const { podNames = [], readyReplicas } = (resource.status ?? {}) as {
      podNames?: string[];
      readyReplicas?: number;
    };
    return [
      names.length !== resource.spec.replicas && `there are ${names.length} Pods`,
      podNames.join() !== names.sort().join() && `the status names ${podNames.join()}`,
      readyReplicas !== names.length && `the status counts ${readyReplicas}`,
      podsIn(objects).some(([, pod]) => isOurs(pod, resource) && !isLabelled(pod)) &&
        'a Pod without the labels is ours',
      podsIn(objects).some(([, pod]) => isLabelled(pod) && ownersOf(pod).length === 0 && isUp(pod)) &&
        'a Pod is nobody’s',
    ];
  },
  // The names of Pods depend on what had happened by then.
  outcome: ({ resource, objects }) => ({
    isThere: resource !== undefined,
    available: resource && availableIn(objects, resource).length,
    ready: conditionsIn(fieldsOf(resource?.status)['conditions']).map(({ type, status }) => [type, status]),
  }),
};

function running() {
  return { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
}

function metadataOf({ metadata }: AnyObject): object {
  return metadata as object;
}

function podsIn(objects: Objects): [string, AnyObject][] {
  return Object.entries(objects).flatMap(([key, object]) =>
    key.startsWith('pods/') && object !== undefined ? [[key, object] satisfies [string, AnyObject]] : [],
  );
}

/** The first of ours that is up. */
function changeOne(
  objects: Record<string, AnyObject | undefined>,
  change: (pod: AnyObject, name: string) => AnyObject | undefined,
): void {
  const [found] = podsIn(objects).filter(
    ([key, pod]) => key !== 'pods/foreign' && isLabelled(pod) && isUp(pod),
  );
  if (found !== undefined) objects[found[0]] = change(found[1], found[0].slice('pods/'.length));
}

interface Owner {
  readonly metadata: { readonly uid: string };
}

function availableIn(objects: Objects, resource: Owner): string[] {
  return podsIn(objects)
    .filter(([, pod]) => isOurs(pod, resource) && isLabelled(pod) && isUp(pod))
    .map(([key]) => key.slice('pods/'.length));
}

function namedIn(resource: object | undefined): readonly string[] {
  const { status } = (resource ?? {}) as { readonly status?: { readonly podNames?: readonly string[] } };
  return status?.podNames ?? [];
}

function ownersOf({ metadata }: AnyObject): readonly { uid: string }[] {
  return (metadata as { readonly ownerReferences?: readonly { uid: string }[] }).ownerReferences ?? [];
}

function isOurs(pod: AnyObject, { metadata: { uid } }: Owner): boolean {
  return ownersOf(pod).some((owner) => owner.uid === uid);
}

function isLabelled({ metadata }: AnyObject): boolean {
  const { labels = {} } = metadata as { labels?: Record<string, string> };
  return labels['app'] === LABELS.app && labels['version'] === LABELS.version;
}

function isUp({ metadata, status }: AnyObject): boolean {
  const { phase } = (status ?? {}) as { phase?: string };
  return phase !== 'Failed' && (metadata as AnyObject)['deletionTimestamp'] === undefined;
}
