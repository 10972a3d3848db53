import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { BUILDS } from '../../src/controllers/git-build/resource.ts';
import { aBuild, LiveBuild, requestsIn, SAMPLE } from '../support/builds.ts';
import { refOf } from '../support/cluster.ts';
import type { FaultProxy, ProxiedRequest } from '../support/fault-proxy.ts';
import { aTaskQueue, endOperators, startOperator, type Operator } from '../support/operator.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(240_000);
/** An attempt whose worker died is given up after 15 s. */
const WITHIN_MS = 60_000;

const { stack, cluster, temporal, startProxy } = setUpStage();
let proxy: FaultProxy;
let namespace: string;
let taskQueue: string;

beforeEach(async () => {
  taskQueue = aTaskQueue();
  namespace = await cluster.aNamespace();
  proxy = await startProxy();
});

afterEach(endOperators);

function start(): Promise<Operator> {
  const args = ['--controllers', 'git-build', '--namespaces', namespace];
  return startOperator({ kubeconfig: proxy.kubeconfig, taskQueue, args });
}

function isWrite({ method, path }: ProxiedRequest): boolean {
  return method !== 'GET' && path.includes(`/namespaces/${namespace}/`) && !path.includes('/events');
}

/** Kills the operator when the server has made its n-th write, and before the operator knows; then starts another. */
function killAt(nth: number, first: Operator): () => Promise<Operator | undefined> {
  let writes = 0;
  let next: Promise<Operator> | undefined;
  proxy.fault = (request) => {
    if (!isWrite(request)) return undefined;
    writes += 1;
    if (writes !== nth) return undefined;
    next = first.end('SIGKILL').then(start);
    return 'answer is lost';
  };
  return async () => next;
}

/** Of an undisturbed life: what is written, in its order. */
const WRITES = [
  'add the finalizer',
  'create the build Job',
  'report Building',
  'report Succeeded',
  'report Cleaning',
  'create the cleanup Job',
  'remove the finalizer',
];

describe('an operator that is killed once it has written, and before it knows,', () => {
  it.each(WRITES.map((write, index) => [write, index + 1] as const))(
    'to %s, builds and cleans once, as if nothing had been',
    async (_, nth) => {
      const restarted = killAt(nth, await start());
      const { manifest } = aBuild(namespace);
      const build = new LiveBuild(cluster, manifest, WITHIN_MS);
      await cluster.create(BUILDS, manifest);
      const done = await build.is('Succeeded');
      expect(done.status?.artifacts).toMatchObject([{ binary: SAMPLE.binaryName }]);
      await build.delete();
      await build.gone();
      expect(await restarted()).toBeDefined();
      await temporal.untilCompleted(refOf('git-build', done), WITHIN_MS);
      const made = requestsIn(namespace, stack.auditLog);
      expect(made.filter((request) => /^(create|delete) jobs( → 2..)?$/.test(request))).toEqual([
        'create jobs',
        'create jobs',
      ]);
      expect(made.filter((request) => /^patch xxxes$/.test(request))).toHaveLength(2);
    },
  );
});
