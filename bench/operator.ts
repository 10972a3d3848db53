import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { bareEnvironment, spawnOperator, untilReady, type OperatorProcess } from '../local/operator.ts';
import { freePort } from '../local/ports.ts';
import type { Target } from './target.ts';

export interface BenchOperator extends OperatorProcess {
  readonly metricsUrl: string;
}

const ROOT = join(import.meta.dirname, '..');

/** `npm run build`. @throws Error where it fails */
export async function build(): Promise<void> {
  const child = spawn('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: ['ignore', 2, 2] });
  await once(child, 'exit');
  if (child.exitCode !== 0) throw new Error('npm run build failed; its output is above');
}

/** The operator as it is delivered, ready. Of its log, only warnings and errors are shown. */
export async function startOperator(
  target: Pick<Target, 'kubeconfig' | 'temporalAddress'>,
  taskQueue: string,
  args: readonly string[] = [],
): Promise<BenchOperator> {
  const metricsAddress = `127.0.0.1:${await freePort()}`;
  const at = ['--task-queue', taskQueue, '--kubeconfig', target.kubeconfig, '--metrics-addr', metricsAddress];
  const launch = {
    program: join(ROOT, 'dist/src/main.js'),
    args: ['run', ...at, '--log-level', 'warn', ...args],
    env: bareEnvironment(target.temporalAddress),
    healthPort: await freePort(),
  };
  const operator = spawnOperator(launch, (line) => process.stderr.write(`${line}\n`));
  try {
    await untilReady(launch, operator.ended);
  } catch (error) {
    await operator.end('SIGTERM');
    throw error;
  }
  return { ...operator, metricsUrl: `http://${metricsAddress}/metrics` };
}
