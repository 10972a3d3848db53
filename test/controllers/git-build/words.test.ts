import { expect, it } from '@jest/globals';
import { gitBuildWords } from '../../../src/controllers/git-build/words.ts';
import { anObservation, aPodView } from '../../support/build-views.ts';

it('names the Pods of a build that cannot start, with the reason', () => {
  const trouble = { code: 'ImageNotPulled', text: 'cannot pull the image golang' } as const;
  const troubled = aPodView({ name: 'pod-2', started: false, trouble });
  const observation = anObservation({ pods: [aPodView(), troubled] });
  const object = { metadata: { name: 'sample', uid: 'u', resourceVersion: '1' } };
  expect(gitBuildWords.children?.({ object, observation })).toEqual([
    'Pod pod-2 cannot pull the image golang',
  ]);
});
