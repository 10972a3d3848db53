import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { showBuildProgress } from '../../src/local/build-progress.ts';
import { buildServers } from '../../src/local/build.ts';
import { startStack } from '../../src/local/stack.ts';
import { installOperator } from './service-accounts.ts';

/** Once a run, before the first integration test: one stack for all of them, found through stack.ts. */
export default async function startStackForTests() {
  const binaries = await buildServers({ onProgress: showBuildProgress(process.stderr) });
  const dir = await mkdtemp(join(tmpdir(), 'durable-operator-test-'));
  const stack = await startStack({ dir, binaries, audit: true });
  const { kubeconfig, temporalAddress, temporalUiUrl, auditLog } = stack;
  await installOperator({ admin: kubeconfig, dir, kubectl: binaries.kubectl });
  const coordinates = join(dir, 'coordinates.json');
  await writeFile(
    coordinates,
    JSON.stringify({ kubeconfig, temporalAddress, temporalUiUrl, auditLog, dir, kubectl: binaries.kubectl }),
  );
  process.env.DURABLE_OPERATOR_TEST_STACK = coordinates;
  globalThis.durableOperatorTestStack = stack;
}
