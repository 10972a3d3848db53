import { describe, expect, it } from '@jest/globals';
import { RECONCILE_REQUESTED_ANNOTATION } from '../../src/api/annotations.ts';
import { definedController } from '../../src/engine/defined-controller.ts';
import { podSet as definition } from '../../src/controllers/pod-set/controller.ts';
import { desiredPod } from '../../src/controllers/pod-set/pod.ts';
import { newsIn } from '../../src/watcher/evaluation.ts';
import {
  aPodOf,
  aPodSet,
  decided,
  heldStatus,
  lookedFor,
  NOW_MS,
  refusedBecause,
  settled,
  statusWrite,
  type Known,
  type OwnedPodBuilder,
  type PodSetBuilder,
} from '../support/pod-sets.ts';
import { statusIn } from '../support/status-write.ts';

const set = aPodSet();
const pod = (name: string) => aPodOf(set, name);
const podsNamed = (count: number) => Array.from({ length: count }, (_, i) => pod(`p-${i}`));
const naming = (...podNames: readonly string[]) => set.withStatus({ podNames });
const namesIn = (pods: readonly { readonly name: string }[]) => pods.map(({ name }) => name);
/** Once the status says what there is. */
const decidedOnce = (podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[], known: Known = {}) =>
  decided(settled(podSet, pods, known), pods, known);

describe('the Pods of a PodSet', () => {
  it('are created where there are too few, all that are missing', () => {
    expect(decided(set.wanting(3), [pod('a')])).toMatchObject({
      do: 'createPods',
      because: 'there is 1 Pod, and spec.replicas is 3',
      writes: 2,
      data: { count: 2, replicas: 3 },
    });
  });

  it('are deleted where there are too many, as many as are too many', () => {
    expect(decided(set.wanting(1), [pod('a'), pod('b'), pod('c').pending()])).toMatchObject({
      do: 'deletePods',
      because: 'there are 3 Pods, and spec.replicas is 1',
      writes: 2,
      data: { what: 'Pod', pods: [{ name: 'c' }, { name: 'a' }], replicas: 1 },
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
    expect(decided(set, [other])).toMatchObject({ do: 'createPods', data: { count: 1 } });
  });

  it('are never deleted where they are another controller’s, or are being deleted already', () => {
    const others = [pod('a').foreign(), pod('b').ofAPredecessor(), pod('c').beingDeleted()];
    expect(decidedOnce(set.wanting(0), others)).toMatchObject({ do: 'converged' });
  });

  it('have the labels, the owner and the container that are promised', () => {
    expect(desiredPod({ namespace: 'shop', name: 'web', uid: 'u' }, 'web-pod-x')).toEqual({
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

  it('are neither created, adopted nor deleted while the PodSet is being deleted', () => {
    for (const pods of [[], [pod('a'), pod('b')], [pod('a').orphaned()]])
      expect(decided(set.beingDeleted(), pods).do).toBe('converged');
  });
});

describe('a Pod with the labels and without a controller', () => {
  it('is adopted, before anything is created or deleted', () => {
    expect(decided(set.wanting(2), [pod('a').orphaned(), pod('b')])).toMatchObject({
      do: 'adoptPods',
      because: '1 Pod with the labels of the PodSet has no controller',
      writes: 1,
      data: [{ name: 'a' }],
    });
  });

  it.each([
    ['being deleted', pod('a').orphaned().beingDeleted()],
    ['finished', pod('a').orphaned().failed()],
  ])('is left alone while it is %s', (_, orphan) => {
    expect(decided(set, [orphan])).toMatchObject({ do: 'createPods', data: { count: 1 } });
  });
});

describe('a Pod that the status names, and that the watch does not show', () => {
  const lost = pod('a').relabelled();
  const WAIT = { do: 'wait', for: 'another look at its Pods', recheckMs: 1_000 };

  it('is looked for before anything else', () => {
    for (const podSet of [naming('a', 'b').wanting(2), naming('a', 'b').wanting(0)])
      expect(decided(podSet, [pod('b')])).toMatchObject({ do: 'observe', lookups: ['named'] });
    expect(decided(naming('b', 'no Pod/s name'), [pod('b')]).do).toBe('updateStatus');
  });

  it('is released where it has lost the labels, before anything else', () => {
    for (const replicas of [0, 2]) {
      const podSet = naming('a').wanting(replicas);
      expect(decided(podSet, [pod('b'), pod('c').orphaned()], lookedFor(['a'], lost))).toMatchObject({
        do: 'releasePods',
        because: '1 Pod lost the labels of the PodSet',
        writes: 1,
        data: [{ name: 'a' }],
      });
    }
  });

  it.each([
    ['it is gone', []],
    ['it is another’s', [lost.foreign()]],
    ['it has no controller', [lost.orphaned()]],
  ])('is not touched where %s', (_, found) => {
    expect(decided(naming('a'), [], lookedFor(['a'], ...found))).toMatchObject({
      do: 'createPods',
      data: { count: 1 },
    });
  });

  it('is waited for where it has the labels after all, or nobody has looked for it', () => {
    for (const known of [lookedFor(['a'], pod('a')), lookedFor([])])
      for (const [podSet, pods] of [
        [naming('a'), []],
        [naming('a').wanting(0), [pod('b')]],
      ] as const)
        expect(decidedOnce(podSet, pods, known)).toMatchObject(WAIT);
  });
});

describe('the names in the status', () => {
  const names = (...about: Parameters<typeof statusWrite>) => statusWrite(...about).status['podNames'];

  it('are those of the available Pods, sorted', () => {
    const pods = [
      pod('b').pending().unscheduled(),
      pod('a'),
      pod('c').beingDeleted(),
      pod('d').failed(),
      pod('e').foreign(),
    ];
    expect(statusWrite(set.wanting(2).ofGeneration(7), pods).status).toMatchObject({
      podNames: ['a', 'b'],
      readyReplicas: 2,
      selector: 'app=web,version=v0.1',
      observedGeneration: 7,
    });
  });

  it('stay while Pods are created, also when one is gone, and not once that is refused', () => {
    const podSet = naming('a', 'gone').wanting(999);
    const pods = [pod('a'), ...podsNamed(100)];
    const found = lookedFor(['gone']);
    expect(names(podSet, pods, found)).toEqual(['a', 'gone']);
    const refused = names(podSet, pods, { ...found, ...refusedBecause('no') });
    expect(refused).toHaveLength(101);
    expect(refused).not.toContain('gone');
  });

  it('stay until it is known that a Pod is gone, or released', () => {
    const podSet = naming('a', 'gone', 'lost', 'unclear');
    const lost = pod('lost').relabelled();
    const [looked, released] = [
      lookedFor(['gone', 'lost'], lost),
      lookedFor(['gone', 'lost'], lost.orphaned()),
    ];
    expect(names(podSet, [pod('a')], { ...looked, ...refusedBecause('no', 'releasePods') })).toEqual([
      ...['a', 'lost', 'unclear'],
    ]);
    expect(names(podSet, [pod('a')], released)).toEqual(['a', 'unclear']);
  });
});

describe('finished Pods', () => {
  const failed = (name: string, secondsAgo: number) => pod(name).failed().createdAgo(secondsAgo);
  const failedPods = (count: number, newestSecondsAgo: number) =>
    Array.from({ length: count }, (_, i) => failed(`f-${i}`, newestSecondsAgo + i));

  it('are replaced at once the first time', () => {
    expect(decided(set, [failed('a', 1)])).toMatchObject({ do: 'createPods', data: { count: 1 } });
  });

  it.each([
    [2, 10],
    [3, 30],
    [4, 90],
    [5, 300],
  ])('are replaced, where %i of them are recent, %i s after the newest was created', (count, pauseS) => {
    const pods = failedPods(count, 4);
    const podSet = settled(set, pods);
    expect(decided(podSet, pods)).toMatchObject({
      do: 'wait',
      for: 'the pause after failed Pods to end',
      recheckMs: (pauseS - 4) * 1000,
      cause: {
        reason: 'PodsFailed',
        advice: [{ run: 'kubectl describe pods -n default -l app=web,version=v0.1' }],
      },
    });
    expect(decided(podSet, failedPods(count, pauseS)).do).toBe('createPods');
  });

  it('count for the pause where they were created within half an hour', () => {
    expect(decided(set, [failed('a', 1_800), failed('b', 1)]).do).toBe('createPods');
    expect(decidedOnce(set, [failed('a', 1_799), failed('b', 1)])).toMatchObject({ recheckMs: 9_000 });
  });

  it('are replaced at once, however many, where they were evicted after a minute, and not where their node turned them away', () => {
    const evicted = (seconds: number, more = {}) =>
      failedPods(5, 4).map((each) => each.evictedAfter(seconds, more));
    expect(decided(set, evicted(61))).toMatchObject({ do: 'createPods', data: { count: 1 } });
    for (const pods of [evicted(59), evicted(61, { turnedAway: true })])
      expect(decidedOnce(set, pods).do).toBe('wait');
  });

  it('end the pause where somebody asks for a reconcile, until others fail', () => {
    const requestedAt = new Date(NOW_MS - 2_000).toISOString();
    const requested = set
      .annotated({ [RECONCILE_REQUESTED_ANNOTATION]: requestedAt })
      .withStatus({ lastHandledReconcileAt: requestedAt });
    const pods = failedPods(5, 4);
    expect(decided(requested, pods)).toMatchObject({ do: 'createPods', data: { count: 1 } });
    const later = [...pods.slice(0, 3), failed('g', 1), failed('h', 1)];
    expect(decidedOnce(requested, later)).toMatchObject({ do: 'wait', recheckMs: 9_000 });
  });

  it('end the pause where a person deletes them, which is news to an open run', () => {
    const pods = failedPods(5, 1);
    const podSet = settled(set, pods);
    const deleted = pods.map((each) => each.beingDeleted());
    const reported = { inputs: '', rest: 'a rest', current: false };
    const newsOf = (seen: readonly OwnedPodBuilder[]) =>
      newsIn({ decision: decided(podSet, seen), inputs: '' }, reported);
    expect(newsOf(pods)).toBe('none');
    expect(newsOf(deleted)).toBe('now');
    for (const left of [deleted, []])
      expect(decided(podSet, left)).toMatchObject({ do: 'createPods', data: { count: 1 } });
  });

  it('do not keep the status from saying during the pause that another Pod is gone', () => {
    const pods = failedPods(5, 1);
    const podSet = settled(set.wanting(2), [...pods, pod('a')]);
    const { status } = statusWrite(podSet, [...pods, pod('a').beingDeleted()]);
    expect(status).toMatchObject({ podNames: [], readyReplicas: 0 });
  });

  it('of the future, as a clock may have it, make nobody wait longer', () => {
    expect(decidedOnce(set, [failed('a', -3600), failed('b', -3600)])).toMatchObject({ recheckMs: 10_000 });
  });

  it('do not keep surplus Pods from being deleted', () => {
    const pods = [failed('a', 1), failed('b', 1), pod('c')];
    expect(decided(set.wanting(0), pods)).toMatchObject({
      do: 'deletePods',
      data: { what: 'Pod', pods: [{ name: 'c' }] },
    });
  });

  it('are deleted but for the five newest, by their name where they are as new', () => {
    const pods = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => failed(name, 4));
    for (const listed of [pods, pods.toReversed()])
      expect(decided(set.wanting(0), listed)).toMatchObject({
        do: 'deletePods',
        because: 'only the 5 newest failed Pods are kept',
        data: { what: 'failed Pod', pods: [{ name: 'a' }] },
      });
  });
});

describe('the conditions', () => {
  const failed = ['a', 'b'].map((name) => pod(name).failed().createdAgo(1));
  const missing = 'waiting for createPods: there are 100 Pods, and spec.replicas is 999';
  const surplus = 'waiting for deletePods: there are 100 Pods, and spec.replicas is 1';
  const pause = 'Pods failed, and are replaced after a pause that grows each time';
  const starting = 'all desired Pods exist, but some are not Ready yet';
  it.each<[reason: string, message: string, podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[]]>([
    ['PodsStarting', starting, set.wanting(2), [pod('a'), pod('b').unreadyFor(59)]],
    ['PodsMissing', missing, set.wanting(999), podsNamed(100)],
    ['PodsSurplus', surplus, set.wanting(1), podsNamed(100)],
    ['PodsFailed', pause, set, failed],
  ])('say %s, and what that means', (reason, message, podSet, pods) => {
    expect(statusWrite(podSet, pods).status.conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason, message },
      { type: 'Stalled', status: 'False' },
      { type: 'Reconciling', status: 'True', reason, message },
    ]);
  });

  it('say PodsReady, after whatever they have said before', () => {
    const refused = settled(set.wanting(2), [pod('a')], refusedBecause('exceeded quota'));
    expect(refused.object.status?.conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'QuotaExceeded' },
      { type: 'Stalled', status: 'True', reason: 'QuotaExceeded' },
      {},
    ]);
    expect(statusWrite(refused, [pod('a'), pod('b')]).status.conditions).toMatchObject([
      { status: 'True', reason: 'PodsReady', message: 'all desired Pods exist and are Ready' },
      { type: 'Stalled', status: 'False' },
      { type: 'Reconciling', status: 'False', reason: 'UpToDate' },
    ]);
  });

  it('are written once, also where a refusal meets what there is no room for', () => {
    const refused = refusedBecause('😀'.repeat(40_000));
    const podSet = settled(set, [], refused);
    expect(decided(podSet, [], refused).do).toBe('createPods');
  });
});

describe('while many Pods are created or deleted, the status', () => {
  const settledAt = (count: number) => settled(set.wanting(count), podsNamed(count));
  const stepsAt = (podSet: PodSetBuilder, counts: readonly number[]) =>
    counts.map((count) => {
      const known = lookedFor(podSet.object.status?.podNames ?? []);
      return decided(podSet, podsNamed(count), known).do;
    });

  it('is written where it is a hundred behind', () => {
    expect(stepsAt(set.wanting(999), [99, 100])).toEqual(['createPods', 'updateStatus']);
    expect(stepsAt(settledAt(150).wanting(999), [249, 250])).toEqual(['createPods', 'updateStatus']);
    expect(stepsAt(settledAt(300).wanting(0), [201, 200])).toEqual(['deletePods', 'updateStatus']);
  });
});

describe('the status of a PodSet of 20,000', () => {
  const named = (name: string, createdAgo: number) => pod(name).createdAgo(createdAgo);
  const MANY = Array.from({ length: 20_000 }, (_, i) =>
    named(`web-pod-${String(i).padStart(5, '0')}`, i % 6_000),
  );
  const settledMany = settled(set.wanting(20_000), MANY);
  const { podNames, readyReplicas } = settledMany.object.status ?? {};

  it('counts all Pods, and names the 1,000 oldest, whatever younger ones come and go', () => {
    expect(readyReplicas).toBe(20_000);
    const oldest = MANY.map(({ view }) => view).sort(
      (a, b) => a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1),
    );
    expect(podNames).toEqual(namesIn(oldest.slice(0, 1_000)).sort());
    expect(decided(settledMany, MANY.toReversed()).do).toBe('converged');
    const others = [...MANY.slice(0, 5_000), named('web-pod-new', 0), ...MANY.slice(5_001)];
    expect(decided(settledMany, others).do).toBe('converged');
  });

  it('names the Pods to release before all others, however young', () => {
    const lost = [named('lost-1', 0), named('lost-2', 0)].map((each) => each.relabelled());
    const podSet = settledMany.withStatus({ podNames: [...(podNames ?? []), 'lost-1', 'lost-2'] });
    const known = { ...lookedFor(['lost-1', 'lost-2'], ...lost), ...refusedBecause('no', 'releasePods') };
    const names = statusWrite(podSet, MANY, known).status['podNames'];
    expect(names).toEqual(expect.arrayContaining(['lost-1', 'lost-2']));
    expect(names).toHaveLength(1_000);
  });

  it('fits into an object of 1 MiB, with names and messages as long as there can be', () => {
    const longest = Array.from({ length: 1_500 }, (_, i) => pod(String(i).padStart(253, 'n')));
    const { status } = statusWrite(set.wanting(20_000), longest, refusedBecause('😀'.repeat(40_000)));
    expect(Buffer.byteLength(JSON.stringify(status))).toBeLessThan(2 ** 20);
  });
});

/** Somebody may have to approve of it first. */
describe('the plan to delete Pods', () => {
  const planOf = (replicas: number, pods: readonly OwnedPodBuilder[]) => {
    const step = decided(set.wanting(replicas).ofGeneration(3), pods);
    return 'deletes' in step ? step.deletes : undefined;
  };

  it('says how many go, which ones first, and by which generation of the spec', () => {
    const plan = planOf(1, [pod('a'), pod('b').notReady(), pod('c').pending()]);
    expect(plan).toMatchObject({ what: 'Pod', count: 2, interchangeable: 'generation 3' });
    expect(namesIn(plan?.objects() ?? [])).toEqual(['c', 'b']);
  });

  it('is for the very failed Pods that are older than those that are kept', () => {
    const failed = (age: number) =>
      pod(`f-${age}`)
        .failed()
        .createdAgo(age * 100);
    const six = [1, 2, 3, 4, 5, 6].map(failed);
    const plan = planOf(0, [...six, failed(7)]);
    expect(plan).toMatchObject({ what: 'failed Pod', count: 2 });
    expect(namesIn(plan?.objects() ?? [])).toEqual(['f-6', 'f-7']);
    // One of the two is deleted by now; or another Pod has failed since.
    expect(planOf(0, six)?.interchangeable).toBe(plan?.interchangeable);
    expect(planOf(0, [failed(0), ...six])?.interchangeable).not.toBe(plan?.interchangeable);
  });
});

describe('a PodSet whose next step is held', () => {
  it('counts the Pods that there are, once, and goes on naming those that it has yet to release', () => {
    const [podSet, pods] = [naming('a', 'lost').wanting(1), [pod('a'), pod('b')]];
    const known = lookedFor(['lost'], pod('lost').relabelled());
    const step = heldStatus(podSet, pods, known);
    expect(step).toMatchObject({
      do: 'updateStatus',
      status: { podNames: ['a', 'b', 'lost'], readyReplicas: 2 },
    });
    const written = podSet.withStatus(statusIn(step));
    expect(heldStatus(written, pods, known)).toBeUndefined();
  });
});

describe('a PodSet with a name that no label can hold', () => {
  const { primary } = definedController(definition);

  it('is ignored, since the server refuses each write of its status, and says why', () => {
    const [fits, long] = [63, 64].map((length) => aPodSet().named('n'.repeat(length)).object);
    expect(fits && primary.view(fits)?.resource?.view).toMatchObject({ replicas: 1 });
    expect(long && primary.view(long)).toBeUndefined();
    expect(long && definition.messages?.ignored?.(long)).toMatchObject({
      message: expect.stringContaining('has 64 characters, but at most 63 are allowed'),
      advice: ['create a PodSet with a shorter name instead'],
    });
    expect(fits && definition.messages?.ignored?.(fits)).toBeUndefined();
  });
});
