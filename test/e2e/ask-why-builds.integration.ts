import { afterAll, beforeAll, describe, it, jest } from '@jest/globals';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { expectWhy } from '../support/asking.ts';
import { aBuild, aForeignJob, aNodeWithoutKubelet, LiveBuild, NODES, SAMPLE } from '../support/builds.ts';
import { uniqueName } from '../support/cluster.ts';
import { aTaskQueue, endOperators, startOperator } from '../support/operator.ts';
import { setUpStage } from '../support/stage.ts';

/*
 * What a person reads who asks why of a build; see ask-why.integration.ts.
 */

jest.setTimeout(180_000);
const WITHIN_MS = 60_000;

const { cluster } = setUpStage();

async function created(build: ReturnType<typeof aBuild>): Promise<LiveBuild> {
  await cluster.create(BUILDS, build.manifest);
  return new LiveBuild(cluster, build.manifest, WITHIN_MS);
}

/** As if it had run there. */
async function leaveBinaryOn(build: LiveBuild, node: string): Promise<void> {
  await cluster.patch(build.at, { status: { artifacts: [{ node, binary: build.binary }] } }, 'status');
}

async function skipCleanup(build: LiveBuild): Promise<void> {
  const annotations = { 'durable-operator.dev/skip-cleanup': 'true' };
  await cluster.patch(build.at, { metadata: { annotations } });
  await build.gone();
}

describe('why of a build', () => {
  const taskQueue = aTaskQueue();

  beforeAll(() => startOperator({ taskQueue, args: ['--controllers', 'git-build'] }));
  afterAll(endOperators);

  it.concurrent('names the error of a failed one', async () => {
    const namespace = await cluster.aNamespace();
    await created(aBuild(namespace, 'failing').failing());
    await expectWhy({
      ...{ resource: 'xxx/failing', namespace, taskQueue, golden: 'failing-build', status: 1 },
      until: /is stalled/,
    });
  });

  it.concurrent('says that one was deleted although its node is gone', async () => {
    const namespace = await cluster.aNamespace();
    const build = await created(aBuild(namespace));
    await build.is('Succeeded');
    await leaveBinaryOn(build, 'node-of-old');
    await build.delete();
    await expectWhy({
      ...{ resource: 'xxx/sample', namespace, taskQueue, golden: 'node-gone', status: 1 },
      until: /is gone: it was deleted/,
    });
  });

  it.concurrent('names the Job that has its name', async () => {
    const namespace = await cluster.aNamespace();
    await aForeignJob(cluster, namespace, SAMPLE.jobName);
    await created(aBuild(namespace));
    await expectWhy({
      ...{ resource: 'xxx/sample', namespace, taskQueue, golden: 'foreign-job', status: 1 },
      until: /is stalled: JobNameTaken[^]*or in/,
    });
  });

  it.concurrent('says since when the node of its cleanup is not ready, and what to do', async () => {
    const namespace = await cluster.aNamespace();
    const node = await aNodeWithoutKubelet(cluster, uniqueName());
    const build = await created(aBuild(namespace));
    await build.is('Succeeded');
    await leaveBinaryOn(build, node);
    await build.delete();
    await expectWhy({
      ...{ resource: 'xxx/sample', namespace, taskQueue, golden: 'node-not-ready', status: 1 },
      ...{ until: /is stalled: CleanupStuck[^]*or in/, names: { [node]: 'node-2' } },
    });
    await skipCleanup(build);
    await cluster.delete({ type: NODES, name: node });
  });
});

describe('why of a build whose image cannot be pulled', () => {
  afterAll(endOperators);

  it('says so, and what holds its deletion', async () => {
    const namespace = await cluster.aNamespace();
    const taskQueue = aTaskQueue();
    const where = ['--controllers', 'git-build', '--namespaces', namespace];
    await startOperator({ taskQueue, args: [...where, '--build-image', 'missing.invalid/golang:1.13'] });
    const build = await created(aBuild(namespace));
    const question = { resource: 'xxx/sample', namespace, taskQueue, status: 1 } as const;
    const until = /cannot continue yet: ImageNotPulled[^]*or in/;
    await expectWhy({ ...question, golden: 'image-not-pulled', until });
    await leaveBinaryOn(build, 'simulated-1');
    await build.delete();
    await expectWhy({
      ...question,
      golden: 'cleanup-stuck',
      until: new RegExp(`${until.source}[^]*skip-cleanup`),
    });
    await skipCleanup(build);
  });
});
