import { allow, defineController, MANAGED_BY_LABEL, NAMESPACES, NETWORK_POLICIES } from 'durable-operator';
import type { NamespacedName } from 'durable-operator';

/** What is kept of a NetworkPolicy with our name. */
interface Policy {
  readonly uid: string;
  readonly isOurs: boolean;
}

const OURS = { [MANAGED_BY_LABEL]: 'isolation-operator' };
const nameFor = ({ name }: NamespacedName) => ({ type: NETWORK_POLICIES, namespace: name, name: 'isolated' });

/** Nothing reaches the Pods of a Namespace with the label `example.com/isolated: "true"`. */
export const isolation = defineController({
  name: 'isolation',
  for: { ...NAMESPACES, metadataOnly: true },
  view: ({ metadata: { labels, deletionTimestamp } }) => ({
    isIsolated: labels?.['example.com/isolated'] === 'true',
    isBeingDeleted: deletionTimestamp !== undefined,
  }),
  owns: [
    {
      ...NETWORK_POLICIES,
      nameFor: nameFor,
      ownerOf: ({ metadata: { namespace = '' } }) => ({ name: namespace }),
      view({ metadata: { name, uid, labels } }): Policy | undefined {
        const isOurs = labels?.[MANAGED_BY_LABEL] === OURS[MANAGED_BY_LABEL];
        return name === 'isolated' ? { uid, isOurs } : undefined;
      },
    },
  ],
  steps: {
    isolate: {
      summary: 'isolate the Namespace',
      run: async ({ kube, resource }) => {
        const { namespace, name } = nameFor(resource.metadata);
        await kube.create(NETWORK_POLICIES, {
          apiVersion: 'networking.k8s.io/v1',
          kind: 'NetworkPolicy',
          metadata: { namespace, name, labels: OURS },
          spec: { podSelector: {}, policyTypes: ['Ingress'] },
        });
        return 'created NetworkPolicy isolated';
      },
    },
    open: {
      summary: 'end the isolation',
      deletes: ({ resource }, { uid }: Policy) => ({
        ...{ what: 'NetworkPolicy', count: 1 },
        objects: () => [{ ...nameFor(resource.metadata), uid }],
      }),
      run: async ({ kube, resource }, { uid }: Policy) => {
        await kube.delete(nameFor(resource.metadata), { uid });
        return 'deleted NetworkPolicy isolated';
      },
    },
  },
  decide({ resource: { view, metadata }, owned: [policy] }, next) {
    if (view.isBeingDeleted) return next.converged('the Namespace is being deleted');
    if (view.isIsolated && !policy) return next.do.isolate('its label asks for it');
    if (view.isIsolated && policy?.isOurs === false)
      return next.stalled({
        reason: 'NameTaken',
        message: `NetworkPolicy isolated of Namespace ${metadata.name} is somebody else's`,
        advice: ['rename it'],
      });
    if (!view.isIsolated && policy?.isOurs) return next.do.open('its label does not ask for it', policy);
    return next.converged('the NetworkPolicy is as its label asks');
  },
  permissions: [allow(NETWORK_POLICIES, ['create', 'delete'])],
});
