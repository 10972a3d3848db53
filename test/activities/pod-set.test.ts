import { afterEach, describe, expect, it } from '@jest/globals';
import type { Known } from '../../activities/run-memory.ts';
import { podNames } from '../../activities/pod-names.ts';
import { podSetReconciler } from '../../activities/pod-set.ts';
import { StepRun, type StepEnd } from '../../activities/step-run.ts';
import {
  type DecisionEvent,
  type Deed,
  isRest,
  type Next,
  type Refusal,
  sentenceOf,
} from '../../src/contract/decision.ts';
import type { Observation } from '../../src/controllers/pod-set/decide.ts';
import { podView, type PodView } from '../../src/controllers/pod-set/pod.ts';
import { podSetView, type PodSetView } from '../../src/controllers/pod-set/resource.ts';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { aStatus } from '../support/fake-api-server.ts';
import { FakePodSetApi, type Interference } from '../support/fake-pod-set-api.ts';
import {
  aPodOf,
  aPodSet,
  NAMESPACE,
  NOW_MS,
  POD_SET_UID,
  type OwnedPodBuilder,
  type PodSetBuilder,
} from '../support/pod-sets.ts';

const set = aPodSet();
const pod = (name: string) => aPodOf(set, name);

let api: FakePodSetApi;
let client: KubernetesClient;
let nowMs: number;
let superseding: AbortController;
/** Of the step that was refused last. */
let refusal: Refusal | undefined;
/** What a watcher of this process shows by now. */
let shown: Observation | undefined;

/** A cluster with these; the clock stands still unless a test moves it. */
async function given(podSet: PodSetBuilder, ...pods: readonly OwnedPodBuilder[]): Promise<void> {
  api = await FakePodSetApi.start(podSet, pods);
  client = createKubernetesClient(api.server.kubeConfig());
  nowMs = NOW_MS;
  superseding = new AbortController();
  shown = undefined;
  refusal = undefined;
}

afterEach(async () => {
  await client.close();
  await api.server.stop();
});

type Knowledge = Known<Observation>;

/** One step, as its activity performs it. */
function step(name: string, from?: Knowledge, uid = POD_SET_UID): Promise<StepEnd<Observation>> {
  const ref = { controller: 'pod-set', namespace: NAMESPACE, name: api.podSet?.metadata.name ?? 'web', uid };
  const context = { ref, now: () => nowMs, superseded: superseding.signal, watched: () => shown, refusal };
  return new StepRun(podSetReconciler(client), context).perform(name, from);
}

/** What the watcher knows: the PodSet as it is, and these Pods. Default: all that there are. */
function watched(pods: readonly PodView[] = podViews()): Knowledge {
  return { observation: { podSet: podSetThere(), pods, lookedFor: [] }, source: 'watch' };
}

function podViews(): readonly PodView[] {
  return [...api.pods.values()].map((each) => podView(each, 'web')).filter((view) => view !== undefined);
}

function podSetThere(): PodSetView {
  const view = api.podSet && podSetView(api.podSet);
  if (view === undefined) throw new Error('there is no PodSet');
  return view;
}

/** What came of a run. */
interface End {
  /** The names of the steps that were called, in order. */
  readonly steps: readonly string[];
  readonly did: string;
  readonly rest: Next;
  readonly events: readonly DecisionEvent[];
}

/** Calls step after step as the workflow does, until the run rests; at most so many. */
async function run(first = 'observe', from?: Knowledge, stepsMax = 12): Promise<End> {
  const steps: string[] = [];
  const did: Deed[] = [];
  const events: DecisionEvent[] = [];
  let known = from;
  let next: Next = { do: first, because: 'the test calls for it' };
  while (!isRest(next)) {
    if (steps.push(next.do) > stepsMax) throw new Error(`it goes on for ever: ${steps.join()}`);
    const end: StepEnd<Observation> = await step(next.do, known);
    if (end.refusal !== undefined) refusal = end.refusal;
    did.push(...end.did);
    events.push(...end.events);
    ({ next, known } = end);
  }
  return { steps, did: sentenceOf(did), rest: next, events };
}

/** For each of the first Pods of this PodSet, the names that are tried. */
function namesToTry(count: number, podSet = set.view): readonly (readonly string[])[] {
  const names = podNames(podSet, new Set());
  return Array.from({ length: count }, () => names.next().value);
}

/** The first names that Pods of this PodSet get. Default: of one without a status. */
function firstNames(count: number, podSet = set.view): readonly string[] {
  return namesToTry(count, podSet).map(([first = '']) => first);
}

const podsThere = () => [...api.pods.keys()].sort();
const sorted = (names: readonly string[]) => [...names].sort();
const statusThere = () => api.podSet?.status;
const conditionThere = (type: string) => statusThere()?.conditions?.find((each) => each.type === type);
const postsOf = () => api.calls.filter((call) => call === 'POST pods').length;

/** Answers the n-th POST, from 1, in the server's stead, and all that come later. */
function refusingPostsFrom(first: number, { status, body }: Pick<Interference, 'status' | 'body'>): void {
  let posts = 0;
  api.interfere = ({ method }) => {
    if (method !== 'POST') return undefined;
    posts += 1;
    return posts >= first ? { when: 'instead', status, body } : undefined;
  };
}

const quotaFor = (name: string) => ({
  status: 403,
  body: aStatus(403, { reason: 'Forbidden', message: `pods "${name}" is forbidden: exceeded quota: few` }),
});
const QUOTA = quotaFor('x');
const NAMESPACE_TERMINATING = {
  status: 403,
  body: aStatus(403, {
    reason: 'Forbidden',
    message: 'it is being terminated',
    details: { causes: [{ reason: 'NamespaceTerminating' }] },
  }),
};
const denied = (words: string) => ({
  status: 403,
  body: aStatus(403, {
    reason: 'Forbidden',
    message: `admission webhook "keep" denied the request: ${words}`,
  }),
});
const DENIED = denied('keep it');
const UNAVAILABLE = { status: 500, body: aStatus(500, { message: 'etcd is away' }) };
const CONFLICT = { status: 409, body: aStatus(409, { reason: 'Conflict', message: 'it was modified' }) };

describe('createPods', () => {
  it('creates all that are missing, and the status is written once', async () => {
    await given(set.wanting(5));
    const { steps, did, rest, events } = await run();
    expect(steps).toEqual(['observe', 'createPods', 'updateStatus']);
    expect(did).toBe(`created 5 Pods ${firstNames(5).join(', ')}, updated the status`);
    expect(rest).toMatchObject({ do: 'converged' });
    expect(podsThere()).toEqual(sorted(firstNames(5)));
    expect(statusThere()).toMatchObject({ podNames: podsThere(), readyReplicas: 5, observedGeneration: 1 });
    expect(events).toMatchObject([{ type: 'Normal', reason: 'Created', note: 'scaled up to 5 Pods' }]);
  });

  it('takes three calls for one Pod that the watcher has found to be missing', async () => {
    await given(set);
    expect((await run('createPods', watched())).steps).toEqual(['createPods', 'updateStatus']);
    expect(api.calls).toEqual(['GET podsets/web', 'POST pods', 'PATCH podsets/web/status']);
    expect(statusThere()).toMatchObject({ readyReplicas: 1 });
  });

  it('observes everything where the PodSet is not the one that the watcher knows', async () => {
    await given(set.wanting(2));
    const stale = watched();
    api.podSet = set.wanting(1).ofVersion('2').object;
    await run('createPods', stale);
    expect(api.calls.slice(0, 3)).toEqual(['GET podsets/web', 'GET pods', 'GET podsets/web']);
    expect(api.pods.size).toBe(1);
  });

  it('creates no Pod more where the watcher does not know yet of Pods that were created', async () => {
    await given(set.wanting(3));
    await step('createPods', watched());
    const [first] = podViews();
    if (first === undefined) throw new Error('nothing was created');
    // Somebody has scaled it meanwhile, so that it has a new version.
    api.podSet = set.wanting(4).ofGeneration(2).ofVersion('2').object;
    await run('createPods', watched([first]));
    expect(podsThere()).toEqual(sorted(firstNames(4)));
    expect(statusThere()).toMatchObject({ readyReplicas: 4 });
  });

  it('observes everything where the status cannot name all Pods, and the watcher may not show them', async () => {
    const pods = Array.from({ length: 1_010 }, (_, i) => pod(`web-${String(i).padStart(4, '0')}`));
    await given(set.wanting(1_010), ...pods);
    await run();
    expect(statusThere()?.podNames).toHaveLength(1_000);
    const before = api.calls.length;
    const end = await step('createPods', watched(podViews().slice(0, 1_005)));
    expect(end.next.do).toBe('converged');
    expect(api.calls.slice(before)).toEqual(['GET pods', 'GET pods', 'GET pods', 'GET podsets/web']);
  });

  it('gives no name that a Pod has, not even one that is being deleted', async () => {
    const [first = '', second = '', third = ''] = firstNames(3);
    await given(set.wanting(2), pod(first).beingDeleted(), pod(second));
    await run();
    expect(podsThere()).toEqual(sorted([first, second, third]));
    expect(postsOf()).toBe(1);
  });

  it('counts a Pod of its name that an earlier attempt has made since', async () => {
    const [first = ''] = firstNames(1);
    await given(set.wanting(2));
    api.meanwhile = ({ method }) => {
      if (method === 'POST' && api.pods.size === 0) api.pods.set(first, pod(first).object);
    };
    await run();
    expect(podsThere()).toEqual(sorted(firstNames(2)));
  });

  it('takes another of its names where a Pod of somebody else has the first', async () => {
    const [[taken = '', second = ''] = [], [other = ''] = []] = namesToTry(2);
    await given(set.wanting(2), pod(taken).foreign().relabelled());
    await run();
    expect(podsThere()).toEqual(sorted([taken, second, other]));
    expect(api.pods.get(taken)?.metadata.uid).toBe(`uid-of-${taken}`);
  });

  it('finds a free name at once, however many Pods that no list shows have the names of others', async () => {
    const takenOut = firstNames(100).map((name) => pod(name).orphaned().relabelled());
    await given(set.wanting(3), ...takenOut);
    await run();
    expect(statusThere()).toMatchObject({ readyReplicas: 3 });
    expect(postsOf()).toBe(6);
  });

  it('takes the next name where a Pod of its own has the first one without the labels', async () => {
    const [lost = ''] = firstNames(1);
    await given(set, pod(lost).relabelled());
    expect((await run()).steps).toEqual(['observe', 'createPods', 'updateStatus']);
    expect(podsThere()).toHaveLength(2);
    expect(statusThere()?.podNames).toEqual(podsThere().filter((name) => name !== lost));
  });

  it.each(['labels', 'ownerReferences'])(
    'stops at the first Pod whose %s something changes',
    async (field) => {
      await given(set.wanting(300));
      api.changes = (metadata) => ({ ...metadata, [field]: undefined });
      const end = await step('createPods');
      expect(podsThere()).toHaveLength(1);
      expect(end).toMatchObject({
        did: [{ did: 'created', count: 1 }],
        next: { do: 'updateStatus' },
        refusal: {
          because: 'overridden',
          step: 'createPods',
          message: expect.stringContaining(`metadata.${field}`),
        },
      });
      expect((await step('updateStatus', end.known)).next).toMatchObject({ do: 'createPods' });
      expect(statusThere()?.conditions).toContainEqual(
        expect.objectContaining({ type: 'Stalled', status: 'True', reason: 'Overridden' }),
      );
    },
  );

  it.each([1, 2, 3])('makes no Pod more where the answer to create %i was lost', async (lost) => {
    await given(set.wanting(3));
    let posts = 0;
    api.interfere = ({ method }) => {
      if (method === 'POST') posts += 1;
      return method === 'POST' && posts === lost ? { when: 'after', ...UNAVAILABLE } : undefined;
    };
    if (lost === 1) await expect(step('createPods')).rejects.toMatchObject({ classification: 'unavailable' });
    await run();
    expect(podsThere()).toEqual(sorted(firstNames(3)));
    expect(statusThere()?.podNames).toEqual(podsThere());
  });

  it('makes together with other attempts at the same time as many Pods as are missing', async () => {
    await given(set.wanting(20));
    await Promise.all([run(), run(), run()]);
    expect(podsThere()).toEqual(sorted(firstNames(20)));
  });

  it('says what it has done where something fails in the end, and fails where it has done nothing', async () => {
    await given(set.wanting(9));
    refusingPostsFrom(4, UNAVAILABLE);
    const end = await step('createPods');
    expect(end).toMatchObject({ did: [{ did: 'created', count: 3 }], next: { do: 'createPods', writes: 6 } });
    await expect(step('createPods', end.known)).rejects.toMatchObject({ classification: 'unavailable' });
  });

  it('fails where the server says when to come back, with what it has done', async () => {
    await given(set.wanting(9));
    const details = { retryAfterSeconds: 7 };
    refusingPostsFrom(4, { status: 429, body: aStatus(429, { message: 'too many requests', details }) });
    await expect(step('createPods')).rejects.toMatchObject({
      cause: { retryAfterMs: 7_000 },
      did: [{ did: 'created', what: 'Pod', count: 3 }],
    });
  });

  it('ends in a namespace that is being deleted, and nothing is written there', async () => {
    await given(set.wanting(5));
    refusingPostsFrom(1, NAMESPACE_TERMINATING);
    expect((await run()).rest).toMatchObject({ do: 'converged' });
    expect(api.writes).toEqual(['POST pods']);
  });

  it('makes 150 Pods a step, and writes the status in between', async () => {
    await given(set.wanting(400));
    const { steps, events } = await run();
    const batch = ['createPods', 'updateStatus'];
    expect(steps).toEqual(['observe', ...batch, ...batch, ...batch]);
    expect(podsThere()).toHaveLength(400);
    expect(statusThere()).toMatchObject({ readyReplicas: 400, podNames: podsThere() });
    expect(events).toMatchObject([{ reason: 'Created', note: 'scaled up to 400 Pods' }]);
  });

  it('begins no batch after two seconds, nor where a newer step waits', async () => {
    await given(set.wanting(100));
    api.meanwhile = ({ method }) => {
      if (method === 'POST') nowMs += 300;
    };
    const { did, known } = await step('createPods');
    expect(did).toMatchObject([{ did: 'created', count: 7 }]);
    superseding.abort();
    expect(await step('createPods', known)).toMatchObject({
      did: [{ count: 1 }],
      next: { do: 'createPods' },
    });
  });

  it('leaves time for an answer within a second where it is tried as a local activity', async () => {
    await given(set.wanting(10));
    api.meanwhile = ({ method }) => {
      if (method === 'POST') nowMs += 100;
    };
    expect(await step('createPods')).toMatchObject({
      did: [{ count: 7 }],
      next: { do: 'createPods', writes: 3 },
    });
  });
});

describe('createPods, where the server refuses', () => {
  it('asks once, the status says so in the server’s words, and then it fails', async () => {
    await given(set.wanting(2 ** 31 - 1));
    refusingPostsFrom(1, QUOTA);
    const refused = await step('createPods');
    expect(refused).toMatchObject({ did: [], next: { do: 'updateStatus' } });
    const updated = await step('updateStatus', refused.known);
    expect(updated).toMatchObject({ next: { do: 'createPods' } });
    await expect(step('createPods', updated.known)).rejects.toMatchObject({ classification: 'refused' });
    expect(api.writes).toEqual(['POST pods', 'PATCH podsets/web/status', 'POST pods']);
    expect(conditionThere('Stalled')).toMatchObject({ status: 'True', reason: 'CreateFailed' });
    expect(conditionThere('Stalled')?.message).toContain('exceeded quota: few');
    expect(conditionThere('Ready')).toMatchObject({ status: 'False', reason: 'CreateFailed' });
  });

  it('keeps what it has, and then fails after one call at a time, whatever Pod the server names', async () => {
    await given(set.wanting(500));
    refusingPostsFrom(6, QUOTA);
    const refused = await step('createPods');
    expect(refused).toMatchObject({ did: [{ did: 'created', count: 5 }], next: { do: 'updateStatus' } });
    await step('updateStatus', refused.known);
    expect(statusThere()).toMatchObject({ readyReplicas: 5, podNames: podsThere() });
    refusingPostsFrom(1, quotaFor('y'));
    const before = api.calls.length;
    await expect(step('createPods')).rejects.toMatchObject({ classification: 'refused' });
    expect(api.calls.slice(before)).toEqual(['GET pods', 'GET podsets/web', 'POST pods']);
  });

  it('writes the status at most once an attempt, whatever the server says each time', async () => {
    await given(set.wanting(2));
    const words = ['no owner', 'no limits', 'no owner, no limits', 'no limits, no owner'];
    api.interfere = ({ method }) =>
      method === 'POST' ? { when: 'instead', ...denied(words[postsOf() - 1] ?? '') } : undefined;
    await expect(run()).rejects.toMatchObject({ classification: 'refused' });
    const attempt = ['POST pods', 'PATCH podsets/web/status'];
    expect(api.writes).toEqual([...attempt, ...attempt]);
    expect(conditionThere('Stalled')?.message).toContain(words[1]);
    await expect(step('createPods')).rejects.toMatchObject({ classification: 'refused' });
    expect(api.writes.slice(4)).toEqual(attempt);
    expect(conditionThere('Stalled')?.message).toContain(words[2]);
    await expect(step('createPods')).rejects.toMatchObject({ classification: 'refused' });
    expect(api.writes.slice(6)).toEqual(['POST pods']);
  });

  it('forgets that as soon as it has created some', async () => {
    await given(set.wanting(400));
    refusingPostsFrom(1, QUOTA);
    const refused = await step('createPods');
    const reported = await step('updateStatus', refused.known);
    api.interfere = () => undefined;
    const created = await step('createPods', reported.known);
    await step('updateStatus', created.known);
    expect(statusThere()).toMatchObject({ readyReplicas: 150 });
    expect(conditionThere('Stalled')).toMatchObject({ status: 'False' });
  });

  it('takes back what the status says once it is not refused any more', async () => {
    await given(set.wanting(2));
    refusingPostsFrom(2, QUOTA);
    await expect(run()).rejects.toMatchObject({ classification: 'refused' });
    expect(conditionThere('Stalled')).toMatchObject({ status: 'True' });
    api.interfere = () => undefined;
    expect((await run()).rest).toMatchObject({ do: 'converged' });
    expect(conditionThere('Stalled')).toMatchObject({ status: 'False' });
  });
});

/** Three Pods were there, and the status says so; somebody has deleted them. */
async function givenThatAllWereEvicted(): Promise<void> {
  await given(set.wanting(3), pod('a'), pod('b'), pod('c'));
  await run();
  api.pods.clear();
}

const FULL = { status: 'True', reason: 'PodsReady' };

describe('a step that fails and has done nothing', () => {
  const TOO_MANY = { message: 'too many requests', details: { retryAfterSeconds: 7 } };
  it.each([
    ['the server fails', 'unavailable', UNAVAILABLE],
    ['the server says when to come back', 'retry-after', { status: 429, body: aStatus(429, TOO_MANY) }],
    ['somebody always writes in between', 'conflict', CONFLICT],
  ])(
    'is left to its backoff, and the status says once what there is: %s',
    async (_, classification, answer) => {
      await givenThatAllWereEvicted();
      expect(conditionThere('Ready')).toMatchObject(FULL);
      const names = statusThere()?.podNames;
      refusingPostsFrom(1, answer);
      for (let attempt = 0; attempt < 3; attempt += 1)
        await expect(step('createPods')).rejects.toMatchObject({ classification });
      expect(statusThere()).toMatchObject({ readyReplicas: 0, podNames: names });
      expect(conditionThere('Ready')).toMatchObject({ status: 'False', reason: 'PodsMissing' });
      expect(api.writes.filter((call) => call.startsWith('PATCH'))).toHaveLength(2);
      api.interfere = () => undefined;
      expect((await run()).rest).toMatchObject({ do: 'converged' });
      expect(statusThere()).toMatchObject({ readyReplicas: 3, podNames: podsThere() });
    },
  );

  it('makes no Pod too many once a create of which nobody knew is done after all', async () => {
    await givenThatAllWereEvicted();
    const next = firstNames(1, podSetThere());
    refusingPostsFrom(1, UNAVAILABLE);
    const did = [{ did: 'updated', what: 'the status' }];
    await expect(step('createPods')).rejects.toMatchObject({ classification: 'unavailable', did });
    expect(firstNames(1, podSetThere())).toEqual(next);
  });

  it('fails with what the server said of it, although the status cannot be written, either', async () => {
    await givenThatAllWereEvicted();
    const without = ({ method }: { readonly method: string }) => method !== 'GET';
    api.interfere = (request) => (without(request) ? { when: 'instead', ...UNAVAILABLE } : undefined);
    await expect(step('createPods')).rejects.toThrow(/^POST .*etcd is away/);
    expect(conditionThere('Ready')).toMatchObject(FULL);
  });

  it('does not say Ready where nobody knows whether it was done', async () => {
    await given(set.wanting(1), pod('a'), pod('b').orphaned());
    api.interfere = ({ method, url }) =>
      method === 'PATCH' && url.pathname.endsWith('/pods/b')
        ? { when: 'instead', ...UNAVAILABLE }
        : undefined;
    await expect(step('adoptPods')).rejects.toMatchObject({ classification: 'unavailable' });
    expect(conditionThere('Ready')).toBeUndefined();
  });

  it.each([
    ['DeleteFailed', 'DELETE', set.wanting(0), pod('a')],
    ['AdoptFailed', 'PATCH', set, pod('a').orphaned()],
    ['ReleaseFailed', 'PATCH', set, pod('a').relabelled()],
  ])('says %s in the server’s words where it is refused', async (reason, verb, podSet, one) => {
    await given(podSet.withStatus({ podNames: ['a'] }), one);
    api.interfere = ({ method, url }) =>
      method === verb && url.pathname.endsWith('/pods/a') ? { when: 'instead', ...DENIED } : undefined;
    await expect(run()).rejects.toMatchObject({ classification: 'refused' });
    const message = expect.stringContaining('denied the request: keep it');
    expect(conditionThere('Stalled')).toMatchObject({ status: 'True', reason, message });
    expect(statusThere()).toMatchObject({ observedGeneration: 1 });
    api.interfere = () => undefined;
    expect((await run()).rest).toMatchObject({ do: 'converged' });
    expect(conditionThere('Stalled')).toMatchObject({ status: 'False' });
  });
});

describe('deletePods', () => {
  it('deletes those that are too many, by UID', async () => {
    await given(set.wanting(1), pod('a').costing('1'), pod('b'), pod('c'));
    const { steps, did, events } = await run();
    expect(steps).toEqual(['observe', 'deletePods', 'updateStatus']);
    expect(did).toBe('deleted 2 Pods b, c, updated the status');
    expect(events).toMatchObject([{ reason: 'Deleted', note: 'scaled down to 1 Pod' }]);
    expect(podsThere()).toEqual(['a']);
    expect(statusThere()?.podNames).toEqual(['a']);
    expect(api.bodiesOf('DELETE')).toEqual(
      ['uid-of-b', 'uid-of-c'].map((uid) => ({
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid },
      })),
    );
  });

  it('observes everything first, whatever the watcher knows', async () => {
    await given(set.wanting(0), pod('a'));
    await step('deletePods', watched([pod('a').view, pod('b').view]));
    expect(api.calls).toEqual(['GET pods', 'GET podsets/web', 'DELETE pods/a']);
  });

  it('spares a Pod of the same name that came in its place, and counts none that is gone', async () => {
    await given(set.wanting(1), pod('a'), pod('b'), pod('c').costing('1'));
    api.meanwhile = ({ method }) => {
      if (method !== 'DELETE') return;
      api.pods.delete('a');
      api.pods.set('b', pod('b').withUid('another').foreign().object);
    };
    expect((await run()).did).toBe('updated the status');
    expect(api.pods.get('b')?.metadata.uid).toBe('another');
    expect(statusThere()?.podNames).toEqual(['c']);
  });

  it('deletes a Pod all the same whose status has changed since it was read', async () => {
    await given(set.wanting(0), pod('a'));
    api.meanwhile = ({ method }) => {
      if (method === 'DELETE') api.pods.set('a', pod('a').notReady().ofVersion('2').object);
    };
    expect((await run()).did).toBe('deleted Pod a, updated the status');
    expect(api.calls.slice(2, 4)).toEqual(['DELETE pods/a', 'PATCH podsets/web/status']);
  });

  /** The watcher shows, since the Pods were listed, that this is what the Pod `a` has become. */
  async function deletedWhereShown(read: OwnedPodBuilder, a: OwnedPodBuilder): Promise<readonly string[]> {
    await given(set.wanting(0), read);
    shown = { podSet: podSetThere(), pods: [a.view], lookedFor: [] };
    await step('deletePods');
    return api.calls.slice(2);
  }

  it.each([
    ['is another controller’s', (a: OwnedPodBuilder) => a.foreign()],
    ['is nobody’s and lost the labels', (a: OwnedPodBuilder) => a.orphaned().relabelled()],
    ['has failed', (a: OwnedPodBuilder) => a.failed()],
    ['is being deleted', (a: OwnedPodBuilder) => a.beingDeleted()],
  ])('spares a Pod that, as the watcher shows, by now %s', async (_, change) => {
    expect(await deletedWhereShown(pod('a'), change(pod('a')).ofVersion('2'))).toEqual([]);
    expect(podsThere()).toEqual(['a']);
  });

  it('does not go by what the watcher shows where that is older than what was read', async () => {
    const older = pod('a').foreign().ofVersion('9');
    expect(await deletedWhereShown(pod('a').ofVersion('12'), older)).toEqual(['DELETE pods/a']);
  });

  it('asks in one call, not in one for each, what became of many Pods that the status still names', async () => {
    const names = Array.from({ length: 100 }, (_, index) => `pod-${index}`);
    await given(
      set.wanting(0).withStatus({ podNames: names }),
      ...names.slice(0, 40).map(pod),
      pod('pod-99').relabelled(),
    );
    const { steps } = await run();
    expect(steps).toEqual(['observe', 'releasePods', 'deletePods', 'updateStatus']);
    expect(api.calls.filter((call) => call.startsWith('GET'))).toEqual([
      'GET pods',
      'GET podsets/web',
      'GET pods',
    ]);
    expect(podsThere()).toEqual(['pod-99']);
  });

  it('observes again where a Pod of ours came in the place of another', async () => {
    await given(set.wanting(0), pod('a'));
    api.meanwhile = ({ method }) => {
      if (method === 'DELETE') api.pods.set('a', pod('a').withUid('another').object);
    };
    await step('deletePods');
    const observed = ['GET pods', 'GET podsets/web'];
    expect(api.calls).toEqual([...observed, 'DELETE pods/a', ...observed, 'DELETE pods/a']);
  });

  it('deletes no failed Pod that is being deleted by now', async () => {
    const failed = (name: string, hours: number) =>
      pod(name)
        .failed()
        .createdAgo(hours * 3600);
    await given(set.wanting(0), ...[1, 2, 3, 4, 5, 6].map((hours) => failed(`f-${hours}`, hours)));
    api.meanwhile = ({ method }) => {
      if (method === 'DELETE') api.pods.set('f-6', failed('f-6', 6).beingDeleted().ofVersion('2').object);
    };
    await run();
    expect(api.writes).toEqual(['DELETE pods/f-6', 'PATCH podsets/web/status']);
  });

  it('deletes failed Pods beyond those that are kept', async () => {
    const finished = [1, 2, 3, 4, 5, 6].map((age) =>
      pod(`f-${age}`)
        .failed()
        .createdAgo(age * 3600),
    );
    await given(set.wanting(0), ...finished);
    const { did, events } = await run();
    expect(did).toBe('deleted failed Pod f-6, updated the status');
    expect(events).toEqual([]);
    expect(api.pods.has('f-6')).toBe(false);
  });
});

describe('adoptPods', () => {
  it('adds the owner reference to the others, conditional on the very Pod that was read', async () => {
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'uid-of-c' };
    await given(set, pod('a').ownedBy(other));
    const { did, events } = await run();
    expect(did).toBe('adopted Pod a, updated the status');
    expect(api.bodiesOf('PATCH')[0]).toMatchObject({
      metadata: {
        uid: 'uid-of-a',
        resourceVersion: '1',
        ownerReferences: [other, { kind: 'PodSet', uid: POD_SET_UID, controller: true }],
      },
    });
    expect(events).toMatchObject([{ reason: 'Adopted', note: expect.stringContaining('adopted Pod a:') }]);
  });

  it('observes again where somebody has changed the Pod meanwhile', async () => {
    await given(set, pod('a').orphaned());
    const theirs = pod('a').foreign().ofVersion('2').object;
    api.meanwhile = ({ method }) => {
      if (method === 'PATCH' && api.writes.length === 1) api.pods.set('a', theirs);
    };
    expect((await run()).steps).toEqual(['observe', 'adoptPods', 'createPods', 'updateStatus']);
    expect(api.pods.get('a')).toEqual(theirs);
  });
});

describe('releasePods', () => {
  it('gives up a Pod that is found by the name in the status, before it is replaced', async () => {
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'uid-of-c' };
    const [owner] = pod('a').object.metadata.ownerReferences ?? [];
    if (owner === undefined) throw new Error('it has no owner');
    await given(set.withStatus({ podNames: ['a'] }), pod('a').ownedBy(other, owner).relabelled());
    const { steps, events } = await run();
    expect(steps).toEqual(['observe', 'releasePods', 'createPods', 'updateStatus']);
    expect(api.calls.slice(0, 6)).toEqual([
      'GET pods',
      'GET podsets/web',
      'GET pods/a',
      // Its other owners, which no view keeps.
      'GET pods/a',
      'PATCH pods/a',
      'POST pods',
    ]);
    expect(api.pods.get('a')?.metadata.ownerReferences).toEqual([other]);
    expect(events).toMatchObject([{ reason: 'Released' }, { reason: 'Created' }]);
  });

  it('gives up nothing of what is gone', async () => {
    await given(set.withStatus({ podNames: ['a'] }));
    expect((await run()).steps).toEqual(['observe', 'createPods', 'updateStatus']);
  });
});

describe('updateStatus', () => {
  it('takes one call where the watcher knows that all Pods are Ready', async () => {
    await given(set, pod('a'));
    const end = await run('updateStatus', watched());
    expect(end).toMatchObject({ steps: ['updateStatus'], did: 'updated the status' });
    expect(api.calls).toEqual(['PATCH podsets/web/status']);
    expect(conditionThere('Ready')).toMatchObject({ status: 'True' });
  });

  it('observes again where the PodSet has changed since', async () => {
    await given(set, pod('a'));
    const stale = watched();
    api.podSet = set.wanting(2).ofGeneration(2).ofVersion('77').object;
    expect((await run('updateStatus', stale)).steps).toEqual(['updateStatus', 'createPods', 'updateStatus']);
    expect(statusThere()).toMatchObject({ observedGeneration: 2, readyReplicas: 2 });
  });

  it('leaves it to the backoff where somebody always writes in between', async () => {
    await given(set, pod('a'));
    api.interfere = ({ method }) => (method === 'PATCH' ? { when: 'instead', ...CONFLICT } : undefined);
    await expect(step('updateStatus')).rejects.toMatchObject({ classification: 'conflict' });
    expect(api.writes).toHaveLength(5);
  });

  it('names the field that an old CRD drops', async () => {
    await given(set, pod('a'));
    api.drops = 'selector';
    const { known } = await step('updateStatus');
    expect(await step('updateStatus', known)).toMatchObject({
      next: { do: 'updateStatus' },
      refusal: { because: 'overridden', message: expect.stringContaining('status.selector') },
    });
  });

  it('has nothing to do where the PodSet is gone', async () => {
    await given(set, pod('a'));
    api.meanwhile = ({ method }) => {
      if (method === 'PATCH') api.podSet = undefined;
    };
    expect(await run()).toMatchObject({ did: '', rest: { do: 'converged' } });
  });
});

describe('a run', () => {
  it('over what is up to date takes two reads and no write', async () => {
    await given(set.wanting(3));
    await run();
    const before = api.calls.length;
    expect(await run()).toMatchObject({ steps: ['observe'], did: '', rest: { do: 'converged' } });
    expect(api.calls.slice(before)).toEqual(['GET pods', 'GET podsets/web']);
  });

  it('leaves a PodSet of the same name alone that came in its place', async () => {
    await given(set.wanting(3));
    expect((await step('createPods', undefined, 'uid-of-the-predecessor')).next.do).toBe('converged');
    expect(api.writes).toEqual([]);
  });

  it('does nothing to a PodSet that is being deleted', async () => {
    await given(set.wanting(3).beingDeleted(), pod('a'), pod('b').orphaned());
    expect((await run()).rest).toMatchObject({ do: 'converged' });
    expect(api.writes).toEqual([]);
  });

  it('reads a list in pages', async () => {
    await given(set.wanting(3), pod('a'), pod('b'), pod('c'));
    api.pageMost = 1;
    await run();
    expect(statusThere()?.podNames).toEqual(['a', 'b', 'c']);
    expect(api.calls.slice(0, 4)).toEqual(['GET pods', 'GET pods', 'GET pods', 'GET podsets/web']);
  });

  it('stalls on an invalid spec, says why in the status and an Event, and deletes nothing', async () => {
    await given(set.wanting(-1), pod('a'));
    const why = expect.stringContaining('spec.replicas is -1');
    const { rest, events } = await run();
    expect(rest).toEqual({ do: 'stalled', because: why });
    expect(conditionThere('Stalled')).toMatchObject({ status: 'True', reason: 'InvalidSpec', message: why });
    expect(events).toMatchObject([{ type: 'Warning', reason: 'InvalidSpec', note: why }]);
    expect(api.writes).toEqual(['PATCH podsets/web/status']);
  });

  it('stalls on a name that is longer than a label may be, which the server refuses to list by and to write', async () => {
    await given(set.named('w'.repeat(64)).withStatus({ podNames: ['a'] }));
    api.interfere = ({ method, url }) => {
      if (method === 'PATCH')
        return { when: 'instead', status: 422, body: aStatus(422, { message: 'too long' }) };
      const isList = url.searchParams.get('labelSelector')?.includes('w'.repeat(64));
      return isList
        ? { when: 'instead', status: 400, body: aStatus(400, { message: 'too long' }) }
        : undefined;
    };
    const why = expect.stringContaining('its name has 64 characters');
    for (const first of ['observe', 'updateStatus']) {
      const { steps, rest, events } = await run(first);
      expect({ steps, rest }).toEqual({ steps: [first], rest: { do: 'stalled', because: why } });
      expect(events).toMatchObject([{ type: 'Warning', reason: 'InvalidSpec', note: why }]);
    }
    expect(api.writes).toEqual([]);
  });

  it('waits exactly until a failed Pod may be replaced', async () => {
    await given(set, pod('a').failed().createdAgo(4), pod('b').failed().createdAgo(60));
    const { rest, events } = await run();
    expect(rest).toMatchObject({ do: 'wait', atMostMs: 6_000 });
    expect(conditionThere('Ready')).toMatchObject({ status: 'False', reason: 'PodsFailed' });
    expect(events).toMatchObject([{ type: 'Warning', reason: 'FailedPods', occasion: 'uid-of-a' }]);
    nowMs += 6_000;
    expect((await run()).rest).toMatchObject({ do: 'converged' });
    expect(statusThere()).toMatchObject({ readyReplicas: 1 });
  });
});

describe('the names of Pods', () => {
  it('are the same for all who create from the same status, whatever else of the PodSet has changed', () => {
    const edited = set.wanting(7).ofGeneration(2).ofVersion('2');
    expect(firstNames(300, edited.view)).toEqual(firstNames(300));
  });

  it('are others once the status names Pods, and never the same twice', () => {
    const recorded = set.withStatus({ podNames: ['a'], observedGeneration: 1 });
    const names = [...firstNames(300), ...firstNames(300, recorded.view)];
    expect(new Set(names).size).toBe(600);
    for (const name of names) expect(name).toMatch(/^web-pod-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });
});
