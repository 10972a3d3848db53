import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { KubernetesObject } from '../../src/api/object.ts';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { type PodSet, aPodSet } from '../support/pod-sets.ts';
import { LEASES } from '../../src/api/built-in.ts';
import type { Lease } from '../../src/kubernetes/lease.ts';
import { ask } from '../support/asking.ts';
import { aBuild, LiveBuild } from '../support/builds.ts';
import { PODS, refOf, ROLE_BINDINGS } from '../support/cluster.ts';
import { installed } from '../support/delivered.ts';
import { eventually } from '../../testing/eventually.ts';
import type { FaultProxy, ProxiedRequest } from '../support/fault-proxy.ts';
import { aTaskQueue, endOperators, startOperator, type Operator } from '../support/operator.ts';
import { aPod } from '../support/pods.ts';
import { setUpStage } from '../support/stage.ts';
import { kindOf } from '../support/workflow-world.ts';
import { operatorWritesIn } from '../support/writes.ts';

jest.setTimeout(240_000);
/** An attempt whose worker died is given up after 15 s, and a leader that died is after 15 s, too. */
const WITHIN_MS = 90_000;

const { stack, cluster, temporal, startProxy } = setUpStage();
let namespace: string;
let taskQueue: string;
let proxy: FaultProxy;

beforeEach(async () => {
  taskQueue = aTaskQueue();
  namespace = await cluster.aNamespace();
  await allowLease();
  proxy = await startProxy();
});

afterEach(endOperators);

/** For tests in which somebody has to wait until a Lease has run out. */
const SHORT = [
  ...['--leader-election-lease-duration', '4s'],
  ...['--leader-election-renew-deadline', '3s'],
  ...['--leader-election-retry-period', '500ms'],
];

function start(args: readonly string[] = [], kubeconfig = stack.operatorKubeconfig): Promise<Operator> {
  const all = [
    '--namespaces',
    namespace,
    '--enable-leader-election',
    '--leader-election-namespace',
    namespace,
    ...args,
  ];
  return startOperator({ kubeconfig, taskQueue, args: all });
}

/** The one behind the proxy leads, the other stands by. */
async function startTwo(args: readonly string[] = []): Promise<[Operator, Operator]> {
  const leader = await start(args, proxy.kubeconfig);
  expect(await leaderOf([leader])).toBe(leader);
  return [leader, await start(args)];
}

const create = (name: string) => cluster.create(PODS, aPod().in(namespace).named(name).annotated().manifest);
const labelOf = async (name: string) =>
  (await cluster.get({ type: PODS, namespace, name }))?.metadata.labels?.[POD_NAME_LABEL];
const eventuallyLabelled = (name: string) =>
  eventually(async () => (await labelOf(name)) === name, WITHIN_MS);
const eventuallySays = ({ logs }: Operator, words: string) =>
  eventually(() => logs.some(({ msg }) => String(msg).startsWith(words)), WITHIN_MS);

/** Which of them holds the Lease, once one does that says so, too. */
function leaderOf(operators: readonly Operator[]): Promise<Operator> {
  const lease = { type: LEASES, namespace, name: 'durable-operator' };
  return eventually(async () => {
    const holder = (await cluster.get<Lease>(lease))?.spec?.holderIdentity;
    return operators.find(({ logs }) =>
      logs.some(({ identity, msg }) => identity === holder && String(msg).startsWith('became leader: ')),
    );
  }, WITHIN_MS);
}

const ACCESS = [
  { type: { ...ROLE_BINDINGS, plural: 'roles' }, name: 'durable-operator-leader-election-role' },
  { type: ROLE_BINDINGS, name: 'durable-operator-leader-election-rolebinding' },
];

/** Lets the operators hold the Lease in this namespace, as the chart does in the release's. */
async function allowLease(): Promise<void> {
  const delivered = await installed();
  for (const { type, name } of ACCESS) {
    const object = delivered.find(({ metadata }) => metadata.name === name);
    await cluster.create(type, { ...object, metadata: { name, namespace } });
  }
}

/** Some work for each controller. */
async function createWork(): Promise<readonly KubernetesObject[]> {
  const pods = Array.from({ length: 8 }, (_, i) => create(`web-${i}`));
  const podSet = cluster.create(PodSetKind, aPodSet().named('set').in(namespace).wanting(12).manifest);
  const build = cluster.create(BUILDS, aBuild(namespace, 'sample').manifest);
  return Promise.all([...pods, podSet, build]);
}

async function eventuallyDone(work: readonly KubernetesObject[]): Promise<void> {
  for (const { kind, metadata } of work) if (kind === 'Pod') await eventuallyLabelled(metadata.name);
  const podSet = { type: PodSetKind, namespace, name: 'set' };
  await eventually(async () => (await cluster.get<PodSet>(podSet))?.status?.readyReplicas === 12, WITHIN_MS);
  await new LiveBuild(cluster, aBuild(namespace, 'sample').manifest, WITHIN_MS).is('Succeeded');
  const binding = { type: ROLE_BINDINGS, namespace, name: `ad-kubernetes-${namespace}` };
  await eventually(() => cluster.get(binding), WITHIN_MS);
  for (const object of work) await eventuallyOver(object);
}

const CONTROLLERS = new Map([
  ['Pod', 'pod-label'],
  ['PodSet', 'pod-set'],
  ['Xxx', 'git-build'],
]);

function eventuallyOver(object: KubernetesObject): Promise<void> {
  const controller = CONTROLLERS.get(object.kind ?? '') ?? '';
  return temporal.untilCompleted(refOf(controller, object), WITHIN_MS);
}

/** `create pods`: what the operators have written, and the server has accepted; status and Events apart. */
function writes(): readonly string[] {
  return operatorWritesIn(namespace, stack.auditLog)
    .filter(({ resource, subresource }) => resource !== 'leases' && subresource === undefined)
    .map(({ verb, resource }) => `${verb} ${resource}`)
    .sort();
}

/** One Pod each, one RoleBinding, one Job. */
const WRITES: readonly string[] = [
  'create jobs',
  ...Array<string>(12).fill('create pods'),
  'create rolebindings',
  ...Array<string>(8).fill('patch pods'),
  'patch xxxes',
];

function isWrite({ method, path }: ProxiedRequest): boolean {
  return method !== 'GET' && !/\/(events|leases)/.test(path);
}

describe('a leader and a standby', () => {
  it('make each write once, even if the leader is killed in the middle of its work', async () => {
    const [leader, other] = await startTwo();
    const killed = killAtWrite(8, leader);
    await eventuallyDone(await createWork());
    expect(await killed()).toBeNull();
    expect(await leaderOf([other])).toBe(other);
    expect(writes()).toEqual(WRITES);
    await endOperators();
    // Temporal still lists the workers.
    const { status, stdout } = await ask(['why', '-n', namespace, 'pods', '--task-queue', taskQueue]);
    expect(stdout).toMatch(/^Nobody watches the cluster\n {2}because {3}nobody holds the Lease /);
    expect(status).toBe(1);
  });

  it('stay safe if the leader is frozen: it starts nothing after it continues', async () => {
    const [leader, other] = await startTwo(SHORT);
    process.kill(leader.pid, 'SIGSTOP');
    try {
      await leaderOf([other]);
      const saidUntilThen = leader.logs.length;
      const stalled = await create('long'.padEnd(70, 'x'));
      await eventually(
        async () => (await temporal.runsOf(refOf('pod-label', stalled)))[0]?.status === 'RUNNING',
        WITHIN_MS,
      );
      process.kill(leader.pid, 'SIGCONT');
      await eventuallySays(leader, 'standing by: ');
      const said = leader.logs.slice(saidUntilThen).map(({ msg }) => String(msg));
      expect(said.filter(isOfARun)).toEqual([]);
      const story = await temporal.historyOf(refOf('pod-label', stalled));
      expect(story.map(kindOf)).not.toContain('workflowExecutionSignaled');
    } finally {
      process.kill(leader.pid, 'SIGCONT');
    }
  });
});

/** The server has made its n-th write through the proxy, and the answer is lost. @returns the operator's exit code, or undefined where it was not killed */
function killAtWrite(nth: number, operator: Operator): () => Promise<number | null | undefined> {
  let count = 0;
  let ended: Promise<number | null> | undefined;
  proxy.fault = (request) => {
    if (!isWrite(request)) return undefined;
    count += 1;
    if (count !== nth) return undefined;
    ended = operator.end('SIGKILL');
    return 'answer is lost';
  };
  return async () => ended;
}

/** Whether it is about a run that was started, or was to be. */
function isOfARun(message: string): boolean {
  return /^(started|already-open): /.test(message);
}
