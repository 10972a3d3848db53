import { operator } from 'durable-operator';
import { serviceDns } from './service-dns.ts';

await operator({ name: 'service-dns-operator', controllers: [serviceDns] }).main();
