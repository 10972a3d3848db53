import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPrograms, buildServers, type Binaries } from '../../local/build.ts';
import { startStack, type Stack } from '../../local/stack.ts';
import { standIn, type StandIn } from './deployed-temporal.ts';
import { installOperator } from './service-accounts.ts';

/** A local stack with an audit log. The operator has the account and the permissions of the chart. */
export interface InstalledStack extends Stack {
  /** Of the operator's service account. */
  readonly operatorKubeconfig: string;
  /** The path of the program. */
  readonly kubectl: string;
}

/** Builds the servers where they are not built, which takes minutes, and says so on stderr. @throws StackFailed */
export async function startInstalledStack(say?: (message: string) => void): Promise<InstalledStack> {
  const { kubectl, ...servers } = await buildServers();
  const dir = await mkdtemp(join(tmpdir(), 'durable-operator-test-'));
  const temporal = await temporalToTestWith(servers);
  const binaries = { ...servers, temporal: temporal.program };
  const stack = await startStack({ dir, binaries, audit: true, ...(say && { onProgress: say }) });
  const operatorKubeconfig = await installOperator({ admin: stack.kubeconfig, dir });
  const stop = async () => {
    await stack.stop();
    await temporal.remove();
  };
  return { ...stack, operatorKubeconfig, kubectl, stop };
}

/** `development`, which everybody begins with; or `deployed`, which compose and production run. */
async function temporalToTestWith({ temporal }: Pick<Binaries, 'temporal'>): Promise<StandIn> {
  const wanted = process.env['TEST_TEMPORAL'] ?? 'development';
  if (wanted === 'development') return { program: temporal, remove: () => Promise.resolve() };
  if (wanted !== 'deployed') {
    throw new Error(`TEST_TEMPORAL is ${wanted}; it can be "development" or "deployed"`);
  }
  const programs = await buildPrograms(['temporal-server']);
  return standIn(programs['temporal-server']);
}
