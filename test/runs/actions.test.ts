import { describe, expect, it } from '@jest/globals';
import { addedUp, type Action, sentenceOf } from '../../src/runs/decision.ts';

const created = (count: number, ...names: string[]): Action => ({
  did: 'created',
  what: 'Pod',
  count,
  names,
});
const deleted = (count: number): Action => ({ did: 'deleted', what: 'failed Pod', count });
const approved: Action = { did: 'approved', what: 'by alice: the shop is closed', isOnce: true };
const updated: Action = { did: 'updated', what: 'the status' };

describe('what a run did, in a sentence', () => {
  it.each<[sentence: string, actions: readonly Action[]]>([
    ['', []],
    ['created Job build-web', [{ did: 'created', what: 'Job build-web' }]],
    ['updated the status 3 times', [updated, updated, updated]],
    ['created 2 Pods web-1, web-2', [created(1, 'web-1'), created(1, 'web-2')]],
    ['created 300 Pods', [created(250, 'web-1'), created(50)]],
    ['deleted 2 failed Pods', [deleted(2)]],
    [
      'approved by alice: the shop is closed, updated the status 2 times',
      [approved, updated, approved, updated],
    ],
    ['labelled the Pod a', [{ did: 'labelled', what: 'the Pod', count: 1, names: ['a'] }]],
  ])('%s', (sentence, actions) => {
    expect(sentenceOf(actions)).toBe(sentence);
  });
});

describe('actions that are added up', () => {
  it('are those of the same words, in the order in which they were first done', () => {
    const sum = addedUp([created(1), updated, created(2)]);
    expect(sum).toEqual([{ did: 'created', what: 'Pod', count: 3 }, updated]);
  });

  it('name no more than five', () => {
    const [sum] = addedUp([created(4, 'a', 'b', 'c', 'd'), created(4, 'e', 'f', 'g', 'h')]);
    expect(sum).toEqual(created(8, 'a', 'b', 'c', 'd', 'e'));
  });
});
