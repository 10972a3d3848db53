import { defineController, SERVICES, type KubernetesObject } from 'durable-operator';
import { askDns, type DnsRecord } from './dns.ts';

const HOSTNAME = 'example.com/hostname';

interface Service extends KubernetesObject {
  readonly spec?: { readonly type?: string };
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] } };
}

/** A Service of type LoadBalancer with the annotation has a record in a DNS outside. */
export const serviceDns = defineController({
  name: 'service-dns',
  for: SERVICES,
  view({ metadata, spec, status }: Service): Partial<DnsRecord> | undefined {
    const hostname = metadata.annotations?.[HOSTNAME];
    if (hostname === undefined || spec?.type !== 'LoadBalancer') return undefined;
    const address = status?.loadBalancer?.ingress?.[0]?.ip;
    return { hostname, ...(address !== undefined && { address }) };
  },
  finalizer: 'example.com/service-dns',
  pollInterval: '10m',
  observe: ({ resource, signal }) => askDns('GET', resource.metadata.uid, signal),
  steps: {
    put: {
      summary: 'write the record',
      run: async ({ resource, signal }, record: DnsRecord) => {
        await askDns('PUT', resource.metadata.uid, signal, record);
        return `wrote the record of ${record.hostname}`;
      },
    },
    remove: {
      summary: 'remove the record',
      run: async ({ resource, signal }) => {
        await askDns('DELETE', resource.metadata.uid, signal);
        return 'removed the record';
      },
    },
  },
  decide({ resource: { view, isBeingDeleted }, observed: record }, next) {
    if (isBeingDeleted || view === undefined)
      return record
        ? next.do.remove('nobody asks for it any more')
        : next.removeFinalizer('no record is left');
    const { hostname = '', address } = view;
    if (address === undefined) return next.converged('the Service has no address yet');
    if (record?.hostname !== hostname || record.address !== address)
      return next.do.put('the record is not as the Service says', { hostname, address });
    return next.converged('the record is as the Service says');
  },
});
