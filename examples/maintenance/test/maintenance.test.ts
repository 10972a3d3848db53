import { test } from 'node:test';
import { explore } from 'durable-operator/testing';
import { maintenance } from '../src/maintenance.ts';
import { scenario } from './scenario.ts';

test('whatever fails on the way, no Pod is left, and the Node is released in the end', async () => {
  await explore(maintenance, scenario);
});
