import { describe, expect, it } from '@jest/globals';
import { buildStatusStep } from '../../src/controllers/git-build/decide.ts';
import { podSetStatusStep } from '../../src/controllers/pod-set/decide.ts';
import { aBuildView, anObservation, aPodView } from '../support/build-views.ts';
import { aPodOf, aPodSet, NOW_MS, type OwnedPodBuilder, type PodSetBuilder } from '../support/pod-sets.ts';

/*
 * The status that is written while the next step is held back.
 */

const set = aPodSet();
const pod = (name: string) => aPodOf(set, name);

describe('a PodSet whose next step is held', () => {
  const statusStep = (podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[]) =>
    podSetStatusStep({ podSet: podSet.view, pods: pods.map(({ view }) => view), lookedFor: [] }, NOW_MS);

  it('counts the Pods that there are, once', () => {
    const pods = [pod('a'), pod('b')];
    const step = statusStep(set.wanting(1), pods);
    expect(step).toMatchObject({
      do: 'updateStatus',
      status: {
        podNames: ['a', 'b'],
        readyReplicas: 2,
        conditions: [{ type: 'Ready', status: 'False', reason: 'PodsSurplus' }, {}, {}],
      },
    });
    expect(statusStep(set.wanting(1).withStatus(step?.status ?? {}), pods)).toBeUndefined();
  });

  it('goes on naming the Pods that it has yet to release, and does not count them', () => {
    const known = set.withStatus({ podNames: ['a', 'b', 'c'] });
    expect(statusStep(known, [pod('a'), pod('b').relabelled()])).toMatchObject({
      because: '1 Pod is available, but the status names 3',
      status: { podNames: ['a', 'b'], readyReplicas: 1 },
    });
  });

  it('has none to write once it is being deleted, or gone', () => {
    expect(statusStep(set.beingDeleted(), [])).toBeUndefined();
    expect(podSetStatusStep({ podSet: 'gone', pods: [], lookedFor: [] }, NOW_MS)).toBeUndefined();
  });

  it('has none to write where its name is so long that the server refuses each write', () => {
    expect(statusStep(set.named('n'.repeat(64)), [])).toBeUndefined();
    expect(statusStep(set.named('n'.repeat(63)), [])).toMatchObject({ do: 'updateStatus' });
  });
});

describe('a build whose next step is held', () => {
  const pods = [aPodView()];
  const statusStep = (build: ReturnType<typeof aBuildView> | 'gone') =>
    buildStatusStep(anObservation({ build, pods }), NOW_MS);

  it('is pending where its status is of no spec, or of an earlier one', () => {
    const expected = {
      do: 'updateStatus',
      status: {
        phase: 'Pending',
        observedGeneration: 2,
        startTime: null,
        artifacts: [{ node: 'node-1', binary: 'helloworld' }],
      },
    };
    expect(statusStep(aBuildView({}, { generation: 2 }))).toMatchObject(expected);
    const built = { phase: 'Succeeded', observedGeneration: 1 } as const;
    expect(statusStep(aBuildView(built, { generation: 2 }))).toMatchObject(expected);
  });

  it('keeps a status of its spec, and that of its deletion', () => {
    expect(statusStep(aBuildView({ phase: 'Succeeded', observedGeneration: 1 }))).toBeUndefined();
    expect(statusStep(aBuildView({}, { deleting: true }))).toBeUndefined();
    expect(statusStep('gone')).toBeUndefined();
  });
});
