import { defineController } from 'durable-operator';
import { askDns, findRecord } from './dns.ts';
import { DnsRecord } from './kind.ts';

/** What was just written may not show yet. */
const LAG_MS = 5_000;

export const dnsRecord = defineController({
  name: 'dns-record',
  for: DnsRecord,
  finalizer: 'example.com/dns-record',
  pollInterval: '10m',
  // The DNS cannot be searched: only who knows an ID finds a record.
  observe: async ({ resource: { status }, signal }) =>
    status.id === undefined ? undefined : await findRecord(status.id, signal),
  steps: {
    create: {
      summary: 'create the record',
      async run({ resource: { spec }, idempotencyKey, signal, now }) {
        const { id } = await askDns('POST', 'records', signal, { ...spec, idempotencyKey });
        return { message: `created record ${id}`, status: { id, writtenAt: timeOf(now()) } };
      },
    },
    change: {
      summary: 'change the record',
      async run({ resource: { spec, status }, signal, now }) {
        await askDns('PUT', `records/${status.id ?? ''}`, signal, spec);
        return { message: 'changed the record', status: { writtenAt: timeOf(now()) } };
      },
    },
    remove: {
      summary: 'remove the record',
      async run({ resource: { status }, signal, now }) {
        await askDns('DELETE', `records/${status.id ?? ''}`, signal);
        return { message: 'removed the record', status: { writtenAt: timeOf(now()), isRemoved: true } };
      },
    },
  },
  decide({ resource: { spec, status, isBeingDeleted }, observed: record, unknown, nowMs }, next) {
    const mayLag = status.writtenAt !== undefined && Date.parse(status.writtenAt) + LAG_MS > nowMs;
    const wait = () => next.wait('the DNS to show what was written', { recheckAfter: '1s' });
    if (isBeingDeleted) {
      // Asked once more with the same key, the DNS says which record it has made.
      const isIdLost = status.id === undefined && unknown.some(({ step }) => step === 'create');
      if (isIdLost) return next.do.create('there may be a record whose ID nobody knows');
      if (status.id === undefined) return next.removeFinalizer('there was never a record');
      if (status.isRemoved !== true) return next.do.remove('it is being deleted');
      if (mayLag) return wait();
      return record ? next.do.remove('it is still there') : next.removeFinalizer('no record is left');
    }
    if (status.id === undefined) return next.do.create('there is no record');
    const isRight = record?.address === spec.address && record.hostname === spec.hostname;
    if (isRight) return next.converged('the record is as specified');
    if (mayLag) return wait();
    return record ? next.do.change('the record differs') : next.do.create('somebody has removed the record');
  },
  status: ({ resource: { status } }) => status,
});

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
