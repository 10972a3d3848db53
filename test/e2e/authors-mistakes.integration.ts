import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { applyManifest } from '../../local/manifests.ts';
import { fieldsOf, listOf, type Fields } from '../../src/api/fields.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { eventually } from '../../testing/eventually.ts';
import { uniqueName } from '../support/cluster.ts';
import { Trial } from '../support/failing-operator.ts';
import { aTaskQueue, startOperator } from '../support/operator.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(300_000);

const WITHIN_MS = 60_000;
const PROGRAM = join(import.meta.dirname, '../support/failing-operator.ts');
const CRDS = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };
const EVENTS = { group: 'events.k8s.io', version: 'v1', plural: 'events' };

const { stack, cluster } = setUpStage(async () => {
  await cluster.delete({ type: CRDS, name: 'trials.example.com' });
});
const taskQueue = aTaskQueue();
const attempts = join(stack.dir, `${uniqueName()}.attempts`);
let namespace: string;

beforeAll(async () => {
  namespace = await cluster.aNamespace();
  writeFileSync(attempts, '');
  await applyManifest(cluster.client, { ...Trial.manifest }, 'author');
  const isServed = () =>
    cluster.client.request({ method: 'GET', path: resourcePath(Trial, {}) }).then(
      () => true,
      () => false,
    );
  await eventually(isServed, WITHIN_MS);
  const env = { ATTEMPTS: attempts };
  await startOperator({ kubeconfig: stack.kubeconfig, taskQueue, program: PROGRAM, env });
});

function ask(...args: readonly string[]): Promise<string> {
  const servers = { KUBECONFIG: stack.kubeconfig, TEMPORAL_ADDRESS: stack.temporalAddress };
  const asked = [PROGRAM, ...args, '-n', namespace, '--task-queue', taskQueue];
  return promisify(execFile)(process.execPath, asked, { env: { ...process.env, ...servers } }).then(
    ({ stdout }) => stdout,
    (error: unknown) => `${String(fieldsOf(error)['stdout'])}${String(fieldsOf(error)['stderr'])}`,
  );
}

async function begin(name: string, what: string): Promise<void> {
  await cluster.create(Trial, {
    ...{ apiVersion: 'example.com/v1', kind: 'Trial', metadata: { name, namespace }, spec: { what } },
  });
}

async function condition(name: string, type: string): Promise<Fields | undefined> {
  const trial = await cluster.get({ type: Trial, namespace, name });
  return listOf(fieldsOf(trial?.['status'])['conditions']).find((each) => each['type'] === type);
}

async function eventsOn(name: string): Promise<readonly string[]> {
  const { items } = await cluster.client.request<{ items: readonly Fields[] }>({
    method: 'GET',
    path: resourcePath(EVENTS, { namespace }),
  });
  return items
    .filter((event) => fieldsOf(event['regarding'])['name'] === name)
    .map((event) => `${String(event['reason'])}: ${String(event['note'])}`);
}

/** When they began, in milliseconds. */
function attemptsOf(name: string): readonly number[] {
  const lines = readFileSync(attempts, 'utf8').trim().split('\n');
  return lines.filter((line) => line.startsWith(`${name} `)).map((line) => Number(line.split(' ')[1]));
}

describe('what a function of an author throws', () => {
  it('is in the condition, an Event, the history and why, and out of them once it is corrected', async () => {
    await begin('mistaken', 'a mistake');
    const said = 'decide of controller trial has failed: x is undefined';
    await eventually(
      async () => String((await condition('mistaken', 'Ready'))?.['message']).includes(said),
      WITHIN_MS,
    );
    expect(await condition('mistaken', 'Ready')).toMatchObject({ status: 'False', reason: 'DecideFailed' });
    await eventually(async () => (await eventsOn('mistaken')).some((each) => each.includes(said)), WITHIN_MS);
    await eventually(
      async () => (await ask('why', 'trial/mistaken')).includes('decide of controller trial'),
      WITHIN_MS,
    );
    expect(await ask('why', 'trial/mistaken')).not.toContain('unexpected error');
    expect(await ask('history', 'trial/mistaken')).toContain(said);
    writeFileSync(`${attempts}.corrected`, '');
    await eventually(async () => (await condition('mistaken', 'Ready'))?.['status'] === 'True', WITHIN_MS);
  });

  it('stalls where it says never: the step is not tried again', async () => {
    await begin('hopeless', 'never');
    await eventually(async () => (await condition('hopeless', 'Stalled'))?.['status'] === 'True', WITHIN_MS);
    expect(await condition('hopeless', 'Stalled')).toMatchObject({
      reason: 'PermanentFailure',
      message: 'there is no such region',
    });
    await eventually(async () => (await ask('why', 'trial/hopeless')).includes('no such region'), WITHIN_MS);
    await delay(10_000);
    expect(attemptsOf('hopeless')).toHaveLength(1);
    expect(await eventsOn('hopeless')).toEqual([
      expect.stringMatching(/^PermanentFailure: there is no such region/),
    ]);
  });

  it('is tried with the same backoff, whatever the words are', async () => {
    await begin('refused', 'other words');
    await eventually(async () => (await condition('refused', 'Ready'))?.['reason'] === 'Refused', WITHIN_MS);
    await delay(30_000);
    const times = attemptsOf('refused');
    const gaps = times.slice(1).map((time, place) => Math.round((time - (times[place] ?? 0)) / 100) / 10);
    console.log(`attempts after ${gaps.join(', ')} s`);
    // The first refusal is in the status first, and one look follows that.
    expect(gaps.filter((gap) => gap > 1 && gap < 4.5).length).toBeLessThanOrEqual(1);
    expect(Math.max(...gaps)).toBeGreaterThan(9);
  });
});
