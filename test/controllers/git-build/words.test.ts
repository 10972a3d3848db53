import { expect, it } from '@jest/globals';
import { gitBuildWords } from '../../../src/controllers/git-build/words.ts';
import { aJobView, anObservation, aPodView } from '../../support/build-views.ts';

it('names the Pods of a build that cannot start, and its Jobs that failed, with the reason', () => {
  const trouble = { code: 'ImageNotPulled', text: 'cannot pull the image golang' } as const;
  const observation = anObservation({
    pods: [aPodView(), aPodView({ name: 'pod-2', started: false, trouble })],
    jobs: [aJobView(), aJobView({ name: 'old', state: 'failed', failure: 'DeadlineExceeded' })],
  });
  const object = { metadata: { name: 'sample', uid: 'u', resourceVersion: '1' } };
  expect(gitBuildWords.children?.({ object, observation })).toEqual([
    'Pod pod-2 cannot pull the image golang',
    'Job old failed: it exceeded its deadline',
  ]);
});
