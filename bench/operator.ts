import { bareEnvironment, untilReady } from '../local/operator.ts';
import { freePort } from '../local/ports.ts';
import { PROGRAM } from '../test/support/built.ts';
import { spawnOperator, type OperatorProcess } from '../testing/stack/operator-process.ts';
import type { Target } from './target.ts';

/** With much to list on two cores. */
const READY_WITHIN_MS = 180_000;

/** The operator as it is delivered, ready. Of its log, only warnings and errors are shown. */
export async function startOperator(
  target: Pick<Target, 'kubeconfig' | 'temporalAddress'>,
  taskQueue: string,
): Promise<OperatorProcess> {
  const metricsAddress = `127.0.0.1:${await freePort()}`;
  const at = ['--task-queue', taskQueue, '--kubeconfig', target.kubeconfig, '--metrics-addr', metricsAddress];
  const launch = {
    program: PROGRAM,
    args: ['run', ...at, '--log-level', 'warn'],
    env: bareEnvironment(target.temporalAddress),
    healthPort: await freePort(),
  };
  const operator = spawnOperator(launch, (line) => process.stderr.write(`${line}\n`));
  try {
    await untilReady(launch, operator.ended, READY_WITHIN_MS);
  } catch (error) {
    await operator.end('SIGTERM');
    throw error;
  }
  return operator;
}
