import { afterAll, beforeAll } from '@jest/globals';
import { join } from 'node:path';
import { TestCluster, uniqueName } from './cluster.ts';
import { FaultProxy } from './fault-proxy.ts';
import { endOperators, startOperator, type Operator, type OperatorRequest } from './operator.ts';
import { testStack, type TestStack } from './stack.ts';
import { writeKubeconfig, type ServiceAccount } from '../../testing/stack/service-account.ts';
import { TestTemporal } from './temporal.ts';

/** What a file of end-to-end tests works with. Everything is closed, and every operator ended, after the file. */
export interface Stage {
  readonly stack: TestStack;
  /** A person with all rights. */
  readonly cluster: TestCluster;
  readonly temporal: TestTemporal;
  /** Between the API server and the operators that are given its kubeconfig, which is the operator's. */
  readonly startProxy: () => Promise<FaultProxy>;
  /** Writes a file for whoever is to run as this account. @returns its path */
  readonly kubeconfigOf: (account: ServiceAccount) => Promise<string>;
}

/**
 * For a file whose tests start operators themselves.
 *
 * @param cleanUp when the operators have ended, and the cluster can still be asked
 */
export function setUpStage(cleanUp?: () => Promise<void>): Stage {
  const stack = testStack();
  const cluster = new TestCluster(stack.kubeconfig);
  const temporal = new TestTemporal(stack.temporalAddress);
  const proxies: FaultProxy[] = [];
  afterAll(async () => {
    await endOperators();
    await cleanUp?.();
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    await temporal.close();
    await cluster.close();
  });
  const newFile = () => join(stack.dir, `${uniqueName()}.kubeconfig`);
  const startProxy = async () => {
    const file = newFile();
    const proxy = await FaultProxy.start(stack.operatorKubeconfig, file);
    proxies.push(proxy);
    return proxy;
  };
  const kubeconfigOf = async (account: ServiceAccount) => {
    const file = newFile();
    await writeKubeconfig(cluster.client, { account, admin: stack.kubeconfig, file });
    return file;
  };
  return { stack, cluster, temporal, startProxy, kubeconfigOf };
}

/** For a file whose tests share one operator. */
export function setUpOperator(request: OperatorRequest): Stage & { readonly operator: Operator } {
  const stage = setUpStage();
  let started: Operator | undefined;
  beforeAll(async () => {
    started = await startOperator(request);
  });
  return {
    ...stage,
    get operator() {
      if (started === undefined) throw new Error('the operator starts only before the first test');
      return started;
    },
  };
}
