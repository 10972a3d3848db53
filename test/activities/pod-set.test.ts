import { afterEach, describe, expect, it } from '@jest/globals';
import type { KnownObservation } from '../../activities/run-memory.ts';
import { podNames } from '../../activities/pod-names.ts';
import { podSetReconciler } from '../../activities/pod-set.ts';
import { StepRun, type StepEnd } from '../../activities/step-run.ts';
import {
  type DecisionEvent,
  type Action,
  isRest,
  type NextInHistory,
  type Refusal,
  sentenceOf,
} from '../../src/contract/decision.ts';
import type { Observation } from '../../src/controllers/pod-set/decide.ts';
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
/** What the attempts have told while they were in progress. */
let told: string[];
const progress = (did: readonly Action[]) => told.push(sentenceOf(did));
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
  told = [];
}

afterEach(async () => {
  await client.close();
  await api.server.stop();
});

type Knowledge = KnownObservation<Observation>;

/** One step, as its activity performs it. */
function step(name: string, from?: Knowledge, uid = POD_SET_UID): Promise<StepEnd<Observation>> {
  const ref = { controller: 'pod-set', namespace: NAMESPACE, name: api.podSet?.metadata.name ?? 'web', uid };
  const context = {
    ref,
    now: () => nowMs,
    superseded: superseding.signal,
    watched: () => shown,
    refusal,
    progress,
  };
  return new StepRun(podSetReconciler(client), context).perform(name, from);
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
  readonly rest: NextInHistory;
  readonly events: readonly DecisionEvent[];
}

/** Calls step after step as the workflow does, until the run rests; at most so many. */
async function run(first = 'observe', from?: Knowledge, stepsMax = 12): Promise<End> {
  const steps: string[] = [];
  const did: Action[] = [];
  const events: DecisionEvent[] = [];
  let known = from;
  let next: NextInHistory = { do: first, because: 'the test calls for it' };
  while (!isRest(next)) {
    if (steps.push(next.do) > stepsMax) throw new Error(`it never ends: ${steps.join()}`);
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
    expect(events).toMatchObject([
      { type: 'Normal', reason: 'Created', note: 'created 5 Pods, as spec.replicas is 5' },
    ]);
  });

  it('takes another of its names where a Pod of somebody else has the first', async () => {
    const [[taken = '', second = ''] = [], [other = ''] = []] = namesToTry(2);
    await given(set.wanting(2), pod(taken).foreign().relabelled());
    await run();
    expect(podsThere()).toEqual(sorted([taken, second, other]));
    expect(api.pods.get(taken)?.metadata.uid).toBe(`uid-of-${taken}`);
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
    const note = (count: number) => `created ${count} Pods, as spec.replicas is 400`;
    expect(events).toMatchObject([{ note: note(150) }, { note: note(150) }, { note: note(100) }]);
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
    expect(told.at(-1)).toBe('deleted 2 Pods b, c');
    expect(events).toMatchObject([{ reason: 'Deleted', note: 'deleted 2 Pods, as spec.replicas is 1' }]);
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
    await given(set, pod('a').controllerReference(other));
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
});

describe('releasePods', () => {
  it('gives up a Pod that is found by the name in the status, before it is replaced', async () => {
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'uid-of-c' };
    const [owner] = pod('a').object.metadata.ownerReferences ?? [];
    if (owner === undefined) throw new Error('it has no owner');
    await given(set.withStatus({ podNames: ['a'] }), pod('a').controllerReference(other, owner).relabelled());
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
});

describe('updateStatus', () => {
  it('names the field that an old CRD drops', async () => {
    await given(set, pod('a'));
    api.drops = 'selector';
    const { known } = await step('updateStatus');
    expect(await step('updateStatus', known)).toMatchObject({
      next: { do: 'updateStatus' },
      refusal: { because: 'overridden', message: expect.stringContaining('status.selector') },
    });
  });
});

describe('a run', () => {
  it('stalls on an invalid spec, says why in the status and an Event, and deletes nothing', async () => {
    await given(set.wanting(-1), pod('a'));
    const why = expect.stringContaining('spec.replicas is -1');
    const { rest, events } = await run();
    expect(rest).toMatchObject({ do: 'stalled', message: why });
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
    const why = expect.stringContaining('the name has 64 characters');
    for (const first of ['observe', 'updateStatus']) {
      const { steps, rest, events } = await run(first);
      expect({ steps, rest }).toMatchObject({ steps: [first], rest: { do: 'stalled', message: why } });
      expect(events).toMatchObject([{ type: 'Warning', reason: 'InvalidSpec', note: why }]);
    }
    expect(api.writes).toEqual([]);
  });

  it('waits exactly until a failed Pod may be replaced', async () => {
    await given(set, pod('a').failed().createdAgo(4), pod('b').failed().createdAgo(60));
    const { rest, events } = await run();
    expect(rest).toMatchObject({ do: 'wait', recheckMs: 6_000 });
    expect(conditionThere('Ready')).toMatchObject({ status: 'False', reason: 'PodsFailed' });
    expect(events).toMatchObject([{ type: 'Warning', reason: 'PodsFailed', occasion: 'uid-of-a' }]);
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
});

describe('a run for a PodSet whose Pod stays unready, and does not say why', () => {
  const silent = pod('a').on('n1').unreadyFor(90);
  const since = '2026-11-22T09:00:00Z';
  const ready = { type: 'Ready', status: 'Unknown', lastTransitionTime: since };
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' }, status: { conditions: [ready] } };

  const answerAboutNodes = (status: number, body: object) => {
    api.interfere = ({ url }) =>
      url.pathname === '/api/v1/nodes/n1' ? { when: 'instead', status, body } : undefined;
  };
  const nodesRead = () => api.calls.filter((call) => call.includes('/nodes/'));
  const readyCondition = () => api.podSet?.status?.conditions?.find(({ type }) => type === 'Ready');

  it('reads the node once, and says that it is not ready, and since when', async () => {
    await given(set.wanting(1), silent);
    answerAboutNodes(200, node);
    await run();
    expect(readyCondition()).toMatchObject({
      reason: 'NodeNotReady',
      message: `Pod a is on node n1, which is not ready since ${since}`,
    });
    const { did } = await run();
    expect(did).toBe('');
    expect(nodesRead()).toEqual(['GET /api/v1/nodes/n1']);
  });

  it('says that the Pod is not ready where the operator may not read nodes', async () => {
    await given(set.wanting(1), silent);
    answerAboutNodes(403, aStatus(403, { reason: 'Forbidden', message: 'nodes "n1" is forbidden' }));
    await run();
    expect(readyCondition()).toMatchObject({ reason: 'PodsNotReady' });
  });
});
