import { describe, expect, it, jest } from '@jest/globals';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { aBuild, LiveBuild, requestsIn } from '../support/builds.ts';
import { refOf } from '../support/cluster.ts';
import type { FaultProxy, ProxiedRequest } from '../support/fault-proxy.ts';
import { aTaskQueue, startOperator, type Operator } from '../support/operator.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(240_000);
/** Temporal gives up an attempt of a dead worker after 15 s. */
const WITHIN_MS = 90_000;

const { stack, cluster, temporal, startProxy } = setUpStage();

interface Place {
  readonly namespace: string;
  readonly proxy: FaultProxy;
  readonly start: () => Promise<Operator>;
}

/** A namespace with a proxy and an operator of its own, so that the tests can run side by side. */
async function aPlace(): Promise<Place> {
  const namespace = await cluster.aNamespace();
  const proxy = await startProxy();
  const args = ['--controllers', 'git-build', '--namespaces', namespace];
  const request = { kubeconfig: proxy.kubeconfig, taskQueue: aTaskQueue(), args };
  return { namespace, proxy, start: () => startOperator(request) };
}

function isWriteIn(namespace: string, { method, path }: ProxiedRequest): boolean {
  return method !== 'GET' && path.includes(`/namespaces/${namespace}/`) && !path.includes('/events');
}

/**
 * Kills the operator after the server has made its n-th write, before the operator knows. Then it starts another.
 *
 * @returns what resolves to the second operator; undefined: there was no n-th write
 */
function killAt(nth: number, first: Operator, place: Place): () => Promise<Operator | undefined> {
  let writes = 0;
  let second: Promise<Operator> | undefined;
  place.proxy.fault = (request) => {
    if (!isWriteIn(place.namespace, request)) return undefined;
    writes += 1;
    if (writes !== nth) return undefined;
    second = first.end('SIGKILL').then(place.start);
    return 'answer is lost';
  };
  return async () => second;
}

/** The writes for an undisturbed build, in their order. */
const WRITES = [
  'add the finalizer',
  'create the build Job',
  'report Building',
  'report Succeeded',
  'report Cleaning',
  'create the cleanup Job',
  'remove the finalizer',
];

describe('an operator that is killed after a write, before it gets the answer,', () => {
  it.concurrent.each(WRITES.map((write, index) => [write, index + 1] as const))(
    'builds and cleans once: %s',
    async (_, nth) => {
      const place = await aPlace();
      const { namespace } = place;
      const restarted = killAt(nth, await place.start(), place);
      const { manifest } = aBuild(namespace);
      const build = new LiveBuild(cluster, manifest, WITHIN_MS);
      await cluster.create(BUILDS, manifest);
      const done = await build.is('Succeeded');
      expect(done.status?.artifacts).toMatchObject([{ binary: build.binary }]);
      await build.delete();
      await build.gone();
      const second = await restarted();
      expect(second).toBeDefined();
      await temporal.untilCompleted(refOf('git-build', done), WITHIN_MS);
      await second?.end('SIGTERM');
      const made = requestsIn(namespace, stack.auditLog);
      expect(made.filter((request) => /^(create|delete) jobs( → 2..)?$/.test(request))).toEqual([
        'create jobs',
        'create jobs',
      ]);
      expect(made.filter((request) => /^patch xxxes$/.test(request))).toHaveLength(2);
    },
  );
});
