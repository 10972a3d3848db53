import { describe, expect, it } from '@jest/globals';
import type { PodOfSet } from '../../src/controllers/pod-set/pod.ts';
import { podsToDelete } from '../../src/controllers/pod-set/ranking.ts';
import { aPodOf, aPodSet, NOW_MS, type OwnedPodBuilder } from '../support/pod-sets.ts';

const pod = (name: string) => aPodOf(aPodSet(), name);

/** The names of those that go, the first to go first. */
function deleted(pods: readonly OwnedPodBuilder[], excess: number): readonly string[] {
  const views = pods.map(({ view }) => view);
  return podsToDelete(views, excess, NOW_MS).map(({ name }) => name);
}

const HOUR_S = 3600;

/** In each pair the first one goes first: by its rule, although every rule that comes later says otherwise. */
const PAIRS: readonly (readonly [string, OwnedPodBuilder, OwnedPodBuilder])[] = [
  [
    'that is not scheduled before one that is',
    pod('z')
      .unscheduled()
      .costing('9')
      .createdAgo(9 * HOUR_S),
    pod('a').notReady().costing('-9').restarted(9).createdAgo(1),
  ],
  [
    'that is Pending before one that is Running',
    pod('z')
      .inPhase('Pending')
      .costing('9')
      .createdAgo(9 * HOUR_S),
    pod('a').notReady().costing('-9').restarted(9).createdAgo(1),
  ],
  [
    'that is not Ready before one that is',
    pod('z')
      .notReady()
      .costing('9')
      .createdAgo(9 * HOUR_S),
    pod('a').readyFor(1).costing('-9').restarted(9).createdAgo(1),
  ],
  [
    'that costs less before one that costs more',
    pod('z')
      .costing('-1')
      .readyFor(9 * HOUR_S)
      .createdAgo(9 * HOUR_S),
    pod('a').costing('0').readyFor(1).restarted(9).createdAgo(1),
  ],
  [
    'that became Ready later before one that has long been',
    pod('z')
      .readyFor(60)
      .createdAgo(9 * HOUR_S),
    pod('a').readyFor(HOUR_S).restarted(9).createdAgo(1),
  ],
  [
    'that was restarted more often before one that was less',
    pod('z')
      .restarted(2)
      .createdAgo(9 * HOUR_S),
    pod('a').restarted(1).createdAgo(1),
  ],
  ['that is newer before one that is older', pod('z').createdAgo(60), pod('a').createdAgo(HOUR_S)],
];

describe('of Pods that are too many', () => {
  it.each(PAIRS)('one goes %s', (_, goes, stays) => {
    expect(deleted([stays, goes], 1)).toEqual(['z']);
    expect(deleted([goes, stays], 1)).toEqual(['z']);
  });

  it('one goes that shares its node with others before one that has a node to itself', () => {
    const shared = [
      pod('y').on('n'),
      pod('z')
        .on('n')
        .readyFor(9 * HOUR_S),
    ];
    expect(deleted([pod('a').on('m').readyFor(1), ...shared], 2)).toEqual(['y', 'z']);
  });

  it('ages count in powers of two: within one it is chance, which is the UID', () => {
    // Of nanoseconds: 2 ** 41 are 2,199 s, and 2 ** 42 are 4,398 s.
    const older = pod('a').readyFor(4200).createdAgo(4200);
    const newer = pod('z').readyFor(3900).createdAgo(3900);
    expect(deleted([newer, older], 1)).toEqual(['a']);
  });

  it('one goes that comes from the future, where the clocks differ', () => {
    expect(deleted([pod('a').createdAgo(60), pod('z').createdAgo(-60)], 1)).toEqual(['z']);
    expect(deleted([pod('z').createdAgo(0), pod('a').createdAgo(-60)], 1)).toEqual(['a']);
  });

  it('one goes whose sidecars were restarted more often', () => {
    const [often, newer] = [pod('z').createdAgo(9 * HOUR_S).view, pod('a').createdAgo(1).view];
    const names = podsToDelete([newer, { ...often, sidecarRestarts: 1 }], 1, NOW_MS).map(({ name }) => name);
    expect(names).toEqual(['z']);
  });

  it('one goes of which nobody knows since when it is Ready, or there', () => {
    const [newer, unknown] = [pod('a').readyFor(1).createdAgo(1).view, pod('z').readyFor(1).view];
    const goes = (view: PodOfSet) => podsToDelete([newer, view], 1, NOW_MS).map(({ name }) => name);
    expect(goes({ ...unknown, readySinceMs: 0 })).toEqual(['z']);
    expect(goes({ ...unknown, readySinceMs: newer.readySinceMs, createdAtMs: 0 })).toEqual(['z']);
  });

  it('it is always the same ones, in whatever order they were listed', () => {
    const pods = ['d', 'b', 'a', 'c'].map((name) => pod(name));
    expect(deleted(pods, 2)).toEqual(['a', 'b']);
    expect(deleted([...pods].reverse(), 2)).toEqual(['a', 'b']);
  });

  it.each(['+5', '05', '1.5', 'much', '', '2147483648', '-2147483649'])('a cost of "%s" is none', (cost) => {
    expect(pod('a').costing(cost).view.deletionCost).toBe(0);
  });

  it.each([
    ['-2147483648', -2147483648],
    ['2147483647', 2147483647],
    ['0', 0],
  ])('a cost of "%s" counts', (cost, counts) => {
    expect(pod('a').costing(cost).view.deletionCost).toBe(counts);
  });
});
