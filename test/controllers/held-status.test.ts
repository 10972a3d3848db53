import { describe, expect, it } from '@jest/globals';
import { buildStatusStep } from '../../src/controllers/git-build/decide.ts';
import { aBuildView, anObservation, aPodView } from '../support/build-views.ts';
import { NOW_MS } from '../support/pod-sets.ts';

/*
 * The status that is written while the next step is held back.
 */

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
