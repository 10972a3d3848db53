import { describe, expect, it, jest } from '@jest/globals';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { aBuild, conditionOf, LiveBuild, SAMPLE } from '../support/builds.ts';
import { ask } from '../support/asking.ts';
import { NAMESPACES } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { aTaskQueue } from '../support/operator.ts';
import { setUpOperator } from '../support/stage.ts';

jest.setTimeout(240_000);
/** The Job controller tries again after a pause that doubles, up to a minute. */
const WITHIN_MS = 90_000;
const WORDS = /^Pods of Job \S+ are refused: violates PodSecurity "baseline:latest": hostPath volumes/;

const taskQueue = aTaskQueue();
const { cluster } = setUpOperator({ taskQueue, args: ['--controllers', 'git-build'] });

function enforce(namespace: string, level: 'baseline' | 'privileged') {
  const labels = { 'pod-security.kubernetes.io/enforce': level };
  return cluster.patch({ type: NAMESPACES, name: namespace }, { metadata: { labels } });
}

async function aNewBuild(namespace: string): Promise<LiveBuild> {
  const { manifest } = aBuild(namespace);
  await cluster.create(BUILDS, manifest);
  return new LiveBuild(cluster, manifest, WITHIN_MS);
}

/** The condition, the Event and `why` say so, in the same words. */
async function eventuallyRefused(build: LiveBuild): Promise<void> {
  const found = await build.reaches((each) => conditionOf(each, 'Stalled') === 'True PodsRefused');
  const { message = '' } = found.status ?? {};
  expect(message).toMatch(WORDS);
  await eventually(async () => {
    const notes = (await cluster.eventsIn(build.namespace))
      .filter(({ regarding, reason }) => regarding.name === build.at.name && reason === 'PodsRefused')
      .map(({ note }) => note);
    expect(notes).toEqual([`${message}; see: kubectl durable why xxx/sample -n ${build.namespace}`]);
    return true;
  }, WITHIN_MS);
  await eventually(async () => {
    const why = await ask(['why', 'xxx/sample', '-n', build.namespace, '--task-queue', taskQueue]);
    expect(why.stdout).toContain(`is stalled: PodsRefused`);
    expect(why.stdout).toContain(message.split('; ')[0]);
    expect(why.status).toBe(1);
    return true;
  }, WITHIN_MS);
}

describe('in a namespace whose PodSecurity refuses Pods that write to nodes', () => {
  it.concurrent('a build says so, and goes on once the namespace allows it', async () => {
    const namespace = await cluster.aNamespace();
    await enforce(namespace, 'baseline');
    const build = await aNewBuild(namespace);
    await eventuallyRefused(build);
    await enforce(namespace, 'privileged');
    await build.is('Succeeded');
  });

  it.concurrent('a deletion says so, and goes on once the namespace allows it', async () => {
    const namespace = await cluster.aNamespace();
    const build = await aNewBuild(namespace);
    await build.is('Succeeded');
    await enforce(namespace, 'baseline');
    await build.delete();
    await eventuallyRefused(build);
    await enforce(namespace, 'privileged');
    await build.gone();
    expect(await build.job(`${SAMPLE.jobName}-delete`)).toBeDefined();
  });
});
