import { test } from 'node:test';
import { explore } from 'durable-operator/testing';
import { dnsRecord } from '../src/dns-record.ts';
import { scenario } from './scenario.ts';

test('whatever fails on the way, there is one record, and none in the end', async () => {
  await explore(dnsRecord, scenario);
});
