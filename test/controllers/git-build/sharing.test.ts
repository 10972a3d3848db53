import { describe, expect, it } from '@jest/globals';
import type { Artifact } from '../../../src/controllers/git-build/kind.ts';
import { listedBuildView, type Sharer } from '../../../src/controllers/git-build/facts.ts';
import { mayShare, sharedWith } from '../../../src/controllers/git-build/sharing.ts';
import type { PodView } from '../../../src/controllers/git-build/views.ts';
import {
  BUILDING,
  BUILT,
  decide,
  inProgress,
  INVALID,
  ON_NODE_1,
  reasonsIn,
  settled,
  START,
} from '../../support/build-decisions.ts';
import { aBuildView, aPodView, buildObject, type BuildGiven } from '../../support/build-views.ts';
import { BUILD_DEFAULTS, SAMPLE } from '../../support/build-samples.ts';

const ON_NODE_2 = { node: 'node-2', binary: 'helloworld' };
const OLD = { node: 'node-1', binary: 'old' };
const MESSAGE =
  'Xxx shop/sample leaves helloworld on node-1: it is also the file of Xxx team/other; give each its own binaryName, so that none overwrites the file of another';

function deleting(artifacts: readonly Artifact[] = ON_NODE_1): BuildGiven {
  const status = { phase: 'Cleaning', completionTime: START, artifacts } as const;
  return aBuildView(status, { deleting: true, deletedAt: START });
}

function aSharer(artifacts: readonly Artifact[], name = 'other'): Sharer {
  return { namespace: 'team', name, uid: `uid-of-${name}`, artifacts };
}

describe('a file that another resource has, too,', () => {
  it('stays, both are told once, and the deletion goes on', () => {
    const sharers = [aSharer(ON_NODE_1)];
    const first = decide({ build: deleting(), sharers });
    expect(first).toMatchObject({
      status: { phase: 'Cleaning', artifacts: [] },
      event: {
        type: 'Warning',
        reason: 'SharedBinary',
        note: MESSAGE,
        alsoAbout: [expect.objectContaining({ namespace: 'team', name: 'other', uid: 'uid-of-other' })],
      },
    });
    expect(reasonsIn(first)).toEqual(inProgress('Cleaning'));
    expect(settled(deleting(), { sharers })).toMatchObject({
      do: 'removeFinalizer',
      because: 'there is nothing to remove',
    });
  });

  it('does not keep the files on other nodes', () => {
    const build = deleting([...ON_NODE_1, ON_NODE_2]);
    const sharers = [aSharer([ON_NODE_2])];
    expect(decide({ build, sharers })).toMatchObject({ status: { artifacts: ON_NODE_1 } });
    expect(settled(build, { sharers })).toMatchObject({
      do: 'createCleanupJob',
      data: { node: 'node-1', binaries: ['helloworld'] },
      deletes: { count: 1 },
    });
  });

  it('stays after an earlier spec as well, while the build is ready', () => {
    const artifacts = [OLD, ON_NODE_2];
    const build = aBuildView({ phase: 'Succeeded', observedGeneration: 1, artifacts });
    const sharers = [aSharer([OLD])];
    const first = decide({ build, sharers });
    expect(first).toMatchObject({ status: { phase: 'Succeeded', artifacts: [ON_NODE_2] } });
    expect(reasonsIn(first)).toEqual(BUILT);
    expect(settled(build, { sharers })).toMatchObject({ do: 'converged' });
  });

  it('is told to five others at most, and to none that has other files', () => {
    const many = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => aSharer(ON_NODE_1, name));
    const first = decide({ build: deleting(), sharers: [aSharer([ON_NODE_2]), ...many] });
    const { alsoAbout } = first['event'] as { readonly alsoAbout: readonly { readonly name: string }[] };
    expect(alsoAbout.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});

const OTHER = { uid: 'uid-2', name: 'other', namespace: 'team', resourceVersion: '7' };
const other = (status: BuildGiven['status'], fields: Partial<BuildGiven> = {}) => {
  const { metadata, ...object } = buildObject(aBuildView(status, fields));
  return listedBuildView({ ...object, metadata: { ...metadata, ...OTHER } }, BUILD_DEFAULTS);
};
const SUCCEEDED = { phase: 'Succeeded', observedGeneration: 1 } as const;
const RENAMED = { spec: { ...SAMPLE, binaryName: 'new' } };
const runningOn = (node: string) => [aPodView({ buildUid: 'uid-2', node })];

describe('another resource', () => {
  it.each<[string, ReturnType<typeof other>, PodView[]]>([
    ['lists the file', other({ ...SUCCEEDED, artifacts: ON_NODE_1 }), []],
    ['builds it on the node, and does not list it yet', other(BUILDING), runningOn('node-1')],
    ['lists it, and its spec is no longer valid', other({ artifacts: ON_NODE_1 }, { spec: INVALID }), []],
    ['lists it, and builds another one now', other({ ...BUILDING, artifacts: ON_NODE_1 }, RENAMED), []],
  ])('has the file where it %s', (_, build, pods) => {
    expect(mayShare(build, ON_NODE_1)).toBe(true);
    expect(sharedWith(build, pods, [...ON_NODE_1, ON_NODE_2])).toEqual(ON_NODE_1);
  });

  it.each<[string, ReturnType<typeof other>, PodView[]]>([
    ['is being deleted', other({ ...SUCCEEDED, artifacts: ON_NODE_1 }, { deleting: true }), []],
    ['has it on another node', other({ ...SUCCEEDED, artifacts: [ON_NODE_2] }), []],
    ['builds it on another node', other(BUILDING), runningOn('node-2')],
    ['waits for a node', other(BUILDING), [aPodView({ buildUid: 'uid-2', node: '', started: false })]],
    ['has no Pod on the node, where one of somebody else runs', other(BUILDING), [aPodView()]],
    ['has another file on the node', other({ ...SUCCEEDED, artifacts: [OLD] }), []],
    ['has built another one since', other({ ...SUCCEEDED, artifacts: ON_NODE_1 }, RENAMED), []],
  ])('does not keep the file where it %s', (_, build, pods) => {
    const shared = mayShare(build, ON_NODE_1) ? sharedWith(build, pods, ON_NODE_1) : [];
    expect(shared).toEqual([]);
  });
});
