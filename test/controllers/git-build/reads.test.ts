import { describe, expect, it } from '@jest/globals';
import type { KnownObservation } from '../../../activities/run-memory.ts';
import { gitBuild } from '../../../src/controllers/git-build/controller.ts';
import { JOBS, PODS } from '../../../src/api/kinds.ts';
import { objectKey } from '../../../testing/explorer/cluster.ts';
import { AuthorWorld } from '../../support/author-world.ts';
import { SAMPLE } from '../../support/build-samples.ts';
import { BUILDS } from '../../../src/controllers/git-build/kind.ts';

/** What a run asks of the server until it waits, begun with what the watch shows. */
async function askedBy(change: (world: AuthorWorld) => void = () => undefined): Promise<readonly string[]> {
  const asked: string[] = [];
  const world = new AuthorWorld(gitBuild, {
    types: [JOBS, PODS],
    spec: SAMPLE,
    refuse({ method, path }) {
      asked.push(`${method} ${path.split('/').slice(-2).join('/')}`);
      return undefined;
    },
  });
  change(world);
  let known: KnownObservation | undefined = { observation: world.observed(), source: 'watch' };
  for (let [name, steps] = ['observe', 0]; name !== 'wait' && steps < 10; steps += 1) {
    const end = await world.step(name, { known });
    known = end.known;
    name = end.next.do;
  }
  return asked;
}

describe('a build', () => {
  const WRITES = ['PATCH xxxes/front', 'PATCH front/status', 'POST shop/jobs', 'PATCH front/status'];

  it('begins without a read', async () => {
    expect(await askedBy()).toEqual(WRITES);
  });

  it('of a changed spec begins after a look at the Jobs and Pods that there are', async () => {
    const asked = await askedBy((world) =>
      world.cluster.changeMetadata(objectKey(BUILDS, 'front'), () => ({ generation: 2 })),
    );
    expect(asked.filter((each) => each.startsWith('GET')).slice(0, 2)).toEqual([
      'GET shop/jobs',
      'GET shop/pods',
    ]);
    expect(asked.indexOf('GET shop/pods')).toBeLessThan(asked.indexOf('POST shop/jobs'));
  });
});
