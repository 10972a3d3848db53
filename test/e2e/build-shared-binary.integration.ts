import { describe, expect, it, jest } from '@jest/globals';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { aBuild, LiveBuild } from '../support/builds.ts';
import { eventually } from '../../testing/eventually.ts';
import { setUpOperator } from '../support/stage.ts';

jest.setTimeout(240_000);
const WITHIN_MS = 60_000;
const NODES = ['simulated-1', 'simulated-2'];

const { cluster } = setUpOperator({ args: ['--controllers', 'git-build'] });

/** Built, and with its file on both nodes, whichever the scheduler chose. */
async function built(name: string): Promise<LiveBuild> {
  const { manifest } = aBuild(await cluster.aNamespace(), name).with({ binaryName: 'shared' });
  await cluster.create(BUILDS, manifest);
  const build = new LiveBuild(cluster, manifest, WITHIN_MS);
  await build.is('Succeeded');
  const artifacts = NODES.map((node) => ({ node, binary: 'shared' }));
  await cluster.patch(build.at, { status: { artifacts } }, 'status');
  return build;
}

function eventuallyWarned(build: LiveBuild, words: string): Promise<true> {
  const { namespace, at } = build;
  return eventually(async () => {
    const notes = (await cluster.eventsIn(namespace))
      .filter(({ regarding, reason }) => regarding.name === at.name && reason === 'SharedBinary')
      .map(({ note }) => note);
    expect(notes).toEqual([expect.stringContaining(words)]);
    expect(notes[0]).toContain(`; see: kubectl durable why xxx/${at.name} -n ${namespace}`);
    return true as const;
  }, WITHIN_MS);
}

describe('two builds with one binaryName on the same nodes', () => {
  it('keep the file until the last of them is deleted, and both are warned', async () => {
    const first = await built('first');
    const last = await built('last');
    await first.delete();
    await first.gone();
    expect(await first.job('build-helloworld-delete')).toBeUndefined();
    const words = `Xxx ${first.namespace}/first leaves shared on ${NODES.join(', ')}: it is also the file of Xxx ${last.namespace}/last`;
    await eventuallyWarned(first, words);
    await eventuallyWarned(last, words);
    await last.delete();
    await last.gone();
    const cleanup = await last.job('build-helloworld-delete');
    expect(cleanup?.metadata.annotations).toMatchObject({
      'durable-operator.dev/node': NODES.at(-1),
      'durable-operator.dev/binaries': 'shared',
    });
  });
});
