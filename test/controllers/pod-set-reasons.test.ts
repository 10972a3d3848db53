import { describe, expect, it } from '@jest/globals';
import { decidePodSet, type Observation } from '../../src/controllers/pod-set/decide.ts';
import { reasonOf } from '../../src/contract/decision.ts';
import { aPodOf, aPodSet, NOW_MS, type OwnedPodBuilder, type PodSetBuilder } from '../support/pod-sets.ts';

const set = aPodSet();
const pod = (name: string) => aPodOf(set, name);
const failed = (name: string, secondsAgo: number) => pod(name).failed().createdAgo(secondsAgo);

function decide(podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[], rest: Partial<Observation> = {}) {
  const views = pods.map(({ view }) => view);
  return decidePodSet({ podSet: podSet.view, pods: views, lookedFor: [], ...rest }, NOW_MS);
}

/** With a status that is up to date. */
function settled(podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[]): PodSetBuilder {
  const step = decide(podSet, pods);
  return step.do === 'updateStatus' ? podSet.withStatus(step.status) : podSet;
}

const naming = (...podNames: string[]) => set.withStatus({ podNames });
const lost = (name: string) => pod(name).relabelled();
const orphan = (name: string) => pod(name).orphaned();
const six = [1, 2, 3, 4, 5, 6].map((age) => failed(`f-${age}`, age * 100));

/** History keeps it, and the Temporal UI shows it beside each step. */
describe('the reason of a decision', () => {
  it.each<[because: string, podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[]]>([
    ['there are 0 Pods, and spec.replicas is 1', set, []],
    ['there is 1 Pod, and spec.replicas is 2', set.wanting(2), [pod('a')]],
    ['there is 1 Pod, and spec.replicas is 0', set.wanting(0), [pod('a')]],
    ['1 Pod lost the labels of the PodSet', set, [lost('a')]],
    ['2 Pods lost the labels of the PodSet', set, [lost('a'), lost('b')]],
    ['1 Pod with the labels of the PodSet has no controller', set, [orphan('a')]],
    ['2 Pods with the labels of the PodSet have no controller', set, [orphan('a'), orphan('b')]],
    ["the status names 1 Pod that does not have the PodSet's labels", naming('a'), []],
    ["the status names 2 Pods that do not have the PodSet's labels", naming('a', 'b'), []],
    ['only the 5 newest failed Pods are kept', set.wanting(0), six],
    ['its Pods and its status are up to date', settled(set, [pod('a')]), [pod('a')]],
    ['2 Pods are available, but the status names 1', naming('a').wanting(2), [pod('a'), pod('b')]],
  ])('is that %s', (because, podSet, pods) => {
    expect(reasonOf(decide(podSet, pods))).toBe(because);
  });

  it('is that the PodSet is gone', () => {
    expect(decidePodSet({ podSet: 'gone', pods: [], lookedFor: [] }, NOW_MS)).toEqual({
      do: 'converged',
      because: 'the PodSet is gone, or its namespace is being deleted',
    });
  });

  it('is that the status is incomplete', () => {
    const { selector, ...status } = settled(set, [pod('a')]).view.status;
    expect(selector).toBeDefined();
    expect(reasonOf(decide(set.withStatus(status), [pod('a')]))).toBe('the status is incomplete');
  });
});

describe('the Event of a pause after failed Pods', () => {
  it('is of the newest of them, and says how to look into it', () => {
    const pods = [failed('old', 5), failed('new', 4)];
    expect(decide(settled(set, pods), pods)).toMatchObject({
      do: 'wait',
      event: {
        type: 'Warning',
        reason: 'FailedPods',
        action: 'Create',
        note: 'Pods failed; they are replaced after a pause that grows each time. To see why they failed: kubectl describe pods --selector app=web --namespace default',
        occasion: 'uid-of-new',
      },
    });
  });

  it('is of the first by name where several are as new, in whatever order they are listed', () => {
    const pods = [failed('b', 4), failed('a', 4)];
    for (const listed of [pods, [...pods].reverse()])
      expect(decide(settled(set, pods), listed)).toMatchObject({ event: { occasion: 'uid-of-a' } });
  });
});

describe('failed Pods', () => {
  it('count for the pause where they were created within half an hour', () => {
    expect(decide(set, [failed('a', 1800), failed('b', 1)])).toMatchObject({ do: 'createPods' });
    const pods = [failed('a', 1799), failed('b', 1)];
    expect(decide(settled(set, pods), pods)).toMatchObject({ do: 'wait', atMostMs: 9_000 });
  });

  it('are kept by their name where they are as new, in whatever order they are listed', () => {
    const pods = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => failed(name, 4));
    for (const listed of [pods, [...pods].reverse()])
      expect(decide(set.wanting(0), listed)).toMatchObject({ do: 'deletePods', pods: [{ name: 'f' }] });
  });
});

describe('a refusal to create Pods', () => {
  it('is no reason to write the status before Pods are deleted', () => {
    const refusal = 'POST pods: 403 exceeded quota';
    expect(decide(set.wanting(0), [pod('a')], { refusal })).toMatchObject({ do: 'deletePods' });
  });
});
