import { describe, expect, it } from '@jest/globals';
import { podSet as controller } from '../../src/controllers/pod-set/controller.ts';
import { decidePodSet, isAsWanted } from '../../src/controllers/pod-set/decide.ts';
import { observed, type Observation } from '../../src/controllers/pod-set/observation.ts';
import { wantedPod } from '../../src/controllers/pod-set/pod.ts';
import {
  aPodOf,
  aPodSet,
  NOW_MS,
  POD_SET_UID,
  type OwnedPodBuilder,
  type PodSetBuilder,
} from '../support/pod-sets.ts';

const set = aPodSet();
const pod = (name: string) => aPodOf(set, name);

/** The PodSet, its Pods, and what else was found out. */
function decide(podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[], rest: Partial<Observation> = {}) {
  const seen = pods.map((each) => each.seen);
  return decidePodSet({ ...observed(podSet.seen, seen), ...rest }, NOW_MS);
}

/** The PodSet with the status that is right for these Pods. */
function settled(podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[]): PodSetBuilder {
  const step = decide(podSet, pods, { timeIsUp: true });
  return step.do === 'write status' ? podSet.withStatus(step.status) : podSet;
}

function statusOf(podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[], rest: Partial<Observation> = {}) {
  const step = decide(podSet, pods, { timeIsUp: true, ...rest });
  if (step.do !== 'write status') throw new Error(`no status is written, but: ${step.do}`);
  return step.status;
}

const namesIn = (pods: readonly { readonly name: string }[]) => pods.map(({ name }) => name);

describe('the Pods of a PodSet', () => {
  it('are created where there are too few, all that are missing', () => {
    expect(decide(set.wanting(3), [])).toEqual({ do: 'grow', by: 3 });
    expect(decide(set.wanting(3), [pod('a')])).toEqual({ do: 'grow', by: 2 });
  });

  it('are deleted where there are too many, as many as are too many', () => {
    const step = decide(set.wanting(1), [pod('a'), pod('b'), pod('c').pending()]);
    expect(step).toMatchObject({
      do: 'shrink',
      by: 2,
      available: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
    });
  });

  it.each([
    ['finished', pod('a').failed()],
    ['successfully finished', pod('a').succeeded()],
    ['being deleted', pod('a').beingDeleted()],
    ['of a phase that nobody knows', pod('a').inPhase('Unknown')],
    ['of another controller', pod('a').foreign()],
    ['of a PodSet of the same name that was there before', pod('a').ofAPredecessor()],
  ])('do not count where they are %s', (_, other) => {
    expect(decide(set.wanting(1), [other])).toEqual({ do: 'grow', by: 1 });
  });

  it('are never deleted where they are another controller’s, or nobody’s any more', () => {
    const others = [pod('a').foreign(), pod('b').ofAPredecessor(), pod('c').beingDeleted()];
    const podSet = settled(set.wanting(0), others);
    expect(decide(podSet, others)).toMatchObject({ do: 'end', because: 'as wanted' });
  });

  it('are named as the API server would, but by the run, and have everything that is promised of them', () => {
    expect(wantedPod({ name: 'web', uid: 'u' }, 'web-pod-x')).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
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
      spec: { containers: [{ name: 'busybox', image: 'busybox', command: ['sleep', '3600'] }] },
    });
  });
});

describe('a Pod with the labels that nobody controls', () => {
  it('is adopted, before anything is created or deleted', () => {
    expect(decide(set.wanting(2), [pod('a').orphaned(), pod('b')])).toMatchObject({
      do: 'adopt',
      pods: [{ name: 'a' }],
    });
  });

  it.each([
    ['being deleted', pod('a').orphaned().beingDeleted()],
    ['finished', pod('a').orphaned().failed()],
  ])('is left alone while it is %s', (_, orphan) => {
    expect(decide(set.wanting(1), [orphan])).toEqual({ do: 'grow', by: 1 });
  });

  it('is not adopted by a PodSet that is being deleted', () => {
    const step = decide(set.beingDeleted(), [pod('a').orphaned()]);
    expect(step).toEqual({ do: 'end', because: 'being deleted' });
  });
});

describe('a Pod that has lost the labels', () => {
  const lost = pod('a').relabelled();

  it('is looked for by name where the status knows it and the list does not', () => {
    const podSet = set.wanting(1).withStatus({ podNames: ['a', 'b'] });
    expect(decide(podSet, [pod('b')])).toEqual({ do: 'look', names: ['a'] });
  });

  it('is looked for once', () => {
    const podSet = set.wanting(1).withStatus({ podNames: ['a'] });
    expect(decide(podSet, [], { lookedFor: ['a'] })).toEqual({ do: 'grow', by: 1 });
  });

  it.each([{ timeIsUp: true }, { refusal: 'no' }, {}])(
    'is released before the status forgets it, whatever else ends the pass: %j',
    (rest) => {
      const podSet = set.wanting(1).withStatus({ podNames: ['a'] });
      expect(decide(podSet, [], rest)).toMatchObject({ do: 'look' });
      expect(decide(podSet, [lost], rest)).toMatchObject({ do: 'release', pods: [{ name: 'a' }] });
    },
  );

  it('is left alone while it is being deleted', () => {
    expect(decide(set.wanting(1), [lost.beingDeleted()])).toEqual({ do: 'grow', by: 1 });
  });

  it('is not touched where it is another’s', () => {
    expect(decide(set.wanting(1), [lost.foreign(), lost.named('b').orphaned()])).toEqual({
      do: 'grow',
      by: 1,
    });
  });
});

describe('finished Pods', () => {
  const failed = (name: string, secondsAgo: number) => pod(name).failed().createdAgo(secondsAgo);

  it('are replaced at once the first time', () => {
    expect(decide(set, [failed('a', 1)])).toEqual({ do: 'grow', by: 1 });
  });

  it.each([
    [2, 10],
    [3, 30],
    [4, 90],
    [5, 300],
  ])('are replaced, where %i of them are recent, %i s after the newest was created', (count, pauseS) => {
    const pods = Array.from({ length: count }, (_, i) => failed(`f-${i}`, 4 + i));
    const podSet = settled(set, pods);
    expect(decide(podSet, pods)).toMatchObject({ do: 'end', because: 'pausing', forMs: (pauseS - 4) * 1000 });
    const later = pods.map((each, i) => each.createdAgo(pauseS + i));
    expect(decide(podSet, later)).toEqual({ do: 'grow', by: 1 });
  });

  it('make nobody wait half an hour later', () => {
    const pods = ['a', 'b', 'c'].map((name) => failed(name, 1801));
    expect(decide(set, pods)).toEqual({ do: 'grow', by: 1 });
  });

  it('of the future, as a clock may have it, make nobody wait longer', () => {
    const pods = [failed('a', -3600), failed('b', -3600)];
    expect(decide(settled(set, pods), pods)).toMatchObject({ do: 'end', because: 'pausing', forMs: 10_000 });
  });

  it('are removed beyond the five newest', () => {
    const pods = [1, 2, 3, 4, 5, 6, 7].map((age) => failed(`f-${age}`, age * 100));
    const step = decide(set.wanting(0), pods);
    if (step.do !== 'tidy') throw new Error(step.do);
    expect(namesIn(step.pods)).toEqual(['f-6', 'f-7']);
  });

  it('are in the way of nothing else: what is too much is deleted all the same', () => {
    const pods = [failed('a', 1), failed('b', 1), pod('c')];
    expect(decide(set.wanting(0), pods)).toMatchObject({ do: 'shrink', by: 1 });
  });
});

describe('the status', () => {
  it('names the available Pods, sorted, and counts them', () => {
    const pods = [
      pod('b').pending(),
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

  it('is not written where it is right, whatever the order of its fields', () => {
    const podSet = settled(set, [pod('a')]);
    expect(decide(podSet, [pod('a')])).toMatchObject({ do: 'end', because: 'as wanted' });
    const { status = {} } = podSet.object;
    const backwards = Object.fromEntries(Object.entries(status).reverse());
    expect(decide(set.withStatus(backwards), [pod('a')])).toMatchObject({ do: 'end', because: 'as wanted' });
  });

  it.each([
    ['PodsReady', 'True', 2, [pod('a'), pod('b')]],
    ['PodsReady', 'True', 0, []],
    ['PodsNotReady', 'False', 2, [pod('a'), pod('b').notReady()]],
    ['PodsMissing', 'False', 2, [pod('a')]],
    ['PodsSurplus', 'False', 1, [pod('a'), pod('b')]],
    ['PodsFailed', 'False', 1, [pod('a').failed().createdAgo(1), pod('b').failed().createdAgo(1)]],
  ] as const)('says %s: Ready is %s', (reason, status, replicas, pods) => {
    const { conditions } = statusOf(set.wanting(replicas), pods);
    expect(conditions).toMatchObject([
      { type: 'Ready', status, reason, observedGeneration: 1, lastTransitionTime: '2026-01-01T12:00:00Z' },
      { type: 'Stalled', status: 'False', reason: 'NotStalled' },
    ]);
  });

  it('tells of as many Pods in the same words as of few, so that conditions are not written with each Pod', () => {
    const conditionsOf = (count: number) =>
      statusOf(
        set.wanting(9),
        Array.from({ length: count }, (_, i) => pod(`p-${i}`)),
      ).conditions;
    expect(conditionsOf(1)).toEqual(conditionsOf(8));
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
      ['Theirs', since],
    ]);
  });

  it('has the server’s words where it refuses to create, and then the pass ends', () => {
    const status = statusOf(set.wanting(2), [pod('a')], { refusal: 'exceeded quota', timeIsUp: false });
    expect(status).toMatchObject({ podNames: ['a'], readyReplicas: 1 });
    expect(status.conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'CreateFailed' },
      { type: 'Stalled', status: 'True', reason: 'CreateFailed', message: 'exceeded quota' },
    ]);
    const written = set.wanting(2).withStatus(status);
    expect(decide(written, [pod('a')], { refusal: 'exceeded quota' })).toEqual({
      do: 'end',
      because: 'refused',
    });
  });

  it('is written before the pass ends because its time is up', () => {
    const pods = [pod('a')];
    expect(decide(set.wanting(9), pods, { timeIsUp: true })).toMatchObject({ do: 'write status' });
    expect(decide(settled(set.wanting(9), pods), pods, { timeIsUp: true })).toEqual({
      do: 'end',
      because: 'time is up',
    });
  });

  it('is not written while Pods are created until they are twice as many', () => {
    const named = (count: number) => Array.from({ length: count }, (_, i) => pod(`p-${i}`));
    const podSet = settled(set.wanting(99), named(4));
    const stepAt = (count: number) => decide(podSet, named(count), { timeIsUp: true }).do;
    expect([5, 7, 8].map(stepAt)).toEqual(['end', 'end', 'write status']);
    const changed = decide(podSet.ofGeneration(2), named(5), { timeIsUp: true });
    expect(changed).toMatchObject({ do: 'write status', status: { observedGeneration: 2 } });
  });

  it('never names a Pod that is gone once the pass is over, else it would be looked for', () => {
    const podSet = settled(set.wanting(1), ['a', 'b', 'c', 'd'].map(pod));
    const left = [pod('a'), pod('b'), pod('c'), pod('d').beingDeleted()];
    expect(decide(podSet, left, { timeIsUp: true })).toMatchObject({
      do: 'write status',
      status: { podNames: ['a', 'b', 'c'] },
    });
  });

  it('that is malformed is written anew', () => {
    const broken = Object.fromEntries(
      Object.entries({ podNames: 'a', conditions: [null, 3], readyReplicas: '1' }),
    );
    expect(statusOf(set.withStatus(broken), [pod('a')])).toMatchObject({ podNames: ['a'], readyReplicas: 1 });
  });
});

describe('a PodSet that cannot be served', () => {
  it.each([
    [-1, '-1'],
    [2 ** 31, '2147483648'],
    [1.5, '1.5'],
    ['3', '"3"'],
    [null, 'null'],
    [undefined, 'missing'],
  ])('as it wants %j Pods loses none, and says why once', (replicas, words) => {
    const podSet = set.wanting(replicas);
    const status = statusOf(podSet, [pod('a')]);
    const message = `PodSet default/web: spec.replicas is ${words}, and must be an integer from 0 to 2147483647; edit the PodSet`;
    expect(status).toMatchObject({ podNames: ['a'], observedGeneration: 1 });
    expect(status.conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'InvalidSpec', message },
      { type: 'Stalled', status: 'True', reason: 'InvalidSpec', message },
    ]);
    const step = decide(podSet.withStatus(status), [pod('a')]);
    expect(step).toEqual({ do: 'end', because: 'invalid', why: message });
    expect(isAsWanted(step)).toBe(false);
  });

  it('as its name is longer than a label’s value says so', () => {
    const { conditions } = statusOf(aPodSet().named('n'.repeat(64)), []);
    expect(conditions[1]).toMatchObject({ type: 'Stalled', status: 'True', reason: 'InvalidSpec' });
    expect(conditions[1]?.message).toContain('has 64 characters, and may have 63');
    expect(decide(aPodSet().named('n'.repeat(63)), [])).toEqual({ do: 'grow', by: 1 });
  });
});

describe('a PodSet that goes', () => {
  it('gets no Pods, and loses none by us', () => {
    for (const pods of [[], [pod('a'), pod('b')]]) {
      expect(decide(set.wanting(1).beingDeleted(), pods)).toEqual({ do: 'end', because: 'being deleted' });
      expect(
        decidePodSet(
          observed(
            'gone',
            pods.map((each) => each.seen),
          ),
          NOW_MS,
        ),
      ).toEqual({
        do: 'end',
        because: 'gone',
      });
    }
  });
});

describe('what the watcher knows', () => {
  const [watched] = controller.children;
  const primaryOf = (podSet: PodSetBuilder) => {
    const projection = controller.primary.project(podSet.object);
    if (projection === undefined) throw new Error('not of interest');
    return projection;
  };
  const childOf = (each: OwnedPodBuilder) => {
    const projection = watched?.project(each.object);
    if (projection === undefined) throw new Error('not of interest');
    return projection;
  };
  const verdict = (podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[]) =>
    controller.needsWork(primaryOf(podSet), pods.map(childOf));

  it('are only Pods with the labels, by their controller or, without one, by their label', () => {
    expect(watched?.labelSelector).toBe('version=v0.1,app');
    expect(childOf(pod('a').relabelled()).belongsTo).toBe('default/web');
    expect(childOf(pod('a').orphaned().relabelled()).belongsTo).toBe('default/other');
    expect(watched?.project(pod('a').foreign().object)).toBeUndefined();
  });

  it('is enough to need no run where all is as wanted', () => {
    expect(verdict(settled(set, [pod('a')]), [pod('a')])).toEqual({ needsWork: false });
    expect(verdict(set.beingDeleted(), [pod('a')])).toEqual({ needsWork: false });
  });

  it('is told in words that do not change while a run is at work', () => {
    const podSet = settled(set.wanting(3), []);
    const told = verdict(podSet, []);
    expect(told).toMatchObject({ needsWork: true, about: '1' });
    const created = ['a', 'b', 'c'].map((name) => pod(name).pending());
    for (const count of [1, 2]) expect(verdict(podSet, created.slice(0, count))).toEqual(told);
  });

  it('leaves to a run the status that names what it has just created or deleted', () => {
    const created = ['a', 'b', 'c'].map((name) => pod(name).pending());
    const awaited = { needsWork: true, underWay: true };
    expect(verdict(settled(set.wanting(3), []), created)).toMatchObject(awaited);
    expect(verdict(settled(set.wanting(3), created).wanting(0), [])).toMatchObject({ needsWork: true });
  });

  it('tells a run anew once all Pods are Ready, and once they are not any more', () => {
    const [starting, started] = [pod('a').pending(), pod('a')];
    expect(verdict(settled(set, [starting]), [started])).toMatchObject({ needsWork: true, about: '1 ready' });
    const back = verdict(settled(set, [started]), [starting]);
    expect(back).toMatchObject({ needsWork: true, about: '1 not ready' });
    expect(back).not.toHaveProperty('underWay');
  });

  it('tells an open run of a changed spec, of a Pod to adopt and of one to release', () => {
    const podSet = settled(set.wanting(3), []);
    const abouts = [
      verdict(podSet, []),
      verdict(podSet.ofGeneration(2), []),
      verdict(podSet, [pod('a').orphaned()]),
      verdict(podSet, [pod('a').relabelled()]),
    ].map((each) => each.needsWork && each.about);
    expect(abouts).toEqual(['1', '2', '1 adopt', '1 release']);
  });

  it('leaves the run alone that awaits an edit of a spec that cannot be', () => {
    const invalid = set.wanting(-1);
    expect(verdict(invalid, [])).not.toHaveProperty('underWay');
    expect(verdict(settled(invalid, []), [])).toMatchObject({ needsWork: true, underWay: true });
  });

  it('needs a run where only a condition is not right', () => {
    const podSet = settled(set, [pod('a').notReady()]);
    expect(verdict(podSet, [pod('a').notReady()])).toEqual({ needsWork: false });
    expect(verdict(podSet, [pod('a')])).toMatchObject({ needsWork: true });
  });

  it('does not mistake the Pods of a PodSet that was there before for its own', () => {
    expect(primaryOf(set).uid).toBe(POD_SET_UID);
    expect(verdict(settled(set.wanting(0), []), [pod('a').ofAPredecessor()])).toEqual({ needsWork: false });
  });
});
