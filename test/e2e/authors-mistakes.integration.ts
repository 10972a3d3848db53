import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../../testing/eventually.ts';
import { uniqueName } from '../support/cluster.ts';
import { Trial } from '../support/failing-operator.ts';
import { conditionIn, setUpProgram } from '../support/programs.ts';
import { testStack } from '../support/stack.ts';

jest.setTimeout(300_000);

const WITHIN_MS = 60_000;

const attempts = join(testStack().dir, `${uniqueName()}.attempts`);
const { cluster, start, ...program } = setUpProgram({
  ...{ file: 'failing-operator.ts', kinds: [Trial] },
  env: { ATTEMPTS: attempts },
});
let namespace: string;

beforeAll(async () => {
  namespace = await cluster.aNamespace();
  writeFileSync(attempts, '');
  await start();
});

const ask = (...args: readonly string[]) => program.ask(...args, '-n', namespace);

async function begin(name: string, what: string): Promise<void> {
  await cluster.create(Trial, {
    ...{ apiVersion: 'example.com/v1', kind: 'Trial', metadata: { name, namespace }, spec: { what } },
  });
}

async function condition(name: string, type: string) {
  return conditionIn(await cluster.get({ type: Trial, namespace, name }), type);
}

async function eventsOn(name: string): Promise<readonly string[]> {
  return (await cluster.eventsIn(namespace))
    .filter(({ regarding }) => regarding.name === name)
    .map(({ reason, note }) => `${reason}: ${note}`);
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
      async () => String((await condition('mistaken', 'Ready'))['message']).includes(said),
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
    await eventually(async () => (await condition('mistaken', 'Ready'))['status'] === 'True', WITHIN_MS);
  });

  it('stalls where it says never: the step is not tried again', async () => {
    await begin('hopeless', 'never');
    await eventually(async () => (await condition('hopeless', 'Stalled'))['status'] === 'True', WITHIN_MS);
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
    await eventually(async () => (await condition('refused', 'Ready'))['reason'] === 'Refused', WITHIN_MS);
    await delay(30_000);
    const times = attemptsOf('refused');
    const gaps = times.slice(1).map((time, place) => Math.round((time - (times[place] ?? 0)) / 100) / 10);
    console.log(`attempts after ${gaps.join(', ')} s`);
    // The first refusal is in the status first, and one look follows that.
    expect(gaps.filter((gap) => gap > 1 && gap < 4.5).length).toBeLessThanOrEqual(1);
    expect(Math.max(...gaps)).toBeGreaterThan(9);
  });
});
