import { test } from 'node:test';
import { explore } from 'durable-operator/testing';
import { database } from '../src/database.ts';
import { scenario } from './scenario.ts';

test('whatever fails on the way, there is a database with its app, and nothing is left of it in the end', async () => {
  await explore(database, scenario, { seconds: 300 });
});
