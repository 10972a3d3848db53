import type { FetchAnswer, FetchRequest, Scenario } from 'durable-operator/testing';
import type { DnsRecord } from '../src/dns.ts';
import type { serviceDns } from '../src/service-dns.ts';

/** The DNS outside, as plain state and a function on it. */
const dns = {
  records: {} as Record<string, DnsRecord>,
  fetch({ method, url, body }: FetchRequest): FetchAnswer {
    const id = url.slice(url.lastIndexOf('/') + 1);
    if (method === 'DELETE') Reflect.deleteProperty(this.records, id);
    if (method === 'PUT') this.records[id] = body as DnsRecord;
    const found = this.records[id];
    return found === undefined ? { status: 404 } : { status: 200, body: found };
  },
};

const service = {
  metadata: { annotations: { 'example.com/hostname': 'shop.example.com' } },
  spec: { type: 'LoadBalancer' },
  status: { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } },
};

/** What people and others do, and what has to be so in the end. */
export const scenario: Scenario<typeof serviceDns, typeof dns> = {
  resource: service,
  outside: dns,
  userEdits: {
    'another hostname': ({ metadata }) =>
      (metadata.annotations = { ...metadata.annotations, 'example.com/hostname': 'www.example.com' }),
    'the annotation is taken away': ({ metadata }) =>
      Reflect.deleteProperty(metadata.annotations ?? {}, 'example.com/hostname'),
  },
  externalChanges: { 'the record is lost': ({ outside }) => (outside.records = {}) },
  finally: ({ resource, outside }) => {
    const wanted = resource?.metadata.annotations?.['example.com/hostname'];
    const [record] = Object.values(outside.records);
    return [
      wanted !== record?.hostname &&
        `asked is ${wanted ?? 'nothing'}, and there is ${JSON.stringify(record)}`,
      wanted === undefined && resource?.metadata.finalizers?.length && 'the finalizer stays',
    ];
  },
};
