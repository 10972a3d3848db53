import { definedReconciler } from '../../../activities/defined-reconciler.ts';
import { CONFIG_MAPS, DEPLOYMENTS, SECRETS, SERVICES } from '../../../src/api/built-in.ts';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { definedController } from '../../../src/engine/defined-controller.ts';
import { fieldsOf, listOf, type Fields } from '../../../src/api/fields.ts';
import type { ServedType } from '../../../testing/explorer/api-server.ts';
import { activityOf } from '../../../testing/explorer/attempt.ts';
import { objectKey, type SimulatedCluster } from '../../../testing/explorer/cluster.ts';
import { editedBy } from '../../../testing/explorer/managed-fields.ts';
import { wrongIn, type Move, type World } from '../../../testing/explorer/world.ts';
import { publishedWebsite, servedWebsite, Website, website } from '../website.ts';

const NAME = 'front';
const WEBSITE = objectKey(Website, NAME);
const DEPLOYMENT = objectKey(DEPLOYMENTS, NAME);
const SERVICE = objectKey(SERVICES, NAME);
const ENTRY = objectKey(CONFIG_MAPS, NAME);

export const WEBSITE_WORLD: World = {
  controller: definedController(website),
  activity: activityOf((client) => definedReconciler(website, client)),
  readsView: true,
  types: [Website, DEPLOYMENTS, SERVICES],
  objects: [
    [
      Website,
      {
        metadata: { name: NAME, namespace: 'shop', uid: 'uid-of-front' },
        spec: { image: 'one', replicas: 2, isPublic: true },
      },
    ],
  ],
  happenings: (cluster) => [...readiness(cluster), ...garbage(cluster)],
  others: {
    change: (cluster) => onWebsite(cluster, 'the spec asks for another image', { image: 'two' }),
    hide: (cluster) => onWebsite(cluster, 'the spec asks for no Service', { isPublic: false }),
    edit: (cluster) =>
      onDeployment(cluster, 'somebody scales the Deployment', (object) => ({
        ...object,
        spec: { ...fieldsOf(object['spec']), replicas: 5 },
      })),
    unlabel: (cluster) =>
      onDeployment(cluster, 'somebody removes all labels', ({ metadata, ...rest }) => ({
        ...rest,
        metadata: { ...metadata, labels: {} },
      })),
    delete: (cluster) => gone(cluster, DEPLOYMENT, 'somebody deletes the Deployment'),
    remove: (cluster) => gone(cluster, WEBSITE, 'the website is deleted'),
  },
  shortcomings: (cluster) => {
    const [site, deployment, service] = [WEBSITE, DEPLOYMENT, SERVICE].map((key) => cluster.get(key));
    if (site === undefined)
      return wrongIn({
        'the Deployment stays': deployment !== undefined,
        'the Service stays': service !== undefined,
      });
    const { image, replicas, isPublic } = fieldsOf(site['spec']);
    const spec = fieldsOf(deployment?.['spec']);
    const [container] = listOf(fieldsOf(fieldsOf(spec['template'])['spec'])['containers']);
    return wrongIn({
      'there is no Deployment': deployment === undefined,
      'the image is another': container?.['image'] !== image,
      'there are other replicas': spec['replicas'] !== replicas,
      'whether there is a Service': (service !== undefined) !== isPublic,
      'it is not Ready': !isReady(site),
    });
  },
};

/** The names that the website declares are taken. */
export const TAKEN_WORLD: World = {
  ...WEBSITE_WORLD,
  objects: [
    ...WEBSITE_WORLD.objects,
    [SERVICES, { metadata: { name: NAME, namespace: 'shop' }, spec: { ports: [] } }],
  ],
  others: { release: (cluster) => gone(cluster, SERVICE, 'somebody deletes the Service that had the name') },
  isAboutTime: (rest, cluster) => rest.do === 'stalled' && cluster.get(SERVICE) === undefined,
  violation: ({ path }, cluster) => {
    const isTheirs = cluster.get(SERVICE)?.metadata.ownerReferences === undefined;
    return path.endsWith(`/services/${NAME}`) && isTheirs && cluster.get(SERVICE) !== undefined
      ? "a stranger's Service is changed"
      : undefined;
  },
  shortcomings: (cluster) => {
    const isTaken = cluster.get(SERVICE)?.metadata.ownerReferences === undefined;
    return isTaken && cluster.get(SERVICE) !== undefined ? [] : WEBSITE_WORLD.shortcomings(cluster);
  },
};

const REFUSING = objectKey(SECRETS, 'refusing');

/** What is declared first is refused, while there is a Secret. */
export const REFUSED_WORLD: World = {
  controller: definedController(servedWebsite),
  activity: activityOf((client) => definedReconciler(servedWebsite, client)),
  readsView: true,
  types: [Website, refusing(SERVICES), refusing(CONFIG_MAPS), DEPLOYMENTS, SECRETS],
  objects: [...WEBSITE_WORLD.objects, [SECRETS, { metadata: { name: 'refusing', namespace: 'shop' } }]],
  happenings: readiness,
  others: {
    allow: (cluster) => gone(cluster, REFUSING, 'nobody refuses any more'),
    edit: WEBSITE_WORLD.others['edit'] ?? (() => []),
  },
  shortcomings: (cluster) => {
    const isRefused = cluster.get(REFUSING) !== undefined;
    const [site, deployment, service, config] = [WEBSITE, DEPLOYMENT, SERVICE, ENTRY].map((key) =>
      cluster.get(key),
    );
    return wrongIn({
      'the Deployment is another': fieldsOf(deployment?.['spec'])['replicas'] !== 2,
      'there is no Service': !isRefused && service === undefined,
      'there is no ConfigMap': !isRefused && config === undefined,
      'it is not told': site === undefined || isReady(site) === isRefused,
    });
  },
};

function refusing(type: ServedType): ServedType {
  const message = 'admission webhook "x" denied the request: not today';
  const body = JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden', message });
  return {
    ...type,
    refuse: (_, cluster) => (cluster.get(REFUSING) === undefined ? undefined : { status: 403, body }),
  };
}

/** An object in another namespace, which the finalizer alone takes away. */
export const PUBLISHED_WORLD: World = {
  controller: definedController(publishedWebsite),
  activity: activityOf((client) => definedReconciler(publishedWebsite, client)),
  readsView: true,
  types: [Website, CONFIG_MAPS],
  objects: [
    [
      Website,
      {
        metadata: { name: NAME, namespace: 'shop', uid: 'uid-of-front', finalizers: [] },
        spec: { image: 'one' },
      },
    ],
  ],
  others: {
    change: (cluster) => onWebsite(cluster, 'the spec asks for another image', { image: 'two' }),
    remove: (cluster) =>
      cluster.get(WEBSITE)?.metadata.deletionTimestamp === undefined && cluster.get(WEBSITE) !== undefined
        ? [{ what: 'the website is deleted', change: (it) => it.markDeleted(WEBSITE, []) }]
        : [],
  },
  isAboutTime: (rest) => rest.do === 'wait' && rest.for.includes('in progress'),
  violation: ({ method, path, body }, cluster) => {
    const { finalizers } = fieldsOf(fieldsOf(body)['metadata']);
    const isLetGo =
      method === 'PATCH' &&
      path.includes('/websites/') &&
      Array.isArray(finalizers) &&
      finalizers.length === 0;
    return isLetGo && cluster.get(ENTRY) !== undefined
      ? 'the finalizer goes, and the ConfigMap stays'
      : undefined;
  },
  shortcomings: (cluster) => {
    const [site, entry] = [WEBSITE, ENTRY].map((key) => cluster.get(key));
    if (site === undefined) return wrongIn({ 'the ConfigMap stays': entry !== undefined });
    return wrongIn({
      'it is being deleted, and stays': site.metadata.deletionTimestamp !== undefined,
      'the ConfigMap is another': fieldsOf(entry?.['data'])['image'] !== fieldsOf(site['spec'])['image'],
      'it is not Ready': !isReady(site),
    });
  },
};

/** As the Deployment controller sees to it. */
function readiness(cluster: SimulatedCluster): Move[] {
  const object = cluster.get(DEPLOYMENT);
  if (object === undefined) return [];
  const { generation } = object.metadata;
  const replicas = fieldsOf(object['spec'])['replicas'];
  if (fieldsOf(object['status'])['observedGeneration'] === generation) return [];
  const counts = {
    replicas,
    updatedReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
  };
  const conditions = [{ type: 'Available', status: 'True' }];
  const status = { observedGeneration: generation, ...counts, conditions };
  return [
    {
      what: 'the Deployment gets ready',
      change: (it) => it.change(DEPLOYMENT, (now) => ({ ...now, status })),
    },
  ];
}

/** The garbage collector deletes what a website that is gone has owned. */
function garbage(cluster: SimulatedCluster): Move[] {
  if (cluster.get(WEBSITE) !== undefined) return [];
  return [DEPLOYMENT, SERVICE]
    .filter((key) => cluster.get(key)?.metadata.ownerReferences !== undefined)
    .map((key) => ({ what: `the garbage collector deletes ${key}`, change: (it) => it.remove(key) }));
}

function onWebsite(cluster: SimulatedCluster, what: string, change: Fields): Move[] {
  if (cluster.get(WEBSITE) === undefined) return [];
  return [
    {
      what,
      change: (it) =>
        it.change(WEBSITE, ({ metadata, ...rest }) => ({
          ...rest,
          metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
          spec: { ...fieldsOf(rest['spec']), ...change },
        })),
    },
  ];
}

function onDeployment(
  cluster: SimulatedCluster,
  what: string,
  change: (object: KubernetesObject) => Fields,
): Move[] {
  if (cluster.get(DEPLOYMENT) === undefined) return [];
  return [{ what, change: (it) => it.change(DEPLOYMENT, (object) => editedBy('somebody', object, change)) }];
}

function gone(cluster: SimulatedCluster, key: string, what: string): Move[] {
  return cluster.get(key) === undefined ? [] : [{ what, change: (it) => it.remove(key) }];
}

function isReady(site: KubernetesObject): boolean {
  const { conditions, observedGeneration } = fieldsOf(site['status']);
  const ready = listOf(conditions).find(({ type }) => type === 'Ready');
  return ready?.['status'] === 'True' && observedGeneration === site.metadata.generation;
}
