import { expect, it, jest } from '@jest/globals';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { ask } from '../support/asking.ts';
import { aBuild, aForeignJob } from '../support/builds.ts';
import { PODS, ROLE_BINDINGS, type At } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { aTaskQueue, startOperator } from '../support/operator.ts';
import { limitPods } from '../support/pod-quota.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { aPod } from '../support/pods.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(180_000);
const WITHIN_MS = 90_000;
const LIMIT_RANGES = { group: '', version: 'v1', plural: 'limitranges' };

const { cluster } = setUpStage();

const annotations = (of: Readonly<Record<string, string>>) => ({ metadata: { annotations: of } });

async function aPodSetIn(namespace: string, name: string, replicas: number): Promise<At> {
  await cluster.create(PodSetKind, aPodSet().in(namespace).named(name).wanting(replicas).manifest);
  return { type: PodSetKind, namespace, name };
}

/** Changes it once it has all its Pods. */
async function change(at: At, readyReplicas: number, patch: object): Promise<void> {
  await eventually(async () => {
    expect(await cluster.get(at)).toMatchObject({ status: { readyReplicas } });
    return true;
  }, WITHIN_MS);
  await cluster.patch(at, patch);
}

/** What people hold back, or meant to. */
async function holdPodSets(namespace: string): Promise<void> {
  const [paused, asks, odd] = await Promise.all([
    aPodSetIn(namespace, 'paused', 1),
    aPodSetIn(namespace, 'asks', 3),
    aPodSetIn(namespace, 'odd', 1),
  ]);
  const pause = annotations({ 'durable-operator.dev/paused': 'true' });
  await change(paused, 1, { ...pause, spec: { replicas: 2 } });
  await change(asks, 3, annotations({ 'durable-operator.dev/approval': 'required' }));
  await change(asks, 3, { spec: { replicas: 1 } });
  await change(odd, 1, annotations({ 'durable-operator.dev/paused': 'yes' }));
}

/** A quota refuses the Pods of two; the Pods of another find no node. */
async function breakPodSets(small: string, large: string): Promise<void> {
  await limitPods(cluster, small, 3);
  await Promise.all([aPodSetIn(small, 'web', 5), aPodSetIn(small, 'cart', 5)]);
  // More than any of the simulated nodes has.
  const limits = [{ type: 'Container', defaultRequest: { cpu: '2k' }, default: { cpu: '2k' } }];
  const metadata = { name: 'large', namespace: large };
  await cluster.create(LIMIT_RANGES, { apiVersion: 'v1', kind: 'LimitRange', metadata, spec: { limits } });
  await aPodSetIn(large, 'unready', 3);
}

async function breakOthers(namespace: string): Promise<void> {
  await aForeignJob(cluster, namespace, 'taken');
  await cluster.create(BUILDS, aBuild(namespace, 'taken').with({ jobName: 'taken' }).manifest);
  await cluster.create(BUILDS, aBuild(namespace, 'image').manifest);
  await cluster.create(PODS, aPod().in(namespace).named('x'.repeat(70)).annotated().manifest);
  const binding = { type: ROLE_BINDINGS, namespace, name: `ad-kubernetes-${namespace}` };
  await eventually(() => cluster.get(binding), WITHIN_MS);
  const labels = { 'app.kubernetes.io/managed-by': null };
  await cluster.patch(binding, { metadata: { labels }, subjects: [] });
}

/** Which groups a text has, in their order. */
const titlesIn = (text: string) =>
  [...text.matchAll(/^(\w+(?:: \w+)?, \d+ of [\w-]+), /gm)].map(([, title]) => title);

it('why -A names all that is not well by cause, the worst first, with a command for each', async () => {
  const held = await cluster.aNamespace();
  const small = await cluster.aNamespace();
  const large = await cluster.aNamespace();
  const taskQueue = aTaskQueue();
  const where = ['--namespaces', [held, small, large].join()];
  await startOperator({ taskQueue, args: [...where, '--build-image', 'missing.invalid/golang:1.13'] });
  await Promise.all([holdPodSets(held), breakPodSets(small, large), breakOthers(held)]);

  const expected = [
    'Stalled: NameTooLong, 1 of pod-label',
    'Stalled: ForeignRoleBinding, 1 of namespace-role-binding',
    'Stalled: JobNameTaken, 1 of git-build',
    'Retrying: QuotaExceeded, 2 of pod-set',
    'NotReady: Unschedulable, 1 of pod-set',
    'InvalidAnnotation, 1 of pod-set',
    'AwaitingApproval, 1 of pod-set',
    'Waiting: ImageNotPulled, 1 of git-build',
    'Paused, 1 of pod-set',
  ];
  const said = await eventually(async () => {
    const answer = await ask(['why', '-A', '--task-queue', taskQueue]);
    expect(titlesIn(answer.stdout)).toEqual(expected);
    return answer;
  }, WITHIN_MS);
  expect(said).toMatchObject({ status: 1, stderr: '' });
  // Other tests of this Temporal server may have left runs on their task queues, which come first.
  expect(said.stdout).toMatch(/^10 of \d+ resources are not well\n\n/m);
  expect(said.stdout.match(/^ {2}you can {3}kubectl /gm)).toHaveLength(expected.length);
  for (const command of [
    `kubectl describe pod unready-pod-\\w+ -n ${large} `,
    `kubectl durable pause podset/odd -n ${held} `,
    `kubectl durable plan podset/asks -n ${held} `,
    `kubectl durable resume podset/paused -n ${held} `,
  ])
    expect(said.stdout).toMatch(new RegExp(command));
});
