import { describe, expect, it, jest } from '@jest/globals';
import { BUILDS } from '../../src/controllers/git-build/resource.ts';
import { aBuild, LiveBuild, SAMPLE } from '../support/builds.ts';
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
