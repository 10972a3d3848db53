import { afterEach, describe, expect, it } from '@jest/globals';
import { inBatches } from '../../activities/batches.ts';
import type { Event, Recorder } from '../../activities/events.ts';
import { podNames } from '../../activities/pod-names.ts';
import { passOverPodSet } from '../../activities/pod-sets.ts';
import type { Outcome } from '../../src/contract/run.ts';
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
import { aRecordingLogger } from '../support/recording-logger.ts';

const RUN = 'run-1';
const set = aPodSet();
const pod = (name: string) => aPodOf(set, name);

let api: FakePodSetApi;
let client: KubernetesClient;
let nowMs: number;
let events: Event[];

/** A cluster with these; the clock stands still unless told. */
async function given(podSet: PodSetBuilder, ...pods: readonly OwnedPodBuilder[]): Promise<void> {
  api = await FakePodSetApi.start(podSet, pods);
  client = createKubernetesClient(api.server.kubeConfig());
  nowMs = NOW_MS;
  events = [];
}

afterEach(async () => {
  await client.close();
  await api.server.stop();
});

const recorder: Recorder = { record: (_ref, _regarding, event) => void events.push(event) };

function pass(uid = POD_SET_UID, runId = RUN): Promise<Outcome> {
  const ref = { controller: 'pod-set', namespace: NAMESPACE, name: 'web', uid };
  return passOverPodSet({ client, recorder, log: aRecordingLogger(), ref, runId, now: () => nowMs });
}

/** The first names that the run gives. */
function firstNames(count: number, runId = RUN): readonly string[] {
  const names = podNames('web', runId);
  return Array.from({ length: count }, () => names.next().value);
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

const QUOTA = {
  status: 403,
  body: aStatus(403, { reason: 'Forbidden', message: 'pods "x" is forbidden: exceeded quota: few' }),
};
const NAMESPACE_TERMINATING = {
  status: 403,
  body: aStatus(403, {
    reason: 'Forbidden',
    message: 'it is being terminated',
    details: { causes: [{ reason: 'NamespaceTerminating' }] },
  }),
};
const UNAVAILABLE = { status: 500, body: aStatus(500, { message: 'etcd is away' }) };

describe('a pass that creates', () => {
  it('creates all that are missing under the names of the run, and writes the status once', async () => {
    await given(set.wanting(5));
    expect(await pass()).toEqual({ result: 'converged', did: 'created 5 Pods' });
    expect(podsThere()).toEqual(sorted(firstNames(5)));
    expect(statusThere()).toMatchObject({ podNames: podsThere(), readyReplicas: 5, observedGeneration: 1 });
    expect(api.writes.filter((call) => call.startsWith('PATCH'))).toEqual(['PATCH podsets/web/status']);
    expect(events).toMatchObject([{ type: 'Normal', reason: 'Created', occasion: RUN }]);
  });

  it('has nothing left to do for the pass after it: two reads, no write', async () => {
    await given(set.wanting(3));
    await pass();
    const before = api.calls.length;
    expect(await pass()).toEqual({ result: 'converged', did: 'no update required' });
    expect(api.calls.slice(before)).toEqual(['GET pods', 'GET podsets/web']);
  });

  it('gives no name that a Pod has, not even one that is being deleted', async () => {
    const [first = '', second = '', third = ''] = firstNames(3);
    await given(set.wanting(2), pod(first).beingDeleted(), pod(second));
    await pass();
    expect(podsThere()).toEqual(sorted([first, second, third]));
    expect(postsOf()).toBe(1);
  });

  it('counts a Pod of its name that an earlier attempt made after the look', async () => {
    const [first = ''] = firstNames(1);
    await given(set.wanting(2));
    api.meanwhile = ({ method }) => {
      if (method === 'POST' && api.pods.size === 0) api.pods.set(first, pod(first).object);
    };
    await pass();
    expect(podsThere()).toEqual(sorted(firstNames(2)));
  });

  it('takes the next name where a Pod of somebody else has it', async () => {
    const [taken = '', ...free] = firstNames(3);
    await given(set.wanting(2), pod(taken).foreign().relabelled());
    await pass();
    expect(podsThere()).toEqual(sorted([taken, ...free]));
    expect(api.pods.get(taken)?.metadata.uid).toBe(`uid-of-${taken}`);
  });

  it('releases a Pod of its name that has lost the labels, and creates another', async () => {
    const [lost = '', next = ''] = firstNames(2);
    await given(set.wanting(1), pod(lost).relabelled());
    expect(await pass()).toEqual({ result: 'converged', did: 'released 1 Pod, created 1 Pod' });
    expect(api.pods.get(lost)?.metadata.ownerReferences).toEqual([]);
    expect(statusThere()?.podNames).toEqual([next]);
  });

  it.each([1, 2, 3])(
    'whose answer to create %i is lost makes no Pod more when it is repeated',
    async (lost) => {
      await given(set.wanting(3));
      let posts = 0;
      api.interfere = ({ method }) => {
        if (method === 'POST') posts += 1;
        return method === 'POST' && posts === lost ? { when: 'after', ...UNAVAILABLE } : undefined;
      };
      await expect(pass()).rejects.toMatchObject({ classification: 'unavailable' });
      expect(statusThere()).toEqual({});
      await pass();
      expect(podsThere()).toEqual(sorted(firstNames(3)));
      expect(postsOf()).toBe(3);
    },
  );

  it('and another attempt of the same run at the same time make together as many Pods as are wanted', async () => {
    await given(set.wanting(20));
    await Promise.all([pass(), pass(), pass()]);
    expect(podsThere()).toEqual(sorted(firstNames(20)));
  });

  it('begins with one call, and stops at the first that is refused: the status has the server’s words', async () => {
    await given(set.wanting(2 ** 31 - 1));
    refusingPostsFrom(1, QUOTA);
    await expect(pass()).rejects.toMatchObject({ classification: 'refused' });
    expect(api.calls).toEqual(['GET pods', 'GET podsets/web', 'POST pods', 'PATCH podsets/web/status']);
    expect(conditionThere('Stalled')).toMatchObject({ status: 'True', reason: 'CreateFailed' });
    expect(conditionThere('Stalled')?.message).toContain('exceeded quota: few');
    expect(conditionThere('Ready')).toMatchObject({ status: 'False', reason: 'CreateFailed' });
  });

  it('that is refused in mid-batch keeps what it has, and then asks with one call at a time', async () => {
    await given(set.wanting(500));
    refusingPostsFrom(6, QUOTA);
    await expect(pass()).rejects.toMatchObject({ classification: 'refused' });
    expect(statusThere()).toMatchObject({ readyReplicas: 5, podNames: podsThere() });
    expect(postsOf()).toBe(7);
    const before = api.calls.length;
    await expect(pass()).rejects.toMatchObject({ classification: 'refused' });
    expect(api.calls.slice(before)).toEqual(['GET pods', 'GET podsets/web', 'POST pods']);
  });

  it('takes back what it said once it is not refused any more', async () => {
    await given(set.wanting(2));
    refusingPostsFrom(2, QUOTA);
    await expect(pass()).rejects.toMatchObject({ classification: 'refused' });
    api.interfere = () => undefined;
    expect(await pass()).toEqual({ result: 'converged', did: 'created 1 Pod' });
    expect(conditionThere('Stalled')).toMatchObject({ status: 'False' });
  });

  it('ends in a namespace that is being deleted, and writes nothing there', async () => {
    await given(set.wanting(5));
    refusingPostsFrom(1, NAMESPACE_TERMINATING);
    expect(await pass()).toMatchObject({ result: 'converged' });
    expect(api.writes).toEqual(['POST pods']);
  });

  it('ends when its time is up, with the status of what is there, and the next one goes on', async () => {
    await given(set.wanting(300));
    api.meanwhile = ({ method }) => {
      if (method === 'POST') nowMs += 10;
    };
    const first = await pass();
    expect(first).toMatchObject({ result: 'progressed', next: 'go on with the Pods of default/web' });
    const made = api.pods.size;
    expect(made).toBeGreaterThanOrEqual(150);
    expect(made).toBeLessThan(300);
    expect(first).toMatchObject({ did: `created ${made} Pods` });
    expect(statusThere()).toMatchObject({ readyReplicas: made });
    expect(events).toEqual([]);
    expect(await pass()).toEqual({ result: 'converged', did: `created ${300 - made} Pods` });
    expect(podsThere()).toEqual(sorted(firstNames(300)));
  });

  it('gets on even where each call takes longer than a pass may', async () => {
    await given(set.wanting(2));
    api.meanwhile = () => (nowMs += 5_000);
    expect(await pass()).toMatchObject({ result: 'progressed', did: 'created 1 Pod' });
    expect(await pass()).toMatchObject({ result: 'converged', did: 'created 1 Pod' });
  });
});

describe('a pass that deletes', () => {
  it('deletes by UID those that are too many', async () => {
    await given(set.wanting(1), pod('a').costing('1'), pod('b'), pod('c'));
    expect(await pass()).toEqual({ result: 'converged', did: 'deleted 2 Pods' });
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

  it('spares a Pod of the same name that came in its place, and takes one that is gone for deleted', async () => {
    await given(set.wanting(1), pod('a'), pod('b'), pod('c').costing('1'));
    api.meanwhile = ({ method }) => {
      if (method !== 'DELETE') return;
      api.pods.delete('a');
      api.pods.set('b', pod('b').withUid('another').foreign().object);
    };
    expect(await pass()).toEqual({ result: 'converged', did: 'deleted 2 Pods' });
    expect(api.pods.get('b')?.metadata.uid).toBe('another');
    expect(statusThere()?.podNames).toEqual(['c']);
  });

  it('removes finished Pods beyond those that are kept', async () => {
    const finished = [1, 2, 3, 4, 5, 6].map((age) =>
      pod(`f-${age}`)
        .failed()
        .createdAgo(age * 3600),
    );
    await given(set.wanting(0), ...finished);
    expect(await pass()).toEqual({ result: 'converged', did: 'removed 1 failed Pod' });
    expect(api.pods.has('f-6')).toBe(false);
  });
});

describe('a pass that adopts or releases', () => {
  it('adds its owner reference to the others, conditional on the very Pod that was seen', async () => {
    const orphan = pod('a').orphaned();
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'uid-of-c' };
    await given(set);
    api.pods.set('a', {
      ...orphan.object,
      metadata: { ...orphan.object.metadata, ownerReferences: [other] },
    });
    expect(await pass()).toEqual({ result: 'converged', did: 'adopted 1 Pod' });
    expect(api.bodiesOf('PATCH')[0]).toMatchObject({
      metadata: {
        uid: 'uid-of-a',
        resourceVersion: '1',
        ownerReferences: [other, { kind: 'PodSet', uid: POD_SET_UID, controller: true }],
      },
    });
    expect(events).toMatchObject([{ reason: 'Adopted' }]);
  });

  it('looks again where somebody changed the Pod meanwhile', async () => {
    await given(set, pod('a').orphaned());
    const foreign = pod('a').foreign().object;
    const theirs = { ...foreign, metadata: { ...foreign.metadata, resourceVersion: '2' } };
    api.meanwhile = ({ method }) => {
      if (method === 'PATCH' && api.writes.length === 1) api.pods.set('a', theirs);
    };
    expect(await pass()).toEqual({ result: 'converged', did: 'created 1 Pod' });
    expect(api.pods.get('a')).toEqual(theirs);
  });

  it('looks for a Pod that the status names by its name, and releases it before it is replaced', async () => {
    await given(set.withStatus({ podNames: ['a'] }), pod('a').relabelled());
    expect(await pass()).toEqual({ result: 'converged', did: 'released 1 Pod, created 1 Pod' });
    expect(api.calls.slice(0, 5)).toEqual([
      'GET pods',
      'GET podsets/web',
      'GET pods/a',
      'PATCH pods/a',
      'POST pods',
    ]);
    expect(api.pods.get('a')?.metadata.ownerReferences).toEqual([]);
  });

  it('gives up nothing of what is gone', async () => {
    await given(set.withStatus({ podNames: ['a'] }));
    expect(await pass()).toEqual({ result: 'converged', did: 'created 1 Pod' });
  });
});

describe('a pass over what is not as it was', () => {
  it('leaves a PodSet of the same name alone that came in its place', async () => {
    await given(set.wanting(3));
    expect(await pass('uid-of-the-predecessor')).toMatchObject({ result: 'converged' });
    expect(api.writes).toEqual([]);
  });

  it('looks again where the PodSet changed before its status was written', async () => {
    await given(set.wanting(1));
    let changes = 0;
    api.meanwhile = ({ method }) => {
      if (method !== 'PATCH' || changes > 0) return;
      changes += 1;
      api.podSet = {
        ...set.wanting(2).ofGeneration(2).object,
        metadata: { ...set.object.metadata, generation: 2, resourceVersion: '77' },
      };
    };
    expect(await pass()).toEqual({ result: 'converged', did: 'created 2 Pods' });
    expect(statusThere()).toMatchObject({ observedGeneration: 2, readyReplicas: 2 });
  });

  it('leaves it to the backoff where somebody always writes in between', async () => {
    await given(set.wanting(1), pod('a'));
    api.interfere = ({ method }) =>
      method === 'PATCH'
        ? { when: 'instead', status: 409, body: aStatus(409, { reason: 'Conflict', message: 'again' }) }
        : undefined;
    await expect(pass()).rejects.toMatchObject({ classification: 'conflict' });
    expect(api.writes).toHaveLength(4);
  });

  it('is over where the PodSet goes before its status is written', async () => {
    await given(set.wanting(1), pod('a'));
    api.meanwhile = ({ method }) => {
      if (method === 'PATCH') api.podSet = undefined;
    };
    expect(await pass()).toMatchObject({ result: 'converged' });
  });

  it('does nothing to a PodSet that is being deleted', async () => {
    await given(set.wanting(3).beingDeleted(), pod('a'), pod('b').orphaned());
    expect(await pass()).toMatchObject({ result: 'converged' });
    expect(api.writes).toEqual([]);
  });

  it('reads a list in pages', async () => {
    await given(set.wanting(3), pod('a'), pod('b'), pod('c'));
    api.pageMost = 1;
    await pass();
    expect(statusThere()?.podNames).toEqual(['a', 'b', 'c']);
    expect(api.calls.slice(0, 4)).toEqual(['GET pods', 'GET pods', 'GET pods', 'GET podsets/web']);
  });
});

describe('a pass that cannot go on', () => {
  it('stalls on a spec that cannot be, says why in the status and an Event, and deletes nothing', async () => {
    await given(set.wanting(-1), pod('a'));
    const why = expect.stringContaining('spec.replicas is -1');
    expect(await pass()).toEqual({ result: 'stalled', why });
    expect(conditionThere('Stalled')).toMatchObject({ status: 'True', reason: 'InvalidSpec', message: why });
    expect(events).toMatchObject([{ type: 'Warning', reason: 'InvalidSpec', note: why }]);
    expect(api.writes).toEqual(['PATCH podsets/web/status']);
  });

  it('waits exactly until a failed Pod may be replaced', async () => {
    await given(set, pod('a').failed().createdAgo(4), pod('b').failed().createdAgo(60));
    expect(await pass()).toMatchObject({ result: 'waiting', atMostMs: 6_000 });
    expect(conditionThere('Ready')).toMatchObject({ status: 'False', reason: 'PodsFailed' });
    expect(events).toMatchObject([{ type: 'Warning', reason: 'FailedPods', occasion: 'uid-of-a' }]);
    nowMs += 6_000;
    expect(await pass()).toEqual({ result: 'converged', did: 'created 1 Pod' });
  });
});

describe('the names of a run', () => {
  it('are the same for every attempt, others for another run, and never twice', () => {
    expect(firstNames(300)).toEqual(firstNames(300));
    expect(new Set([...firstNames(300), ...firstNames(300, 'run-2')]).size).toBe(600);
    for (const name of firstNames(300)) expect(name).toMatch(/^web-pod-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });
});

describe('batches', () => {
  const act = (sizes: number[]) => {
    let open = 0;
    return async () => {
      open += 1;
      sizes.push(open);
      await Promise.resolve();
      open -= 1;
    };
  };

  it('double until they are 16', async () => {
    const openAt: number[] = [];
    const items = Array.from({ length: 70 });
    await inBatches(items, act(openAt), { firstSize: 1, isTimeUp: () => false });
    const ups = (size: number) => Array.from({ length: size }, (_, i) => i + 1);
    expect(openAt).toEqual([1, 2, 4, 8, 16, 16, 16, 7].flatMap(ups));
  });

  it('are begun at least once, whatever the time', async () => {
    const openAt: number[] = [];
    const items = Array.from({ length: 70 });
    const end = await inBatches(items, act(openAt), { firstSize: 4, isTimeUp: () => true });
    expect(openAt).toEqual([1, 2, 3, 4]);
    expect(end.failure).toBeUndefined();
  });

  it('end with the batch in which one fails, and tell what was done all the same', async () => {
    const error = new Error('the sixth is refused');
    const end = await inBatches(
      Array.from({ length: 70 }, (_, i) => i + 1),
      (item) => (item === 6 ? Promise.reject(error) : Promise.resolve(item)),
      { firstSize: 1, isTimeUp: () => false },
    );
    expect(end).toEqual({ done: [1, 2, 3, 4, 5, 7], failure: { error } });
  });
});
