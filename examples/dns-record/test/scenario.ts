import type { FetchAnswer, FetchRequest, Scenario } from 'durable-operator/testing';
import type { StoredRecord } from '../src/dns.ts';
import type { dnsRecord } from '../src/dns-record.ts';

interface Made extends StoredRecord {
  readonly key: string;
}

/** The DNS, as plain state and a function on it: the same key gets the same record. */
const dns = {
  records: {} as Record<string, Made>,
  fetch({ method, url, body }: FetchRequest): FetchAnswer {
    const asked = body as { hostname: string; address: string; idempotencyKey: string } | undefined;
    const id =
      method === 'POST'
        ? (Object.values(this.records).find(({ key }) => key === asked?.idempotencyKey)?.id ??
          `record-${Object.keys(this.records).length + 1}`)
        : url.slice(url.lastIndexOf('/') + 1);
    const there = this.records[id];
    if (method === 'GET') return there === undefined ? { status: 404 } : { status: 200, body: there };
    if (method === 'DELETE') Reflect.deleteProperty(this.records, id);
    else if (asked !== undefined && (method === 'POST' || there !== undefined)) {
      const { hostname, address } = asked;
      this.records[id] = { id, hostname, address, key: there?.key ?? asked.idempotencyKey };
    }
    return { status: 200, body: { id } };
  },
};

/** What people do, and what has to be so in the end. */
export const scenario: Scenario<typeof dnsRecord, typeof dns> = {
  resource: { spec: { hostname: 'shop.example.com', address: '192.0.2.7' } },
  outside: dns,
  userEdits: { 'another address': ({ spec }) => (spec.address = '192.0.2.8') },
  finally: ({ resource, outside }) => {
    const addresses = Object.values(outside.records).map(({ address }) => address);
    return [
      resource &&
        addresses.join() !== resource.spec.address &&
        `the records are ${JSON.stringify(addresses)}`,
    ];
  },
};
