import { describe, expect, it, jest } from '@jest/globals';
import type { KubernetesObject } from '../../src/api/object.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import {
  aBuild,
  aForeignJob,
  aNodeWithoutKubelet,
  conditionOf,
  JOBS,
  LiveBuild,
  NODES,
  requestsIn,
  SAMPLE,
} from '../support/builds.ts';
import { NAMESPACES, PODS, refOf, type Manifest } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { setUpOperator } from '../support/stage.ts';

jest.setTimeout(240_000);
const WITHIN_MS = 60_000;
/** From the creation of a build until it is gone again, Events apart: each step reads before it writes. */
const MOST_CALLS = 16;

const { stack, cluster, temporal } = setUpOperator({ args: ['--controllers', 'git-build'] });

async function created({ manifest }: { readonly manifest: Manifest }): Promise<LiveBuild> {
  const { type } = new LiveBuild(cluster, manifest, WITHIN_MS).at;
  await cluster.create(type, manifest);
  return new LiveBuild(cluster, manifest, WITHIN_MS);
}

const requests = (namespace: string) => requestsIn(namespace, stack.auditLog);
const writesIn = (made: readonly string[]) => made.filter((request) => !/^(get|list) /.test(request));
/** A delete conflicts if the Job's controller has just written to the Job: the operator then reads it again. */
const CONFLICT = 'delete jobs → 409';
const jobWrites = (namespace: string) =>
  requests(namespace).filter((request) => /^(create|delete) jobs/.test(request) && request !== CONFLICT);
const eventsOf = async (build: LiveBuild) =>
  (await cluster.eventsIn(build.namespace)).filter(({ regarding }) => regarding.name === build.at.name);

async function eventuallyTold(build: LiveBuild, reason: string, words: string): Promise<void> {
  await eventually(async () => {
    const notes = (await eventsOf(build)).filter((event) => event.reason === reason).map(({ note }) => note);
    expect(notes).toEqual([expect.stringContaining(words)]);
    return true;
  }, WITHIN_MS);
}

function eventuallyOver(build: KubernetesObject): Promise<void> {
  return temporal.untilCompleted(refOf('git-build', build), WITHIN_MS);
}

describe('a build', () => {
  it.concurrent(
    'succeeds, records where its binary is, and is deleted after cleanup, with few requests',
    async () => {
      const namespace = await cluster.aNamespace();
      const build = await created(aBuild(namespace));
      const done = await build.is('Succeeded');
      expect(done.status).toMatchObject({ jobName: SAMPLE.jobName, binaryName: build.binary, message: '' });
      const [artifact] = done.status?.artifacts ?? [];
      expect(done.status?.artifacts).toMatchObject([{ binary: build.binary }]);
      expect(conditionOf(done, 'Ready')).toBe('True Built');
      expect(done.metadata.finalizers).toEqual(['job.finalizers.test.inspur.com']);
      expect(done.status?.workflowId).toBe(`git-build/${namespace}/sample/${done.metadata.uid}`);
      await eventuallyOver(done);
      await build.delete();
      await build.gone();
      await eventuallyOver(done);
      const cleanup = await build.job(`${SAMPLE.jobName}-delete`);
      expect(cleanup?.metadata.annotations).toMatchObject({
        'durable-operator.dev/node': artifact?.node,
        'durable-operator.dev/binaries': build.binary,
      });
      const made = requests(namespace);
      expect(made.length).toBeLessThanOrEqual(MOST_CALLS);
      // How often the status is written depends on how fast the Pod is.
      const others = writesIn(made).filter((write) => write !== 'patch xxxes/status');
      expect(others).toEqual(['patch xxxes', 'create jobs', 'create jobs', 'patch xxxes']);
      for (const [reason, words] of [
        ['BuildStarted', 'build-helloworld'],
        ['BuildSucceeded', `${build.binary} on`],
        ['Cleaned', `Removed ${build.binary}`],
      ] as const) {
        await eventuallyTold(build, reason, words);
      }
    },
  );

  // The API deletes a Job without its Pods unless told otherwise; they then run on, and need not be awaited.
  it.concurrent('is built again if somebody deletes its running Job', async () => {
    const namespace = await cluster.aNamespace();
    const build = await created(aBuild(namespace).lasting());
    await build.is('Building');
    const first = await build.jobOtherThan(undefined);
    await cluster.delete({ type: JOBS, namespace, name: SAMPLE.jobName });
    await build.jobOtherThan(first.metadata.uid);
    await build.is('Building');
  });

  it.concurrent('that fails records the error, waits, and runs again when its Job is deleted', async () => {
    const namespace = await cluster.aNamespace();
    const build = await created(aBuild(namespace).failing());
    const done = await eventually(async () => {
      const found = await build.get();
      return found?.status?.phase === 'Failed' && found;
    }, 90_000);
    expect(done.status?.message).toBe('Job build-helloworld failed: exit code 1: simulated failure');
    expect([conditionOf(done, 'Ready'), conditionOf(done, 'Stalled')]).toEqual([
      'False BuildFailed',
      'True BuildFailed',
    ]);
    await eventuallyTold(build, 'BuildFailed', 'exit code 1');
    expect((await temporal.openRunOf(refOf('git-build', done))).status).toBe('RUNNING');
    const first = await build.jobOtherThan(undefined);
    await cluster.delete({ type: JOBS, namespace, name: SAMPLE.jobName });
    await build.jobOtherThan(first.metadata.uid);
    await build.is('Building');
  });
});

describe('a spec that changes', () => {
  it.concurrent('during a build replaces the Job', async () => {
    const namespace = await cluster.aNamespace();
    const build = await created(aBuild(namespace).lasting());
    await build.is('Building');
    const first = await build.jobOtherThan(undefined);
    await build.change({ buildCommand: 'go build ./...' });
    const second = await build.jobOtherThan(first.metadata.uid);
    await build.is('Succeeded');
    expect(second.metadata.annotations).not.toEqual(first.metadata.annotations);
    expect(jobWrites(namespace)).toEqual(['create jobs', 'delete jobs', 'create jobs']);
    await eventuallyTold(build, 'JobReplaced', 'build-helloworld');
  });

  it.concurrent('in its binaryName removes the old binary once the new one is there', async () => {
    const namespace = await cluster.aNamespace();
    const build = await created(aBuild(namespace));
    const { status } = await build.is('Succeeded');
    await build.change({ binaryName: 'hello' });
    const done = await build.reaches(
      (found) =>
        found.status?.phase === 'Succeeded' &&
        found.status.artifacts?.every(({ binary }) => binary === 'hello') === true,
    );
    expect(done.status?.artifacts?.length).toBe(1);
    const cleanup = await build.job(`${SAMPLE.jobName}-delete`);
    expect(cleanup?.metadata.annotations).toMatchObject({
      'durable-operator.dev/node': status?.artifacts?.[0]?.node,
      'durable-operator.dev/binaries': build.binary,
    });
    await eventuallyOver(done);
    await build.delete();
    await build.gone();
  });
});

describe('a build that is deleted', () => {
  it.concurrent('during a build ends its Job first, and then cleans the node', async () => {
    const namespace = await cluster.aNamespace();
    const build = await created(aBuild(namespace).lasting());
    await build.is('Building');
    const first = await build.jobOtherThan(undefined);
    await eventually(async () => (await podsOf(first)).some(({ phase }) => phase === 'Running'), WITHIN_MS);
    await build.delete();
    await build.gone();
    expect(await build.job()).toBeUndefined();
    expect(await build.job(`${SAMPLE.jobName}-delete`)).toBeDefined();
    expect(jobWrites(namespace)).toEqual(['create jobs', 'delete jobs', 'create jobs']);
  });

  it.concurrent('cleans the other nodes if one is gone', async () => {
    const namespace = await cluster.aNamespace();
    const build = await created(aBuild(namespace));
    const { status } = await build.is('Succeeded');
    const artifacts = [{ node: 'no-such-node', binary: build.binary }, ...(status?.artifacts ?? [])];
    await cluster.patch(build.at, { status: { artifacts } }, 'status');
    await build.delete();
    await build.gone();
    const cleanup = await build.job(`${SAMPLE.jobName}-delete`);
    expect(cleanup?.metadata.annotations).toMatchObject({
      'durable-operator.dev/node': status?.artifacts?.[0]?.node,
    });
    expect(jobWrites(namespace)).toEqual(['create jobs', 'create jobs', 'delete jobs', 'create jobs']);
  });

  it.concurrent('says of a node that is not ready since when it is not, and what to do', async () => {
    const namespace = await cluster.aNamespace();
    const node = await aNodeWithoutKubelet(cluster, `silent-${namespace}`);
    const build = await created(aBuild(namespace));
    await build.is('Succeeded');
    await cluster.patch(build.at, { status: { artifacts: [{ node, binary: build.binary }] } }, 'status');
    await build.delete();
    const stuck = await build.reaches((found) => conditionOf(found, 'Stalled') === 'True CleanupStuck');
    expect(stuck.status?.message).toMatch(
      /cannot run: node silent-\S+ is Ready=Unknown since \S+: \S.*; bring the node back, or delete the Node/,
    );
    await eventuallyTold(build, 'CleanupStuck', stuck.status?.message ?? '?');
    await cluster.patch(build.at, {
      metadata: { annotations: { 'durable-operator.dev/skip-cleanup': 'true' } },
    });
    await build.gone();
    await cluster.delete({ type: NODES, name: node });
  });

  it.concurrent(
    'with the annotation to skip cleanup is gone at once, and an Event names the binary that stays',
    async () => {
      const namespace = await cluster.aNamespace();
      const build = await created(aBuild(namespace));
      await build.is('Succeeded');
      await cluster.patch(build.at, {
        metadata: { annotations: { 'durable-operator.dev/skip-cleanup': 'true' } },
      });
      await build.delete();
      await build.gone();
      await eventuallyTold(build, 'CleanupSkipped', `${build.binary} on`);
      expect(await build.job(`${SAMPLE.jobName}-delete`)).toBeUndefined();
    },
  );

  it.concurrent(
    'together with its namespace is gone, and an Event on the namespace names the binary that stays',
    async () => {
      const namespace = await cluster.aNamespace();
      const build = await created(aBuild(namespace));
      await build.is('Succeeded');
      await cluster.delete({ type: NAMESPACES, name: namespace });
      await build.gone();
      await eventually(
        async () => (await cluster.get({ type: NAMESPACES, name: namespace })) === undefined,
        60_000,
      );
      await eventually(async () => {
        const events = (await cluster.eventsIn('default')).filter(
          ({ regarding }) => regarding.name === namespace,
        );
        expect(events).toMatchObject([
          {
            reason: 'CleanupSkipped',
            note: expect.stringContaining(`${build.binary} on`),
            regarding: { kind: 'Namespace' },
          },
        ]);
        return true;
      }, WITHIN_MS);
    },
  );
});

async function podsOf({ metadata }: KubernetesObject): Promise<{ phase: unknown }[]> {
  const path = resourcePath(PODS, { namespace: metadata.namespace });
  const query = { labelSelector: `batch.kubernetes.io/controller-uid=${metadata.uid}` };
  const { items } = await cluster.client.request<{ items: { status: { phase: unknown } }[] }>({
    method: 'GET',
    path,
    query,
  });
  return items.map(({ status }) => status);
}

describe('a Job of somebody else', () => {
  it.concurrent('with the name of the build Job is not changed, and a condition names it', async () => {
    const namespace = await cluster.aNamespace();
    const foreign = await aForeignJob(cluster, namespace, SAMPLE.jobName);
    const build = await created(aBuild(namespace));
    const told = await build.reaches((found) => conditionOf(found, 'Stalled') === 'True JobNameTaken');
    expect(told.status?.message).toContain(`${namespace}/${SAMPLE.jobName} does not belong to this resource`);
    await eventuallyTold(build, 'JobNameTaken', 'does not belong to this resource');
    await build.change({ jobName: 'free' });
    await build.is('Succeeded');
    expect((await build.job())?.metadata.uid).toBe(foreign.metadata.uid);
    expect(requests(namespace).filter((request) => request.startsWith('delete'))).toEqual([]);
  });

  it.concurrent(
    'with the name of the cleanup Job is not changed, and holds the deletion until cleanup is skipped',
    async () => {
      const namespace = await cluster.aNamespace();
      const build = await created(aBuild(namespace));
      await build.is('Succeeded');
      const foreign = await aForeignJob(cluster, namespace, `${SAMPLE.jobName}-delete`);
      await build.delete();
      await build.reaches((found) => conditionOf(found, 'Stalled') === 'True JobNameTaken');
      await cluster.patch(build.at, {
        metadata: { annotations: { 'durable-operator.dev/skip-cleanup': 'true' } },
      });
      await build.gone();
      expect((await build.job(`${SAMPLE.jobName}-delete`))?.metadata.uid).toBe(foreign.metadata.uid);
    },
  );
});
