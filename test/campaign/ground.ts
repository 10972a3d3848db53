import { cp, rm } from 'node:fs/promises';
import { Client, Connection } from '@temporalio/client';
import { layoutOf } from '../../local/stack-folder.ts';
import { TestCluster } from '../support/cluster.ts';
import { startInstalledStack, type InstalledStack } from '../support/installed-stack.ts';
import type { Servers } from './faults.ts';
import { Observer } from './observer.ts';
import type { Ground } from './side.ts';

export interface OpenGround extends Ground {
  close(): Promise<void>;
}

/** @param areOwn whether one schedule at a time runs on them, so that faults may be of the servers themselves */
export async function openGround(areOwn: boolean, say: (message: string) => void): Promise<OpenGround> {
  const stack = await startInstalledStack(say);
  return groundOn(stack, { areOwn, close: () => stack.stop() });
}

/** What of a stack a ground needs. */
type Stack = Pick<InstalledStack, 'dir' | 'kubeconfig' | 'operatorKubeconfig' | 'temporalAddress'>;

/** On servers that run already, and go on when the ground is closed. */
export function sharedGround(stack: Stack): OpenGround {
  return groundOn(stack, { areOwn: false, close: () => Promise.resolve() });
}

function groundOn(
  stack: Stack | InstalledStack,
  { areOwn, close }: { readonly areOwn: boolean; readonly close: () => Promise<void> },
): OpenGround {
  const { dir, kubeconfig, operatorKubeconfig, temporalAddress } = stack;
  const cluster = new TestCluster(kubeconfig);
  const connection = Connection.lazy({ address: temporalAddress });
  const observer = new Observer(cluster);
  observer.start();
  return {
    ...{ dir, operatorKubeconfig, temporalAddress, cluster, observer },
    temporal: new Client({ connection }),
    servers: areOwn && 'stopServer' in stack ? serversOf(stack) : undefined,
    close: async () => {
      await observer.stop();
      await connection.close();
      await cluster.close();
      await close();
    },
  };
}

const CLUSTER = ['kwok', 'kube-scheduler', 'kube-controller-manager', 'kube-apiserver'] as const;

function serversOf(stack: InstalledStack): Servers {
  const { etcdData, temporalData } = layoutOf(stack.dir);
  const saved = `${etcdData}.saved`;
  let isSaved = false;

  /** Whoever watches the API server starts anew after it: their versions may be ahead of a restored database. */
  async function withoutCluster(act: () => Promise<void>): Promise<void> {
    for (const name of [...CLUSTER, 'etcd']) await stack.stopServer(name);
    await act();
    await Promise.all([stack.startServer('etcd'), stack.startServer('kube-apiserver')]);
    for (const name of CLUSTER.slice(0, -1)) await stack.startServer(name);
  }

  return {
    async restartTemporal() {
      await stack.stopServer('temporal');
      await stack.startServer('temporal');
    },
    async wipeTemporal() {
      await stack.stopServer('temporal');
      for (const suffix of ['', '-wal', '-shm']) await rm(`${temporalData}${suffix}`, { force: true });
      await stack.startServer('temporal');
    },
    async restartApiServer() {
      await stack.stopServer('kube-apiserver');
      await stack.startServer('kube-apiserver');
    },
    saveEtcd: () =>
      withoutCluster(async () => {
        await cp(etcdData, saved, { recursive: true });
        isSaved = true;
      }),
    restoreEtcd: () =>
      withoutCluster(async () => {
        if (!isSaved) return;
        await rm(etcdData, { recursive: true });
        await cp(saved, etcdData, { recursive: true });
      }),
  };
}
