import { afterEach, describe, expect, it } from '@jest/globals';
import type { KnownObservation } from '../../activities/run-memory.ts';
import { podSetReconciler } from '../../activities/pod-set.ts';
import { StepRun } from '../../activities/step-run.ts';
import { isRest, type NextInHistory } from '../../src/contract/decision.ts';
import type { Observation } from '../../src/controllers/pod-set/decide.ts';
import { podView, type PodView } from '../../src/controllers/pod-set/pod.ts';
import { podSetView } from '../../src/controllers/pod-set/resource.ts';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { FakePodSetApi } from '../support/fake-pod-set-api.ts';
import {
  aPodOf,
  aPodSet,
  NAMESPACE,
  NOW_MS,
  POD_SET_UID,
  type OwnedPodBuilder,
} from '../support/pod-sets.ts';

const set = aPodSet();
/** They are deleted in the order of their names. */
const podsNamed = (count: number) => Array.from({ length: count }, (_, i) => aPodOf(set, nameOf(i + 1)));
const nameOf = (number: number) => `web-${String(number).padStart(4, '0')}`;

let api: FakePodSetApi;
let client: KubernetesClient;
let nowMs: number;
/** What the watcher of this process shows. */
let shown: () => readonly PodView[] | undefined;

async function given(replicas: number, pods: readonly OwnedPodBuilder[]): Promise<void> {
  api = await FakePodSetApi.start(set.wanting(replicas).withStatus({ podNames: [] }), pods);
  client = createKubernetesClient(api.server.kubeConfig());
  nowMs = NOW_MS;
}

afterEach(async () => {
  await client.close();
  await api.server.stop();
});

const watchedPods = () =>
  [...api.pods.values()]
    .map((each) => podView(each, 'web'))
    .filter((view) => view !== undefined)
    .filter(({ matches, controllerUid }) => matches && controllerUid === POD_SET_UID);

function observed(pods: readonly PodView[]): Observation | undefined {
  return api.podSet && { podSet: podSetView(api.podSet), pods, lookedFor: [] };
}

/** Steps one after the other, as the workflow calls them, with what each leaves to the next. @returns their names */
async function run(): Promise<readonly string[]> {
  const steps: string[] = [];
  const ref = { controller: 'pod-set', namespace: NAMESPACE, name: 'web', uid: POD_SET_UID };
  let next: NextInHistory = { do: 'deletePods', because: 'the test calls for it' };
  let known: KnownObservation<Observation> | undefined;
  while (!isRest(next)) {
    if (steps.push(next.do) > 30) throw new Error(`it never ends: ${steps.join()}`);
    const watched = () => {
      const pods = shown();
      return pods && observed(pods);
    };
    const context = { ref, now: () => nowMs, superseded: new AbortController().signal, watched };
    ({ next, known } = await new StepRun(podSetReconciler(client), context).perform(next.do, known));
  }
  return steps;
}

/** Each DELETE takes so long; somebody acts just before the one of that number, from 1. */
function during({ deleteMs, at, act }: { deleteMs: number; at: number; act: () => void }): void {
  let deletes = 0;
  api.meanwhile = ({ method }) => {
    if (method !== 'DELETE') return;
    nowMs += deleteMs;
    if ((deletes += 1) === at) act();
  };
}

const replaced = (pod: OwnedPodBuilder) => {
  const { object } = pod.ofVersion('1000');
  api.pods.set(object.metadata.name, object);
};
/** The last of 200 to be deleted, where one stays. */
const LAST = nameOf(199);
const last = aPodOf(set, LAST);
const readsOf = (what: RegExp) => api.calls.filter((call) => what.test(call)).length;
const deletesOf = (name: string) => api.calls.filter((call) => call === `DELETE pods/${name}`).length;

const TAKEN_OUT = [
  ['has lost the labels', () => replaced(last.relabelled()), 'releasePods'],
  ['has got another controller', () => replaced(last.foreign()), 'updateStatus'],
] as const;

describe('a Pod that, more than a second before its turn to be deleted,', () => {
  it.each(TAKEN_OUT)(
    '%s is spared where the watcher shows it no more, without a list',
    async (_, act, step) => {
      await given(1, podsNamed(200));
      shown = watchedPods;
      during({ deleteMs: 20, at: 20, act });
      expect(await run()).toContain(step);
      expect(deletesOf(LAST)).toBe(0);
      expect(api.pods.size).toBe(2);
      expect([readsOf(/^GET pods$/), readsOf(/^GET pods\//)]).toEqual([1, 1]);
    },
  );

  it.each(TAKEN_OUT)('%s is spared where nobody watches, by one list a second', async (_, act, step) => {
    await given(1, podsNamed(200));
    shown = () => undefined;
    during({ deleteMs: 20, at: 20, act });
    expect(await run()).toContain(step);
    expect(deletesOf(LAST)).toBe(0);
    expect(api.pods.size).toBe(2);
    // 200 deletes take four seconds, and one batch more than the time between two lists.
    expect(readsOf(/^GET pods$/)).toBeLessThanOrEqual(6);
  });

  it.each(TAKEN_OUT)(
    '%s is spared where the watch stands still, and nothing says so',
    async (_, act, step) => {
      await given(1, podsNamed(200));
      const views = watchedPods();
      shown = () => views;
      during({ deleteMs: 20, at: 20, act });
      expect(await run()).toContain(step);
      expect(deletesOf(LAST)).toBe(0);
    },
  );
});

describe('a watcher that lags behind', () => {
  it('is not gone by, however much it shows later', async () => {
    await given(1, podsNamed(200));
    const states: (readonly PodView[])[] = [];
    // What there was sixty deletes ago.
    shown = () => states[Math.max(0, states.length - 60)];
    during({ deleteMs: 50, at: 20, act: () => replaced(last.relabelled()) });
    const act = api.meanwhile;
    api.meanwhile = (request) => {
      if (request.method === 'DELETE') states.push(watchedPods());
      act(request);
    };
    await run();
    expect(deletesOf(LAST)).toBe(0);
  });
});

describe('a failed Pod', () => {
  it('is spared once somebody has taken out its labels to look into it', async () => {
    const failed = [1, 2, 3, 4, 5, 6].map((hours) =>
      aPodOf(set, `failed-${hours}`)
        .failed()
        .createdAgo(hours * 3600),
    );
    await given(0, failed);
    shown = () => {
      replaced(aPodOf(set, 'failed-6').failed().relabelled());
      return watchedPods();
    };
    api.meanwhile = ({ url }) => {
      // Between the list and the delete.
      if (url.pathname.endsWith('/podsets/web')) nowMs += 2_000;
    };
    await run();
    expect(deletesOf('failed-6')).toBe(0);
  });
});
