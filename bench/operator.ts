import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from '../src/local/ports.ts';
import { MEMORY_FLAGS } from '../src/local/operator-process.ts';
import { packageRoot } from '../src/local/package-root.ts';
import { eventually } from '../test/support/eventually.ts';
import type { Target } from './target.ts';

export interface BenchOperator {
  readonly pid: number;
  readonly metricsUrl: string;
  stop(): Promise<void>;
  /** By SIGKILL. */
  kill(): Promise<void>;
}

/** `npm run build`. @throws Error where it fails */
export async function build(): Promise<void> {
  const child = spawn('npm', ['run', '--silent', 'build'], { cwd: packageRoot(), stdio: ['ignore', 2, 2] });
  await once(child, 'exit');
  if (child.exitCode !== 0) throw new Error('npm run build failed; its output is above');
}

/** The operator as it is delivered, ready. Of its log, only warnings and errors are shown. */
export async function startOperator(
  target: Target,
  taskQueue: string,
  args: readonly string[] = [],
): Promise<BenchOperator> {
  const healthAddress = `127.0.0.1:${await freePort()}`;
  const program = join(packageRoot(), 'dist', 'src', 'main.js');
  const metricsAddress = `127.0.0.1:${await freePort()}`;
  const own = ['--health-addr', healthAddress, '--metrics-addr', metricsAddress];
  const at = ['--task-queue', taskQueue, '--kubeconfig', target.kubeconfig];
  const child = spawn(
    process.execPath,
    [...MEMORY_FLAGS, program, 'run', ...own, ...at, '--log-level', 'warn', ...args],
    {
      stdio: ['ignore', 2, 2],
      env: { ...process.env, TEMPORAL_ADDRESS: target.temporalAddress },
    },
  );
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} could not be started`);
  const exited = once(child, 'exit');
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exited;
  };
  try {
    await eventually(async () => (await fetch(`http://${healthAddress}/readyz`)).ok, 60_000);
  } catch (error) {
    await end('SIGTERM');
    throw error;
  }
  const metricsUrl = `http://${metricsAddress}/metrics`;
  return { pid, metricsUrl, stop: () => end('SIGTERM'), kill: () => end('SIGKILL') };
}
