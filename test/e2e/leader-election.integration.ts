import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { BUILDS } from '../../src/controllers/git-build/resource.ts';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/decide.ts';
import { POD_SETS, type PodSet } from '../../src/controllers/pod-set/resource.ts';
import { aBuild, LiveBuild } from '../support/builds.ts';
import { PODS, refOf, ROLE_BINDINGS } from '../support/cluster.ts';
import { saidSince, TestElection } from '../support/elections.ts';
import { eventually } from '../support/eventually.ts';
import type { FaultProxy, ProxiedRequest } from '../support/fault-proxy.ts';
import { apiCallsOf, aTaskQueue, endOperators, startOperator, type Operator } from '../support/operator.ts';
import { aPod } from '../support/pods.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { setUpStage } from '../support/stage.ts';
import { kindOf } from '../support/workflow-world.ts';

jest.setTimeout(240_000);
/** An attempt whose worker died is given up after 15 s, and a leader that died is after 15 s, too. */
const WITHIN_MS = 90_000;

const { stack, cluster, temporal, startProxy } = setUpStage();
let election: TestElection;
let namespace: string;
let taskQueue: string;
let proxy: FaultProxy;

beforeEach(async () => {
  taskQueue = aTaskQueue();
  namespace = await cluster.aNamespace();
  election = new TestElection(cluster, namespace);
  await election.allow();
  proxy = await startProxy();
});

afterEach(endOperators);

/** Of one pool, as the client of the API server opens them. */
const CONNECTIONS = 64;

/** For tests in which somebody has to wait until a Lease has run out. */
const SHORT = [
  ...['--leader-election-lease-duration', '4s'],
  ...['--leader-election-renew-deadline', '3s'],
  ...['--leader-election-retry-period', '500ms'],
];

function start(args: readonly string[] = [], kubeconfig = stack.operatorKubeconfig): Promise<Operator> {
  const all = ['--namespaces', namespace, ...election.args, ...args];
  return startOperator({ kubeconfig, taskQueue, args: all });
}

/** The one behind the proxy leads, the others stand by. */
async function startThree(args: readonly string[] = []): Promise<[Operator, Operator, Operator]> {
  const leader = await start(args, proxy.kubeconfig);
  expect(await election.leaderOf([leader], WITHIN_MS)).toBe(leader);
  return [leader, await start(args), await start(args)];
}

const create = (name: string) => cluster.create(PODS, aPod().in(namespace).named(name).annotated().manifest);
const labelOf = async (name: string) =>
  (await cluster.get({ type: PODS, namespace, name }))?.metadata.labels?.[POD_NAME_LABEL];
const eventuallyLabelled = (name: string) =>
  eventually(async () => (await labelOf(name)) === name, WITHIN_MS);
const eventuallySays = (operator: Operator, words: string) =>
  eventually(() => saidSince(operator, words).length > 0, WITHIN_MS);

/** Some work for each controller. */
async function createWork(): Promise<readonly KubernetesObject[]> {
  const pods = Array.from({ length: 8 }, (_, i) => create(`web-${i}`));
  const podSet = cluster.create(POD_SETS, aPodSet().named('set').in(namespace).wanting(12).manifest);
  const build = cluster.create(BUILDS, aBuild(namespace, 'sample').manifest);
  return Promise.all([...pods, podSet, build]);
}

async function eventuallyDone(work: readonly KubernetesObject[]): Promise<void> {
  for (const { kind, metadata } of work) if (kind === 'Pod') await eventuallyLabelled(metadata.name);
  const podSet = { type: POD_SETS, namespace, name: 'set' };
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
  return apiCallsOf('operator', stack.auditLog)
    .filter(({ objectRef }) => objectRef?.namespace === namespace)
    .filter(({ verb }) => ['create', 'patch', 'delete'].includes(verb))
    .filter(({ responseStatus }) => (responseStatus?.code ?? 500) < 300)
    .filter(({ requestURI }) => !requestURI.includes('/status') && !requestURI.includes('/events'))
    .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource ?? ''}`)
    .filter((write) => write !== 'create leases')
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

describe('three operators', () => {
  it('have one leader, and the others are ready to follow it', async () => {
    const [leader, ...others] = await startThree();
    await create('web');
    await eventuallyLabelled('web');
    expect(saidSince(leader, 'started: ')).not.toEqual([]);
    for (const other of others) {
      expect(await other.readiness()).toEqual({ status: 200, body: 'ok\n' });
      expect(saidSince(other, 'standing by: ')).not.toEqual([]);
      expect(saidSince(other, 'started: ')).toEqual([]);
    }
  });

  it('do all there is to do, and each of it once', async () => {
    await startThree();
    await eventuallyDone(await createWork());
    expect(writes()).toEqual(WRITES);
  });

  it('do the same where the leader is killed in the middle of its work', async () => {
    const [leader, ...others] = await startThree();
    const killed = killAtWrite(8, leader);
    await eventuallyDone(await createWork());
    expect(await killed()).toBeNull();
    expect(await election.leaderOf(others, WITHIN_MS)).toBeDefined();
    expect(writes()).toEqual(WRITES);
  });

  it('need not wait for a Lease that its leader gives back when it is asked to stop', async () => {
    const [leader, ...others] = await startThree(['--leader-election-lease-duration', '1h']);
    expect(await leader.end('SIGTERM')).toBe(0);
    await create('web');
    await eventuallyLabelled('web');
    expect(await election.leaderOf(others, WITHIN_MS)).toBeDefined();
    expect(saidSince(leader, 'released the Lease')).not.toEqual([]);
  });

  it('have two leaders for no longer than until the old one can think again, and it does nothing', async () => {
    const [leader, ...others] = await startThree(SHORT);
    process.kill(leader.pid, 'SIGSTOP');
    try {
      await election.leaderOf(others, WITHIN_MS);
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

describe('a leader', () => {
  it.each([500, 409])('steps down where its renewals are answered by %d, and lives on', async (answer) => {
    const [leader, ...others] = await startThree(SHORT);
    proxy.fault = ({ method, path }) =>
      method === 'PUT' && path.includes('/leases/') ? { answer } : undefined;
    const next = await election.leaderOf(others, WITHIN_MS);
    await eventuallySays(leader, 'no longer leading: cannot renew the Lease within 3 s');
    await create('web');
    await eventuallyLabelled('web');
    expect(saidSince(leader, 'no longer leading: ').filter(isOfARun)).toEqual([]);
    proxy.fault = () => undefined;
    for (const other of others) await other.end(other === next ? 'SIGKILL' : 'SIGTERM');
    await create('again');
    await eventuallyLabelled('again');
    expect(saidSince(leader, 'started: ')).not.toEqual([]);
  });

  it('steps down where it may not renew any more, says what is missing, and leads again when it may', async () => {
    const leader = await start(SHORT);
    await election.leaderOf([leader], WITHIN_MS);
    await election.disallow();
    await eventuallySays(leader, 'no longer leading: ');
    expect(await leader.readiness()).toEqual({
      status: 503,
      body: expect.stringMatching(
        /^leader election: .* User "system:serviceaccount:system:durable-operator-controller-manager" cannot (get|update) resource "leases"/,
      ),
    });
    await create('web');
    await election.allow();
    await eventuallyLabelled('web');
    await eventually(async () => (await leader.readiness()).status === 200, WITHIN_MS);
  });

  it('goes on, as do the other controllers, while one makes more requests than it has connections, and none is answered', async () => {
    const leader = await start([], proxy.kubeconfig);
    await election.leaderOf([leader], WITHIN_MS);
    const held = (request: ProxiedRequest) => request.method === 'PATCH' && request.path.includes('/pods/');
    const isRenewal = ({ method, path }: ProxiedRequest) => method === 'PUT' && path.includes('/leases/');
    proxy.fault = (request) => (held(request) ? 'no answer' : undefined);
    await Promise.all(Array.from({ length: 200 }, (_, i) => create(`web-${i}`)));
    await eventually(() => proxy.requests.filter(held).length >= CONNECTIONS, WITHIN_MS);
    const renewals = proxy.requests.filter(isRenewal).length;
    await cluster.create(POD_SETS, aPodSet().named('set').in(namespace).wanting(12).manifest);
    const podSet = { type: POD_SETS, namespace, name: 'set' };
    await eventually(
      async () => (await cluster.get<PodSet>(podSet))?.status?.readyReplicas === 12,
      WITHIN_MS,
    );
    await eventually(() => proxy.requests.filter(isRenewal).length > renewals + 10, WITHIN_MS);
    expect(saidSince(leader, 'no longer leading: ')).toEqual([]);
    expect(await labelOf('web-0')).toBeUndefined();
  });

  it('goes on where its Lease was deleted by somebody', async () => {
    const leader = await start();
    await election.leaderOf([leader], WITHIN_MS);
    const { holderIdentity } = await election.spec();
    await election.deleteLease();
    await eventually(async () => (await election.spec()).holderIdentity === holderIdentity, WITHIN_MS);
    expect(saidSince(leader, 'no longer leading: ')).toEqual([]);
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
