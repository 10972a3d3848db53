import { describe, expect, it } from '@jest/globals';
import type { Condition } from '../../src/controllers/condition.ts';
import { decidePodSet, type Observation } from '../../src/controllers/pod-set/decide.ts';
import { isRefusalReported, type StepFailure } from '../../src/controllers/pod-set/status.ts';
import { reasonOf } from '../../src/contract/decision.ts';
import {
  aPodOf,
  aPodSet,
  failing,
  NOW_MS,
  type OwnedPodBuilder,
  type PodSetBuilder,
} from '../support/pod-sets.ts';

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
/** What the status says where the server says no. */
const NO = 'no; change what refuses it, and then retry';
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

  it('is that the status is incomplete', () => {
    const { selector, ...status } = settled(set, [pod('a')]).view.status;
    expect(selector).toBeDefined();
    expect(reasonOf(decide(set.withStatus(status), [pod('a')]))).toBe('the status is incomplete');
  });
});

describe('the conditions', () => {
  const conditionsOf = (podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[], refusal?: string) => {
    const step = decide(podSet, pods, refusal === undefined ? {} : failing(refusal));
    if (step.do !== 'updateStatus') throw new Error(step.do);
    return step.status.conditions.map(({ type, status, reason, message }) => [type, status, reason, message]);
  };
  const many = (count: number) => Array.from({ length: count }, (_, i) => pod(`p-${i}`));
  const NOT_STALLED = ['Stalled', 'False', 'NotStalled', ''];

  it.each<[reason: string, status: string, message: string, podSet: PodSetBuilder, OwnedPodBuilder[]]>([
    ['PodsReady', 'True', 'all desired Pods exist and are Ready', set, [pod('a')]],
    [
      'PodsStarting',
      'False',
      'all desired Pods exist, but some are not Ready yet',
      set.wanting(2),
      [pod('a'), pod('b').unreadyFor(59)],
    ],
    ['PodsMissing', 'False', 'some Pods have not been created yet', set.wanting(999), many(100)],
    ['PodsSurplus', 'False', 'there are more Pods than spec.replicas', set.wanting(1), many(100)],
    [
      'PodsFailed',
      'False',
      'Pods failed, and are replaced after a pause that grows each time',
      set,
      [failed('a', 1), failed('b', 1)],
    ],
  ])('say %s, and what that means', (reason, status, message, podSet, pods) => {
    const reconciling =
      status === 'True' ? ['Reconciling', 'False', 'UpToDate', ''] : ['Reconciling', 'True', reason, message];
    expect(conditionsOf(podSet, pods)).toEqual([
      ['Ready', status, reason, message],
      NOT_STALLED,
      reconciling,
    ]);
  });

  it('say that the server refuses to create Pods, in its words, and what to do', () => {
    const refusal = 'POST pods: 403 exceeded quota';
    const advice = 'raise the quota of namespace default, or ask for less';
    expect(conditionsOf(set.wanting(2), [pod('a')], refusal)).toEqual([
      ['Ready', 'False', 'CreateFailed', `Pods are missing: ${refusal}; ${advice}`],
      ['Stalled', 'True', 'CreateFailed', `${refusal}; ${advice}`],
      ['Reconciling', 'False', 'Stalled', ''],
    ]);
  });

  it('say of surplus Pods that the server refuses to delete them', () => {
    expect(decide(set.wanting(0), [pod('a')], failing('no', 'deletePods'))).toMatchObject({
      status: {
        conditions: [{ type: 'Ready', message: `there are more Pods than spec.replicas: ${NO}` }, {}, {}],
      },
    });
  });

  it('say the same of an invalid spec as its Event', () => {
    const invalid = 'spec.replicas is -1, but must be an integer from 0 to 2147483647';
    expect(conditionsOf(set.wanting(-1), [])).toEqual([
      ['Ready', 'False', 'InvalidSpec', invalid],
      ['Stalled', 'True', 'InvalidSpec', invalid],
      ['Reconciling', 'False', 'Stalled', ''],
    ]);
  });

  it('keep the words of a refusal of the same kind, and of Stalled alone', () => {
    const [first, again] = ['"web-x": used 1', '"web-yy": used 22'];
    const stalled = conditionsOf(set.wanting(2), [], first);
    expect(stalled[1]?.[3]).toMatch(first);
    const written = decide(set.wanting(2), [], failing(first));
    if (written.do !== 'updateStatus') throw new Error(written.do);
    const known = set.wanting(2).withStatus(written.status);
    expect(conditionsOf(known, [pod('a')], again)[1]?.[3]).toMatch(first);
    expect(conditionsOf(known, [pod('a')], 'another')[1]?.[3]).toMatch(/^another; /);
    const theirs = { ...written.status.conditions[1], type: 'Theirs' };
    const other = set.wanting(2).withStatus({ conditions: [theirs as Condition] });
    expect(conditionsOf(other, [], again)[1]?.[3]).toMatch(again);
  });
});

describe('the reason to write the status', () => {
  it('is the first condition that has changed', () => {
    const known = settled(set, [pod('a')]);
    const { conditions } = known.view.status;
    const because = (change: Partial<Condition>) =>
      reasonOf(
        decide(known.withStatus({ conditions: conditions.map((each) => ({ ...each, ...change })) }), [
          pod('a'),
        ]),
      );
    expect(because({ message: 'odd' })).toBe('Ready is True: PodsReady');
    expect(because({ reason: 'Odd' })).toBe('Ready is True: PodsReady');
    expect(because({ observedGeneration: 0 })).toBe('Ready is True: PodsReady');
    const changed = known.withStatus({
      conditions: conditions.map((each) => (each.type === 'Stalled' ? { ...each, message: 'odd' } : each)),
    });
    expect(reasonOf(decide(changed, [pod('a')]))).toBe('Stalled is False: NotStalled');
  });

  it('is that the spec changed, where nothing else has', () => {
    expect(reasonOf(decide(settled(set, [pod('a')]).ofGeneration(2), [pod('a')]))).toBe('the spec changed');
  });
});

describe('the Event of a pause after failed Pods', () => {
  it('is of the newest of them, and says how to look into it', () => {
    const pods = [failed('old', 5), failed('new', 4)];
    expect(decide(settled(set, pods), pods)).toMatchObject({
      do: 'wait',
      event: {
        type: 'Warning',
        reason: 'PodsFailed',
        action: 'Create',
        note: 'Pods failed, and are replaced after a pause that grows each time',
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
    expect(decide(settled(set, pods), pods)).toMatchObject({ do: 'wait', recheckMs: 9_000 });
  });

  it('are kept by their name where they are as new, in whatever order they are listed', () => {
    const pods = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => failed(name, 4));
    for (const listed of [pods, [...pods].reverse()])
      expect(decide(set.wanting(0), listed)).toMatchObject({ do: 'deletePods', pods: [{ name: 'f' }] });
  });
});

describe('a step that the server refuses', () => {
  it.each<[reason: string, step: StepFailure['step'], podSet: PodSetBuilder, pods: OwnedPodBuilder[]]>([
    ['CreateFailed', 'createPods', set, []],
    ['DeleteFailed', 'deletePods', naming('a').wanting(0), [pod('a')]],
    ['DeleteFailed', 'deletePods', set.wanting(0), six],
    ['AdoptFailed', 'adoptPods', set, [orphan('a')]],
    ['ReleaseFailed', 'releasePods', naming('a'), [lost('a')]],
  ])('is %s in the status, in the server’s words, and is then tried again', (reason, step, podSet, pods) => {
    const written = decide(podSet, pods, failing('no', step));
    if (written.do !== 'updateStatus') throw new Error(written.do);
    const stalled = { type: 'Stalled', status: 'True', reason, message: NO };
    expect(written.status.conditions[1]).toMatchObject(stalled);
    expect(written.status).toMatchObject({ observedGeneration: 1, podNames: podSet.view.status.podNames });
    const known = podSet.withStatus(written.status);
    expect(decide(known, pods, failing('no', step)).do).toBe(step);
    expect(decide(known, pods).do).toBe(step);
  });
});

describe('a step of which nobody knows whether it was done', () => {
  it('changes neither of what the names of new Pods follow from', () => {
    const podSet = set
      .wanting(3)
      .ofGeneration(2)
      .withStatus({ podNames: ['a', 'b'], observedGeneration: 1 });
    const rest = { failure: { step: 'createPods' }, lookedFor: ['b'] } as const;
    const step = decide(podSet, [pod('a')], rest);
    if (step.do !== 'updateStatus') throw new Error(step.do);
    expect(Object.keys(step.status).sort()).toEqual(['conditions', 'readyReplicas']);
    expect(step.status).toMatchObject({ readyReplicas: 1, conditions: [{ reason: 'PodsMissing' }, {}, {}] });
    const known = podSet.withStatus({ ...podSet.view.status, ...step.status });
    expect(decide(known, [pod('a')], rest).do).toBe('createPods');
  });

  it('leaves a status alone that would be Ready of a generation which it may not observe yet', () => {
    const podSet = settled(set, [pod('a')]).ofGeneration(2);
    const pods = [pod('a'), orphan('b')];
    expect(decide(podSet, pods, { failure: { step: 'adoptPods' } })).toMatchObject({ do: 'adoptPods' });
    expect(decide(podSet, pods, failing('no', 'adoptPods'))).toMatchObject({ do: 'updateStatus' });
  });
});

/** Somebody may have to approve of it first. */
describe('the deletion of surplus Pods', () => {
  it('says how many go, which ones first, and by which generation of the spec', () => {
    const pods = [pod('a'), pod('b').notReady(), pod('c').pending()];
    const step = decide(set.wanting(1).ofGeneration(3), pods);
    if (step.do !== 'deletePods') throw new Error(step.do);
    expect(step.deletes).toMatchObject({ what: 'Pod', count: 2, interchangeable: 'generation 3' });
    expect(step.deletes?.objects().map(({ name }) => name)).toEqual(['c', 'b']);
  });

  it('needs approval for failed Pods, too: for the very ones that are older than those that are kept', () => {
    const plan = (pods: readonly OwnedPodBuilder[]) => {
      const step = decide(set.wanting(0), pods);
      return step.do === 'deletePods' ? step.deletes : undefined;
    };
    const more = [...six, failed('f-7', 700)];
    expect(plan(more)).toMatchObject({ what: 'failed Pod', count: 2 });
    expect(
      plan(more)
        ?.objects()
        .map(({ name }) => name),
    ).toEqual(['f-6', 'f-7']);
    // One of the two is deleted by now; or another Pod has failed since.
    expect(plan(six)?.interchangeable).toBe(plan(more)?.interchangeable);
    expect(plan([failed('new', 1), ...six])?.interchangeable).not.toBe(plan(six)?.interchangeable);
  });
});

describe('a refusal that the status says already', () => {
  const stalled: Condition = {
    type: 'Stalled',
    status: 'True',
    observedGeneration: 2,
    lastTransitionTime: '2026-01-01T00:00:00Z',
    reason: 'CreateFailed',
    message: 'no',
  };
  const reporting = (...conditions: readonly Condition[]) =>
    isRefusalReported(set.ofGeneration(2).withStatus({ conditions }).view, false);
  const ready: Condition = { ...stalled, type: 'Ready', status: 'False' };

  it.each(['CreateFailed', 'DeleteFailed', 'AdoptFailed', 'ReleaseFailed'])(
    'is one that Stalled is True for: %s',
    (reason) => {
      expect(reporting(ready, { ...stalled, reason })).toBe(true);
    },
  );

  it.each<[what: string, conditions: readonly Condition[]]>([
    ['there is no such condition', []],
    ['only another condition has that reason', [{ ...ready, status: 'True' }]],
    ['Stalled is False', [{ ...stalled, status: 'False' }]],
    ['it is of an earlier generation', [{ ...stalled, observedGeneration: 1 }]],
    ['something else is in the way', [{ ...stalled, reason: 'InvalidSpec' }]],
  ])('is none where %s', (_, conditions) => {
    expect(reporting(...conditions)).toBe(false);
  });
});

describe('a refusal to create Pods', () => {
  it('is no reason to write the status before Pods are deleted', () => {
    const refusal = 'POST pods: 403 exceeded quota';
    expect(decide(set.wanting(0), [pod('a')], failing(refusal))).toMatchObject({ do: 'deletePods' });
  });
});
