import { test } from 'node:test';
import { explore } from 'durable-operator/testing';
import { rollout } from '../src/rollout.ts';
import { BAD, scenario } from './scenario.ts';

test('whatever fails on the way, the old image serves until the new one has proved itself', async () => {
  await explore(rollout, scenario);
});

test('an image that does not start never serves', async () => {
  const spec = { image: 'server:1', soakSeconds: 30, deadlineSeconds: 60 };
  const userEdits = {
    'an image that does not start': ({ spec }: { spec: { image: string } }) => (spec.image = BAD),
  };
  await explore(rollout, { ...scenario, resource: { spec }, userEdits }, { states: 5_000 });
});
