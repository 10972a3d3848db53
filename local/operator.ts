import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { argumentsFor, type Config } from '../src/config/config.ts';
import { LOOPBACK } from './stack-folder.ts';
import type { Stack } from './stack.ts';
import type { Surroundings } from './surroundings.ts';

/**
 * Node takes as much memory as the machine has to spare before it cleans up; an operator needs little. The image
 * gives the same flags and variables.
 */
export const MEMORY_FLAGS: readonly string[] = ['--max-old-space-size=256', '--max-semi-space-size=2'];
/** For glibc, which keeps what the threads of Temporal's library have freed. */
export const MEMORY_VARIABLES = { MALLOC_ARENA_MAX: '2' } as const;

/** How an operator is started, as a process of its own. */
export interface OperatorLaunch {
  /** Its main module: `src/main.ts`, or what the build makes of it. */
  readonly program: string;
  /** The command, such as `run`, and its flags but `--health-addr`. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** At 127.0.0.1, for `/healthz` and `/readyz`. */
  readonly healthPort: number;
}

export interface OperatorProcess {
  readonly pid: number;
  /** Aborted once it has ended, whoever ended it; the reason says how. */
  readonly ended: AbortSignal;
  /** @returns its exit code, or null where the signal ended it */
  readonly end: (signal: NodeJS.Signals) => Promise<number | null>;
}

/** The operator ended, or did not get ready. */
export class OperatorFailed extends Error {
  override readonly name = 'OperatorFailed';
}

/** Starts the operator as a child of this process; `untilReady` says when it works. */
export function spawnOperator(launch: OperatorLaunch, onLine: (line: string) => void): OperatorProcess {
  const child = spawn(process.execPath, nodeArguments(launch), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...MEMORY_VARIABLES, ...launch.env },
  });
  const { pid } = child;
  if (pid === undefined) throw new OperatorFailed(`${launch.program} could not be started`);
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', onLine);
  const ending = new AbortController();
  const exited = once(child, 'exit').then(() => {
    const how = child.signalCode ?? `exit code ${child.exitCode ?? 'unknown'}`;
    ending.abort(new OperatorFailed(`the operator ended (${how})`));
  });
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  return { pid, ended: ending.signal, end };
}

const OPERATOR = 'operator';
/** Shutdown must fit into the 10 s that a Pod is given. */
const GRACE_MS = 12_000;

/**
 * Starts the operator so that it ends with the stack, whatever ends that. Its log is the stack's `operator`.
 *
 * @param whenEndedByHand called where somebody kills it. Default: that is the end of the stack
 */
export function startInStack(
  stack: Stack,
  launch: OperatorLaunch,
  whenEndedByHand?: () => void,
): Promise<void> {
  const companion = {
    name: OPERATOR,
    command: process.execPath,
    args: nodeArguments(launch),
    env: { ...MEMORY_VARIABLES, ...launch.env },
    cwd: process.cwd(),
    graceMs: GRACE_MS,
  };
  return stack.startCompanion(companion, whenEndedByHand);
}

/** By SIGKILL: it can hand nothing over. */
export function killInStack(stack: Stack): Promise<void> {
  return stack.killServer(OPERATOR);
}

export function stopInStack(stack: Stack): Promise<void> {
  return stack.stopServer(OPERATOR);
}

function nodeArguments({ program, args, healthPort }: OperatorLaunch): string[] {
  return [...MEMORY_FLAGS, program, ...args, `--health-addr=127.0.0.1:${healthPort}`];
}

const READY_WITHIN_MS = 60_000;
const INTERVAL_MS = 50;

/** @throws OperatorFailed after 60 s, or the signal's reason */
export async function untilReady({ healthPort }: OperatorLaunch, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    signal.throwIfAborted();
    const { status, body } = await readiness(healthPort).catch(() => NO_ANSWER);
    if (status === 200) return;
    if (performance.now() > deadline) {
      throw new OperatorFailed(`the operator is not ready after ${READY_WITHIN_MS / 1000} s: ${body.trim()}`);
    }
    await pause(INTERVAL_MS);
  }
}

const NO_ANSWER = { status: undefined, body: 'it does not answer' };

/** What `/readyz` says. */
export async function readiness(healthPort: number): Promise<{ status: number; body: string }> {
  const url = `http://127.0.0.1:${healthPort}/readyz`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(5000) });
  return { status: answer.status, body: await answer.text() };
}

/** What was given to `local` holds for its operator, except for what `local` itself decides. */
export function operatorArguments({ config, healthPort, metricsPort }: Addressed): string[] {
  const metrics = metricsPort === undefined ? 'off' : { host: LOOPBACK, port: metricsPort };
  return argumentsFor('run', {
    ...config,
    health: { address: { host: LOOPBACK, port: healthPort } },
    metrics: { ...config.metrics, address: metrics },
    log: { ...config.log, format: 'json' },
  });
}

interface Addressed {
  readonly config: Config;
  readonly healthPort: number;
  /** Undefined: no metrics. */
  readonly metricsPort: number | undefined;
}

/** Nothing of whoever starts it but the PATH and HOME. */
export function bareEnvironment(temporalAddress: string): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: process.env['HOME'], TEMPORAL_ADDRESS: temporalAddress };
}

/** This process's own, with the cluster and the Temporal server that `local` uses. */
export async function operatorEnvironment(
  config: Config,
  surroundings: Surroundings,
): Promise<NodeJS.ProcessEnv> {
  const {
    cluster: { kubeconfigFile },
    temporal,
    stack,
  } = surroundings;
  const cluster = kubeconfigFile === undefined ? {} : { DURABLE_OPERATOR_KUBECONFIG: kubeconfigFile };
  if (config.local.temporalGiven) return { ...process.env, ...cluster };
  const server = { TEMPORAL_ADDRESS: temporal.address, ...(await withoutProfiles(stack)) };
  return { ...withoutTemporal(process.env), ...cluster, ...server };
}

/** Without any file named, a person's own would be read, which may hold a profile with credentials. */
export async function withoutProfiles({ dir }: Pick<Stack, 'dir'>): Promise<NodeJS.ProcessEnv> {
  const file = join(dir, 'temporal.toml');
  await writeFile(file, '[profile.default]\n');
  return { TEMPORAL_CONFIG_FILE: file };
}

/** A person's own profile and credentials are not for a server that we started. */
function withoutTemporal(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}
