import { allow, defineController, NODES, PODS, type KubernetesObject } from 'durable-operator';
import { NodeMaintenance } from './kind.ts';

/** On the Node: the name of the NodeMaintenance. */
const HELD_BY = 'example.com/maintenance';
/** On a Pod that belongs to the kubelet alone. */
const MIRROR = 'kubernetes.io/config.mirror';

interface Pod {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
  readonly isGoing: boolean;
}

export const maintenance = defineController({
  name: 'maintenance',
  for: NodeMaintenance,
  finalizer: 'example.com/maintenance',
  permissions: [
    allow(NODES, ['get', 'patch']),
    allow(PODS, ['list']),
    allow(PODS, ['create'], { subresource: 'eviction' }),
  ],
  observe: async ({ resource: { spec }, kube }) => ({
    node: await kube.get({ type: NODES, name: spec.node }),
    pods: await kube.list(PODS, { fieldSelector: `spec.nodeName=${spec.node}` }, movable),
  }),
  observeInPlan: true,

  steps: {
    cordon: {
      summary: 'schedule no more Pods on the Node',
      // A late attempt would cordon it once nobody asks for that any more: the library waits for it.
      external: true,
      run: async ({ resource, kube }, { metadata: { name, uid } }: KubernetesObject) => {
        const labels = { [HELD_BY]: resource.metadata.name };
        await kube.apply(NODES, { metadata: { name, uid, labels }, spec: { unschedulable: true } });
        return `cordoned Node ${name}`;
      },
    },
    evict: {
      summary: 'evict the Pods of the Node',
      external: false,
      deletes: (_, pods: readonly Pod[]) => ({
        ...{ what: 'Pod', count: pods.length, objects: () => pods },
        // PodDisruptionBudgets let them go one after the other: one approval is for all of them.
        interchangeable: 'no Pod on the Node',
      }),
      writes: (_, pods: readonly Pod[]) => pods.length,
      run: ({ kube, each }, pods: readonly Pod[]) =>
        each(pods, async ({ namespace, name, uid }) => {
          // If a PodDisruptionBudget does not allow it, the step ends here, and is tried again.
          await kube.evict({ namespace, name }, { uid });
          return `evicted Pod ${namespace}/${name}`;
        }),
    },
    release: {
      summary: 'allow Pods on the Node again',
      external: false,
      run: async ({ kube }, { metadata: { name, uid } }: KubernetesObject) => {
        // What only this controller has applied goes. If somebody else has cordoned the Node, too, it stays so.
        await kube.apply(NODES, { metadata: { name, uid } });
        return `released Node ${name}`;
      },
    },
  },

  decide({ resource: { metadata, spec, isBeingDeleted }, observed: { node, pods } }, next) {
    const holder = node?.metadata.labels?.[HELD_BY];
    if (isBeingDeleted)
      return node !== undefined && holder === metadata.name
        ? next.do.release('the maintenance is over', node)
        : next.removeFinalizer('the Node is released');
    if (node === undefined)
      return next.stalled(
        { reason: 'NoNode', message: `there is no Node ${spec.node}`, advice: ['correct spec.node'] },
        { recheckAfter: '1m' },
      );
    if (holder === undefined) return next.do.cordon('its Pods are to go elsewhere', node);
    if (holder !== metadata.name)
      return next.stalled(
        {
          reason: 'HeldByAnother',
          message: `NodeMaintenance ${holder} is for Node ${spec.node}, too`,
          advice: ['delete one of them'],
        },
        { recheckAfter: '1m' },
      );
    if (pods.length === 0) return next.converged('no Pod is left on the Node');
    const staying = pods.filter(({ isGoing }) => !isGoing);
    if (staying.length === 0) return next.wait('the Pods to end', { recheckAfter: '5s' });
    return next.do.evict('there are Pods on the Node', staying);
  },
  status: ({ observed }) => ({ pods: observed.pods.length }),
});

/** Undefined: it stays on its Node. */
function movable({ metadata }: KubernetesObject): Pod | undefined {
  const { namespace, name, uid, ownerReferences = [], annotations = {}, deletionTimestamp } = metadata;
  if (MIRROR in annotations || ownerReferences.some(({ kind }) => kind === 'DaemonSet')) return undefined;
  return { namespace, name, uid, isGoing: deletionTimestamp !== undefined };
}
