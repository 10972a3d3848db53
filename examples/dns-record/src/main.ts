import { operator } from 'durable-operator';
import { dnsRecord } from './dns-record.ts';

await operator({ name: 'dns-record-operator', controllers: [dnsRecord] }).main();
