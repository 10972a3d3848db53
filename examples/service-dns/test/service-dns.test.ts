import { test } from 'node:test';
import { explore } from 'durable-operator/testing';
import { serviceDns } from '../src/service-dns.ts';
import { scenario } from './scenario.ts';

test('whatever fails on the way, the record is as the Service says, and goes with it', async () => {
  await explore(serviceDns, scenario);
});
