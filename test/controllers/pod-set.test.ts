import { describe, expect, it } from '@jest/globals';
import type { Condition } from '../../src/controllers/condition.ts';
import { RECONCILE_REQUESTED_ANNOTATION } from '../../src/contract/control.ts';
import { podSet as controller } from '../../src/controllers/pod-set/controller.ts';
import { decidePodSet, type Observation, type UpdateStatus } from '../../src/controllers/pod-set/decide.ts';
import { desiredPod } from '../../src/controllers/pod-set/pod.ts';
import { newsIn } from '../../src/watcher/evaluation.ts';
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
const podsNamed = (count: number) => Array.from({ length: count }, (_, i) => pod(`p-${i}`));

type Rest = Partial<Omit<Observation, 'podSet' | 'pods'>>;

/** The PodSet, its Pods, and what else is known. */
function decide(podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[], rest: Rest = {}) {
  const views = pods.map(({ view }) => view);
  return decidePodSet({ podSet: podSet.view, pods: views, lookedFor: [], ...rest }, NOW_MS);
}

/** The PodSet with a status that is up to date with these Pods, if it waits for nothing else. */
function settled(podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[], rest: Rest = {}): PodSetBuilder {
  const step = decide(podSet, pods, rest);
  return step.do === 'updateStatus' ? podSet.withStatus(step.status) : podSet;
}

function updateOf(podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[], rest: Rest = {}): UpdateStatus {
  const step = decide(podSet, pods, rest);
  if (step.do !== 'updateStatus') throw new Error(`the status is not updated, but: ${step.do}`);
  return step;
}

const statusOf = (...about: Parameters<typeof updateOf>) => updateOf(...about).status;
const namesIn = (pods: readonly { readonly name: string }[]) => pods.map(({ name }) => name);

describe('the Pods of a PodSet', () => {
  it('are created where there are too few, all that are missing', () => {
    expect(decide(set.wanting(3), [])).toEqual({
      do: 'createPods',
      because: 'there are 0 Pods, and spec.replicas is 3',
      writes: 3,
      count: 3,
      replicas: 3,
    });
    expect(decide(set.wanting(3), [pod('a')])).toMatchObject({ do: 'createPods', count: 2 });
  });

  it('are deleted where there are too many, as many as are too many', () => {
    expect(decide(set.wanting(1), [pod('a'), pod('b'), pod('c').pending()])).toMatchObject({
      do: 'deletePods',
      because: 'there are 3 Pods, and spec.replicas is 1',
      writes: 2,
      count: 2,
      what: 'Pod',
      pods: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
    });
  });

  it.each([
    ['finished', pod('a').failed()],
    ['successfully finished', pod('a').succeeded()],
    ['being deleted', pod('a').beingDeleted()],
    ['of an unknown phase', pod('a').inPhase('Unknown')],
    ['of another controller', pod('a').foreign()],
    ['of an earlier PodSet of the same name', pod('a').ofAPredecessor()],
  ])('do not count where they are %s', (_, other) => {
    expect(decide(set, [other])).toMatchObject({ do: 'createPods', count: 1 });
  });

  it('are never deleted where they are another controller’s, or are being deleted already', () => {
    const others = [pod('a').foreign(), pod('b').ofAPredecessor(), pod('c').beingDeleted()];
    const podSet = settled(set.wanting(0), others);
    expect(decide(podSet, others)).toMatchObject({ do: 'converged' });
  });

  it('have the labels, the owner and the container that are promised', () => {
    expect(desiredPod({ namespace: 'shop', name: 'web', uid: 'u' }, 'web-pod-x')).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        namespace: 'shop',
        name: 'web-pod-x',
        generateName: 'web-pod-',
        labels: { app: 'web', version: 'v0.1' },
        ownerReferences: [
          {
            apiVersion: 'batch.tutorial.kubebuilder.io/v1',
            kind: 'PodSet',
            name: 'web',
            uid: 'u',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: {
        nodeSelector: { 'kubernetes.io/os': 'linux' },
        containers: [{ name: 'busybox', image: 'busybox', command: ['sleep', '3600'] }],
      },
    });
  });
});

describe('a Pod with the labels and without a controller', () => {
  it('is adopted, before anything is created or deleted', () => {
    expect(decide(set.wanting(2), [pod('a').orphaned(), pod('b')])).toMatchObject({
      do: 'adoptPods',
      writes: 1,
      pods: [{ name: 'a' }],
    });
  });

  it.each([
    ['being deleted', pod('a').orphaned().beingDeleted()],
    ['finished', pod('a').orphaned().failed()],
  ])('is left alone while it is %s', (_, orphan) => {
    expect(decide(set, [orphan])).toMatchObject({ do: 'createPods', count: 1 });
  });

  it('is not adopted by a PodSet that is being deleted', () => {
    expect(decide(set.beingDeleted(), [pod('a').orphaned()]).do).toBe('converged');
  });
});

describe('a Pod that has lost the labels', () => {
  const lost = pod('a').relabelled();

  it('is looked for by name where the status names it and it is not among those with the labels', () => {
    const podSet = set.withStatus({ podNames: ['a', 'b'] });
    const because = "the status names 1 Pod that does not have the PodSet's labels";
    expect(decide(podSet, [pod('b')])).toMatchObject({ do: 'observe', because, names: ['a'] });
  });

  it('is looked for once', () => {
    const podSet = set.withStatus({ podNames: ['a'] });
    expect(decide(podSet, [], { lookedFor: ['a'] })).toMatchObject({ do: 'createPods', count: 1 });
  });

  it.each([
    ['Pods are missing', set.wanting(2), {}],
    ['creating is refused', set.wanting(2), failing('no')],
    ['the spec is invalid', set.wanting(-1), {}],
  ])('is released before the status forgets it, also where %s', (_, podSet, rest) => {
    const known = podSet.withStatus({ podNames: ['a'] });
    expect(decide(known, [], rest).do).toBe('observe');
    expect(decide(known, [lost], rest)).toMatchObject({
      do: 'releasePods',
      writes: 1,
      pods: [{ name: 'a' }],
    });
  });

  it('is left alone while it is being deleted', () => {
    expect(decide(set, [lost.beingDeleted()])).toMatchObject({ do: 'createPods', count: 1 });
  });

  it('is not touched where it is another’s', () => {
    const others = [lost.foreign(), lost.named('b').orphaned()];
    expect(decide(set, others)).toMatchObject({ do: 'createPods', count: 1 });
  });
});

describe('finished Pods', () => {
  const failed = (name: string, secondsAgo: number) => pod(name).failed().createdAgo(secondsAgo);
  const failedPods = (count: number, newestSecondsAgo: number) =>
    Array.from({ length: count }, (_, i) => failed(`f-${i}`, newestSecondsAgo + i));

  it('are replaced at once the first time', () => {
    expect(decide(set, [failed('a', 1)])).toMatchObject({ do: 'createPods', count: 1 });
  });

  it.each([
    [2, 10],
    [3, 30],
    [4, 90],
    [5, 300],
  ])('are replaced, where %i of them are recent, %i s after the newest was created', (count, pauseS) => {
    const pods = failedPods(count, 4);
    const rest = decide(settled(set, pods), pods);
    expect(rest).toMatchObject({
      do: 'wait',
      for: 'the pause after failed Pods to end',
      recheckMs: (pauseS - 4) * 1000,
      event: { type: 'Warning', reason: 'PodsFailed', occasion: 'uid-of-f-0' },
    });
    expect(decide(settled(set, pods), failedPods(count, pauseS))).toMatchObject({
      do: 'createPods',
      count: 1,
    });
  });

  it('are replaced at once, however many, where they were evicted after a minute, and not where their node turned them away', () => {
    const evicted = (seconds: number, more = {}) =>
      failedPods(5, 4).map((each) => each.evictedAfter(seconds, more));
    expect(decide(settled(set, evicted(61)), evicted(61))).toMatchObject({ do: 'createPods', count: 1 });
    for (const pods of [evicted(59), evicted(61, { turnedAway: true })])
      expect(decide(settled(set, pods), pods).do).toBe('wait');
  });

  it('end the pause where somebody asks for a reconcile, until others fail', () => {
    const requested = (secondsAgo: number) =>
      set.annotated({
        [RECONCILE_REQUESTED_ANNOTATION]: new Date(NOW_MS - secondsAgo * 1_000).toISOString(),
      });
    const pods = failedPods(5, 4);
    expect(decide(settled(requested(2), pods), pods)).toMatchObject({ do: 'createPods', count: 1 });
    const later = [...pods.slice(0, 3), failed('g', 1), failed('h', 1)];
    expect(decide(settled(requested(2), later), later)).toMatchObject({ do: 'wait', recheckMs: 9_000 });
  });

  it('end the pause where a person deletes them', () => {
    const pods = failedPods(5, 1);
    const podSet = settled(set, pods);
    expect(decide(podSet, pods).do).toBe('wait');
    const deleted = pods.map((each) => each.beingDeleted());
    expect(decide(podSet, deleted)).toMatchObject({ do: 'createPods', count: 1 });
    expect(decide(podSet, [])).toMatchObject({ do: 'createPods', count: 1 });
  });

  it('do not keep the status from saying during the pause that another Pod is gone', () => {
    const pods = failedPods(5, 1);
    const podSet = settled(set.wanting(2), [...pods, pod('a')]);
    expect(decide(podSet, [...pods, pod('a')]).do).toBe('wait');
    const step = decide(podSet, [...pods, pod('a').beingDeleted()]);
    expect(step).toMatchObject({ do: 'updateStatus', status: { podNames: [], readyReplicas: 0 } });
  });

  it('of the future, as a clock may have it, make nobody wait longer', () => {
    const pods = [failed('a', -3600), failed('b', -3600)];
    expect(decide(settled(set, pods), pods)).toMatchObject({ do: 'wait', recheckMs: 10_000 });
  });

  it('do not keep surplus Pods from being deleted', () => {
    const pods = [failed('a', 1), failed('b', 1), pod('c')];
    expect(decide(set.wanting(0), pods)).toMatchObject({ do: 'deletePods', count: 1, pods: [{ name: 'c' }] });
  });
});

describe('the status', () => {
  it('names the available Pods, sorted, and counts them', () => {
    const pods = [
      pod('b').pending().unscheduled(),
      pod('a'),
      pod('c').beingDeleted(),
      pod('d').failed(),
      pod('e').foreign(),
    ];
    expect(statusOf(set.wanting(2).ofGeneration(7), pods)).toMatchObject({
      podNames: ['a', 'b'],
      readyReplicas: 2,
      selector: 'app=web,version=v0.1',
      observedGeneration: 7,
    });
  });

  it('is not written where it is up to date, whatever the order of its fields', () => {
    const podSet = settled(set, [pod('a')]);
    expect(decide(podSet, [pod('a')]).do).toBe('converged');
    const { status = {} } = podSet.object;
    const backwards = Object.fromEntries(Object.entries(status).reverse());
    expect(decide(set.withStatus(backwards), [pod('a')]).do).toBe('converged');
  });

  it('keeps the time of a condition that stays, and conditions of others', () => {
    const since = '2025-12-31T00:00:00Z';
    const ready = {
      type: 'Ready',
      status: 'True',
      observedGeneration: 1,
      reason: 'R',
      message: 'm',
    } as const;
    const podSet = set
      .withCondition({ ...ready, lastTransitionTime: since })
      .withCondition({ ...ready, type: 'Theirs', lastTransitionTime: since });
    const { conditions } = statusOf(podSet, [pod('a')]);
    expect(conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
      ['Ready', since],
      ['Stalled', '2026-01-01T12:00:00Z'],
      ['Reconciling', '2026-01-01T12:00:00Z'],
      ['Theirs', since],
    ]);
  });
});

describe('while many Pods are created or deleted, the status', () => {
  const settledAt = (count: number) => settled(set.wanting(count), podsNamed(count));
  const stepsAt = (podSet: PodSetBuilder, counts: readonly number[]) => {
    const lookedFor = namesIn(podSet.view.status.podNames.map((name) => ({ name })));
    return counts.map((count) => decide(podSet, podsNamed(count), { lookedFor }).do);
  };

  it('is written when there are a hundred more, and twice as many as it names', () => {
    expect(stepsAt(set.wanting(999), [99, 100])).toEqual(['createPods', 'updateStatus']);
    expect(stepsAt(settledAt(4).wanting(999), [103, 104])).toEqual(['createPods', 'updateStatus']);
    expect(stepsAt(settledAt(150).wanting(999), [299, 300])).toEqual(['createPods', 'updateStatus']);
  });

  it('is written when it names a hundred that are gone, each of which would be looked for', () => {
    expect(stepsAt(settledAt(300).wanting(0), [201, 200])).toEqual(['deletePods', 'updateStatus']);
  });

  it('uses the same words for as many Pods as for few, so that conditions are not written each time', () => {
    const conditionsOf = (count: number) => statusOf(set.wanting(999), podsNamed(count)).conditions;
    expect(conditionsOf(100)).toEqual(conditionsOf(200));
  });
});

describe('the status of a PodSet of 20,000', () => {
  const named = (name: string, createdAgo: number) => pod(name).createdAgo(createdAgo);
  const MANY = Array.from({ length: 20_000 }, (_, i) =>
    named(`web-pod-${String(i).padStart(5, '0')}`, i % 6_000),
  );
  const podSet = set.wanting(20_000);
  const settledMany = settled(podSet, MANY);
  const { podNames } = settledMany.view.status;

  it('counts all Pods, and names the 1,000 oldest', () => {
    expect(settledMany.view.status.readyReplicas).toBe(20_000);
    const oldest = [...MANY]
      .map(({ view }) => view)
      .sort((a, b) => a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1))
      .slice(0, 1_000);
    expect(podNames).toEqual(namesIn(oldest).sort());
    expect(decide(settledMany, MANY.toReversed()).do).toBe('converged');
  });

  it('names the same ones while younger Pods come and go', () => {
    const others = [...MANY.slice(0, 5_000), named('web-pod-new', 0), ...MANY.slice(5_001)];
    expect(decide(settledMany, others).do).toBe('converged');
    expect(
      updateOf(settledMany.wanting(20_001).ofGeneration(2), [...MANY, named('new', 0)]).status.podNames,
    ).toEqual(podNames);
  });

  it('names the Pods to release before all others, however young', () => {
    const lost = [named('lost-1', 0), named('lost-2', 0)].map((each) => each.relabelled());
    const refused = { failure: { step: 'releasePods', refusal: 'no' } } as const;
    const status = statusOf(settledMany, [...MANY, ...lost], refused);
    expect(status.podNames).toEqual(expect.arrayContaining(['lost-1', 'lost-2']));
    expect(status.podNames).toHaveLength(1_000);
  });

  it('fits into an object of 1 MiB, with names and messages as long as there can be', () => {
    const longest = Array.from({ length: 1_500 }, (_, i) => pod(String(i).padStart(253, 'n')));
    const status = statusOf(set.wanting(20_000), longest, failing('😀'.repeat(40_000)));
    expect(Buffer.byteLength(JSON.stringify(status))).toBeLessThan(2 ** 20);
  });

  it('is written a few times on the way up and down, not once a step', () => {
    const writesAlong = (replicas: number, counts: readonly number[], from: PodSetBuilder) => {
      let known = from.wanting(replicas);
      const written = counts.filter((count) => {
        const step = decide(known, MANY.slice(-count), { lookedFor: known.view.status.podNames });
        if (step.do === 'updateStatus') known = known.withStatus(step.status);
        return step.do === 'updateStatus';
      });
      return written.length;
    };
    const up = Array.from({ length: 133 }, (_, i) => (i + 1) * 150);
    expect(writesAlong(20_000, up, set)).toBeLessThan(15);
    expect(writesAlong(0, up.toReversed(), settledMany)).toBeLessThan(25);
  });

  it('says why it is written where it names the same Pods', () => {
    const fewer = MANY.filter((_, i) => i % 6_000 >= 1_000);
    const because = `${fewer.length} Pods are available, but the status counts 20000`;
    expect(updateOf(settledMany.wanting(fewer.length), fewer).because).toBe(because);
  });
});

describe('where the server refuses to create Pods, the status', () => {
  const refusal = 'POST pods: 403 pods "web-pod-x" is forbidden: exceeded quota: few, used: pods=1';

  it('takes that back once the Pods are there', () => {
    const written = settled(set.wanting(2), [pod('a')], failing(refusal));
    expect(statusOf(written, [pod('a'), pod('b')]).conditions).toMatchObject([
      { type: 'Ready', status: 'True' },
      { type: 'Stalled', status: 'False' },
      { type: 'Reconciling', status: 'False', reason: 'UpToDate' },
    ]);
  });
});

describe('a status that somebody has written by hand', () => {
  it('may have a condition without a message', () => {
    const odd = { type: 'Stalled', status: 'True', observedGeneration: 1, reason: 'CreateFailed' } as const;
    const podSet = set.withCondition({ ...odd, lastTransitionTime: '2026-01-01T00:00:00Z' } as Condition);
    expect(statusOf(podSet, [], failing('no')).conditions[1]).toMatchObject({
      ...odd,
      message: 'no; change what refuses it, and then retry',
    });
  });

  it('has no more of a refusal than a condition may hold', () => {
    const { conditions } = statusOf(set, [], failing('😀'.repeat(40_000)));
    expect(conditions[1]?.message).toBe('😀'.repeat(32_768));
  });
});

describe('a PodSet with an invalid spec', () => {
  it('says that its name is longer than a label’s value may be', () => {
    const note = expect.stringContaining('has 64 characters, but at most 63 are allowed');
    // The API server would refuse the status.
    expect(decide(aPodSet().named('n'.repeat(64)), [])).toMatchObject({
      do: 'stalled',
      message: note,
      event: { type: 'Warning', reason: 'InvalidSpec', action: 'Reconcile', note },
    });
    expect(decide(aPodSet().named('n'.repeat(63)), [])).toMatchObject({ do: 'createPods' });
  });
});

describe('a PodSet that is gone or going', () => {
  it('gets no Pods, and loses none by us', () => {
    for (const pods of [[], [pod('a'), pod('b')]]) {
      expect(decide(set.beingDeleted(), pods)).toEqual({
        do: 'converged',
        because: 'the PodSet is being deleted',
      });
      const views = pods.map(({ view }) => view);
      expect(decidePodSet({ podSet: 'gone', pods: views, lookedFor: [] }, NOW_MS).do).toBe('converged');
    }
  });
});

describe('what the watcher knows', () => {
  const [watched] = controller.children;
  const viewOf = (each: OwnedPodBuilder) => watched?.view(each.object);
  const ownerOf = (each: OwnedPodBuilder) => watched?.ownerKey(each.object);
  const decideInWatcher = (podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[]) => {
    const primary = controller.primary.view(podSet.object);
    if (primary === undefined) throw new Error('of no interest');
    const views = pods.map(viewOf).filter((view) => view !== undefined);
    return controller.decide(controller.observation(primary, views, podSet.object.metadata), NOW_MS);
  };

  it('is what a list by labels shows: Pods with the labels that are its own or nobody’s', () => {
    expect(watched?.labelSelector).toBe('version=v0.1,app');
    expect([pod('a'), pod('a').orphaned()].map(ownerOf)).toEqual(['default/web', 'default/web']);
    expect(viewOf(pod('a'))).toEqual(pod('a').view);
    for (const other of [pod('a').foreign(), pod('a').relabelled(), pod('a').foreign().relabelled()])
      expect([viewOf(other), ownerOf(other)]).toEqual([undefined, undefined]);
  });

  it('shows the end of a pause, at which an open run is signalled', () => {
    const failed = [1, 2, 3, 4, 5].map((age) => pod(`f-${age}`).failed().createdAgo(age));
    const podSet = settled(set.wanting(2), [...failed, pod('a')]);
    const reported = { inputs: '', rest: 'a rest', current: false };
    const newsOf = (pods: readonly OwnedPodBuilder[]) =>
      newsIn({ decision: decideInWatcher(podSet, pods), inputs: '' }, reported);
    expect(newsOf([...failed, pod('a')])).toBe('none');
    const deletedByHand = failed.map((each) => each.beingDeleted());
    const evicted = pod('a').failed();
    expect(newsOf([...deletedByHand, pod('a')])).toBe('now');
    expect(newsOf([...failed, evicted])).toBe('now');
  });

  it('does not mistake the Pods of an earlier PodSet of the same name for its own', () => {
    expect(decideInWatcher(settled(set.wanting(0), []), [pod('a').ofAPredecessor()]).do).toBe('converged');
  });
});
