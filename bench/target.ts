import { ADMIN } from '../local/cluster-files.ts';
import { durableOperator } from '../src/controllers/index.ts';
import { definitionsOf } from '../src/program/generate/field-schema.ts';
import { applyCustomResources } from '../local/custom-resources.ts';
import { layoutOf, pidsIn } from '../local/stack-folder.ts';
import { TestCluster } from '../test/support/cluster.ts';
import { startInstalledStack } from '../test/support/installed-stack.ts';
import { OPERATOR } from '../test/support/service-accounts.ts';
import { userNameOf } from '../testing/stack/service-account.ts';

/** A cluster and a Temporal server to measure on. */
export interface Target {
  readonly cluster: TestCluster;
  readonly temporalAddress: string;
  /** The operator's. */
  readonly kubeconfig: string;
  readonly user: string;
  /** Undefined where the API server's audit log cannot be read. */
  readonly auditLog: string | undefined;
  /** Those servers whose CPU can be read, by name. */
  readonly serverPids: Readonly<Record<string, number>>;
  /** Whether what was created must be removed again. */
  readonly isShared: boolean;
  close(): Promise<void>;
}

/** A cluster and a Temporal server that run already. */
export interface GivenTarget {
  readonly kubeconfig: string;
  readonly temporalAddress: string;
  readonly auditLog: string | undefined;
  /** The kubeconfig's user, as the audit log names it. */
  readonly user: string | undefined;
}

/** @throws CustomResourcesMissing, ApiError */
export async function givenTarget(given: GivenTarget): Promise<Target> {
  const { kubeconfig, temporalAddress, auditLog, user = ADMIN } = given;
  const cluster = new TestCluster(kubeconfig);
  await applyCustomResources(cluster.client, definitionsOf(durableOperator));
  const close = () => cluster.close();
  return { cluster, temporalAddress, kubeconfig, user, auditLog, serverPids: {}, isShared: true, close };
}

/** A new local stack, on which the operator has only the permissions of the chart. @throws StackFailed */
export async function freshTarget(say: (message: string) => void): Promise<Target> {
  const stack = await startInstalledStack(say);
  const cluster = new TestCluster(stack.kubeconfig);
  return {
    cluster,
    temporalAddress: stack.temporalAddress,
    kubeconfig: stack.operatorKubeconfig,
    user: userNameOf(OPERATOR),
    auditLog: stack.auditLog,
    serverPids: await serverPids(stack.dir),
    isShared: false,
    close: async () => {
      await cluster.close();
      await stack.stop();
    },
  };
}

const MEASURED_SERVERS: readonly string[] = ['temporal', 'kube-apiserver'];

async function serverPids(dir: string): Promise<Record<string, number>> {
  const pids = Object.entries(await pidsIn(layoutOf(dir)));
  return Object.fromEntries(pids.filter(([name]) => MEASURED_SERVERS.includes(name)));
}
