import { describe, expect, it, jest } from '@jest/globals';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { aBuild, JOBS, LiveBuild, SAMPLE } from '../support/builds.ts';
import { eventually } from '../../testing/eventually.ts';
import { startOperator } from '../support/operator.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(120_000);
const WITHIN_MS = 60_000;
const UNPULLABLE =
  "its Pod cannot pull the image missing.invalid/golang:1.13; make the image available to the nodes, or change the operator's --build-image";

const { cluster } = setUpStage();

/** A build in its own namespace, with its own operator. No registry has the image. */
async function aBuildWithin(deadline: string): Promise<LiveBuild> {
  const namespace = await cluster.aNamespace();
  await startOperator({
    args: [
      ...['--controllers', 'git-build', '--namespaces', namespace],
      ...['--build-image', 'missing.invalid/golang:1.13', '--build-deadline', deadline],
    ],
  });
  const { manifest } = aBuild(namespace);
  await cluster.create(BUILDS, manifest);
  return new LiveBuild(cluster, manifest, WITHIN_MS);
}

describe('a build that somebody else interferes with', () => {
  const begin = async (...args: readonly string[]) => {
    const namespace = await cluster.aNamespace();
    await startOperator({ args: ['--controllers', 'git-build', '--namespaces', namespace, ...args] });
    return namespace;
  };
  const create = async (namespace: string, build: ReturnType<typeof aBuild>) => {
    await cluster.create(BUILDS, build.manifest);
    return new LiveBuild(cluster, build.manifest, WITHIN_MS);
  };

  it.concurrent('remembers where it ran when the deadline takes its Pod, and cleans there', async () => {
    const namespace = await begin('--build-deadline', '20s');
    const build = await create(namespace, aBuild(namespace).lasting());
    const { status } = await build.reaches((each) => each.status?.artifacts?.length === 1);
    expect(status?.phase).toBe('Building');
    const failed = await build.is('Failed');
    expect(failed.status).toMatchObject({ artifacts: status?.artifacts });
    await build.delete();
    await eventually(async () => (await build.job(`${SAMPLE.jobName}-delete`)) !== undefined, WITHIN_MS);
    await build.gone();
  });

  it.concurrent('says that its Job is suspended, and by whom', async () => {
    const namespace = await begin();
    const build = await create(namespace, aBuild(namespace).lasting());
    await build.is('Building');
    const at = { type: JOBS, namespace, name: SAMPLE.jobName };
    await cluster.patch(at, { spec: { suspend: true } });
    await build.reaches(({ status }) =>
      / is suspended by \S+, so it has no Pods/.test(status?.message ?? ''),
    );
    await cluster.patch(at, { spec: { suspend: false } });
    await build.reaches(({ status }) => status?.phase === 'Building' && status.message === '');
  });
});

describe('a build whose image cannot be pulled', () => {
  it.concurrent('names the image while it waits, and needs no cleanup Job', async () => {
    const build = await aBuildWithin('1h');
    await build.reaches(({ status }) => status?.phase === 'Building' && status.message === UNPULLABLE);
    await build.delete();
    await build.gone();
    expect(await build.job(`${SAMPLE.jobName}-delete`)).toBeUndefined();
    expect(await build.job()).toBeUndefined();
  });

  it.concurrent('fails at its deadline, and names the image', async () => {
    const build = await aBuildWithin('5s');
    const failed = await build.is('Failed');
    expect(failed.status?.message).toBe(
      `Job build-helloworld failed: it exceeded its deadline; before that: ${UNPULLABLE}`,
    );
  });
});
