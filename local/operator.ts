import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { argumentsFor, defaultOptions, type Config } from '../src/config/config.ts';
import { optionTable } from '../src/config/option-table.ts';
import type { Program } from '../src/program/program.ts';
import { lastLines } from './program-output.ts';
import { ServerFailed, type Launch } from './servers.ts';
import { LOOPBACK } from './stack-folder.ts';
import type { Stack } from './stack.ts';
import type { Targets } from './targets.ts';

/** By default, Node uses much of the machine's memory before it collects garbage. The image sets the same. */
export const MEMORY_FLAGS: readonly string[] = ['--max-old-space-size=256', '--max-semi-space-size=2'];
/**
 * glibc keeps what has been freed: in an arena for each thread of Temporal's library, and, since it raises its thresholds with each
 * large block, below what is still in use. Source: mallopt(3), M_TRIM_THRESHOLD: a value of one's own, here the default, stays.
 */
export const MEMORY_VARIABLES = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' } as const;

/** How an operator is started, as a process of its own. */
export interface OperatorLaunch {
  /** Its main module: `src/main.ts`, or the compiled one. */
  readonly program: string;
  /** The command, such as `run`, and its flags except `--health-addr`. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** At 127.0.0.1, for `/healthz` and `/readyz`. */
  readonly healthPort: number;
  /** A debugger may attach, at the port that debuggers look at. */
  readonly inspect?: boolean;
}

/** The operator has ended, or is not ready in time. */
export class OperatorFailed extends Error {
  override readonly name = 'OperatorFailed';
}

export const OPERATOR = 'operator';
/** Shutdown takes up to the 10 s that a Pod is given. */
const GRACE_MS = 12_000;

const BACKOFF_MAX_S = 30;
/** A file has changed meanwhile. */
const SUPERSEDED = new Error('the operator is being started anew');

interface InStack {
  readonly stack: Stack;
  readonly launch: OperatorLaunch;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** The operator as a part of the stack. It is started again if somebody kills it. */
export class StackOperator {
  readonly #in: InStack;
  #superseded = new AbortController();

  constructor(inStack: InStack) {
    this.#in = inStack;
  }

  /**
   * Resolves when it is ready. Killed before that, it is started again, at growing intervals.
   *
   * @throws ServerFailed, OperatorFailed, or the reason of the signal or of a later start
   */
  async start(): Promise<void> {
    this.#superseded.abort(SUPERSEDED);
    this.#superseded = new AbortController();
    const signal = AbortSignal.any([this.#in.signal, this.#superseded.signal]);
    for (let kills = 1; !(await this.#isReady(signal)); kills += 1) {
      const seconds = Math.min(2 ** (kills - 1), BACKOFF_MAX_S);
      const often = kills === 1 ? '' : `, ${kills} times in a row`;
      this.#in.say(`the operator ended before it was ready${often}; starting it again in ${seconds} s`);
      await pause(seconds * 1000, undefined, { signal }).catch(() => undefined);
      signal.throwIfAborted();
    }
  }

  /** @returns false: it was killed before */
  async #isReady(signal: AbortSignal): Promise<boolean> {
    const { stack, launch } = this.#in;
    const starting = new AbortController();
    const life = { isReady: false, how: '' };
    stack.startCompanion(this.#companion(), (how) => {
      life.how = how;
      if (life.isReady) void this.#ended(how);
      else starting.abort(new ServerFailed(OPERATOR, `ended (${how})`));
    });
    try {
      await untilReady(launch, AbortSignal.any([signal, starting.signal]));
      life.isReady = true;
    } catch (error) {
      if (!isKill(life.how)) throw error;
    }
    return life.isReady;
  }

  /** @returns whether it is ready; if not, it has said why */
  async restart(): Promise<boolean> {
    await this.#in.stack.stopServer(OPERATOR);
    return this.start().then(
      () => true,
      async (error: unknown) => {
        if (!this.#in.signal.aborted && error !== SUPERSEDED) await this.#sayFailure(error);
        return false;
      },
    );
  }

  async #ended(how: string): Promise<void> {
    if (!isKill(how)) return this.#sayFailure(new ServerFailed(OPERATOR, `ended (${how})`));
    this.#in.say('the operator ended; starting it again, as a Deployment would');
    await this.restart();
  }

  async #sayFailure(error: unknown): Promise<void> {
    const { stack, say } = this.#in;
    say(`${error instanceof Error ? error.message : String(error)}; the last lines of its log:`);
    say(await lastLines(stack.logOf(OPERATOR), 25));
    say('It is started again when a file changes');
  }

  #companion(): Launch {
    const { launch } = this.#in;
    return {
      name: OPERATOR,
      command: process.execPath,
      args: nodeArguments(launch),
      env: operatorVariables(launch),
      cwd: process.cwd(),
      graceMs: GRACE_MS,
    };
  }
}

/** After `kill` or `kill -9`, it had no problem of its own. */
function isKill(how: string): boolean {
  return how === 'SIGKILL' || how === 'SIGTERM' || how === 'exit code 0';
}

/** The arguments of `node`. */
export function nodeArguments({ program, args, healthPort, inspect = false }: OperatorLaunch): string[] {
  const flags = inspect ? [...MEMORY_FLAGS, '--inspect'] : MEMORY_FLAGS;
  return [...flags, program, ...args, `--health-addr=127.0.0.1:${healthPort}`];
}

export function operatorVariables({ env }: OperatorLaunch): NodeJS.ProcessEnv {
  return { ...MEMORY_VARIABLES, ...env };
}

const READY_WITHIN_MS = 60_000;
const INTERVAL_MS = 50;

/** @throws OperatorFailed if it is not ready in time, or the signal's reason */
export async function untilReady(
  { healthPort }: OperatorLaunch,
  signal: AbortSignal,
  withinMs = READY_WITHIN_MS,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    signal.throwIfAborted();
    const { status, body } = await readiness(healthPort).catch(() => NO_ANSWER);
    if (status === 200) return;
    if (performance.now() > deadline) {
      throw new OperatorFailed(`the operator is not ready after ${withinMs / 1000} s: ${body.trim()}`);
    }
    await pause(INTERVAL_MS);
  }
}

const NO_ANSWER = { status: undefined, body: 'it does not answer' };

/** The answer of `/readyz`. */
export async function readiness(healthPort: number): Promise<{ status: number; body: string }> {
  const url = `http://127.0.0.1:${healthPort}/readyz`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(5000) });
  return { status: answer.status, body: await answer.text() };
}

/**
 * The options of `dev`, except for those that `dev` decides itself. The author may add and remove controllers meanwhile, so
 * what depends on them is given only if somebody has set it.
 */
export function operatorArguments({ program, config, healthPort, metricsPort }: Addressed): string[] {
  const metrics = metricsPort === undefined ? 'off' : { host: LOOPBACK, port: metricsPort };
  const usual = argumentsFor(program, 'run', defaultOptions(program));
  const given = argumentsFor(program, 'run', {
    ...config,
    health: { address: { host: LOOPBACK, port: healthPort } },
    metrics: { ...config.metrics, address: metrics },
    log: { ...config.log, format: 'json' },
  });
  return given.filter((each) => !dependsOnControllers(each, program) || !usual.includes(each));
}

function dependsOnControllers(argument: string, program: Program): boolean {
  const { rows } = optionTable({ ...program, controllers: [] });
  return argument.startsWith('--controllers=') || !rows.some(({ name }) => argument.startsWith(`--${name}=`));
}

interface Addressed {
  readonly program: Program;
  readonly config: Config;
  readonly healthPort: number;
  /** Undefined: no metrics. */
  readonly metricsPort: number | undefined;
}

/** An environment without the variables of the person who starts it, except for PATH and HOME. */
export function bareEnvironment(temporalAddress: string): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: process.env['HOME'], TEMPORAL_ADDRESS: temporalAddress };
}

/** This process's own, with the cluster and the Temporal server that `dev` uses. */
export async function operatorEnvironment(config: Config, targets: Targets): Promise<NodeJS.ProcessEnv> {
  const { cluster, temporal, stack } = targets;
  const { kubeconfigFile: file } = cluster;
  const kubeconfig = file === undefined ? {} : { DURABLE_OPERATOR_KUBECONFIG: file };
  if (config.dev.temporalGiven) return { ...process.env, ...kubeconfig };
  const TEMPORAL_CONFIG_FILE = await emptyProfile(stack.dir);
  const server = { TEMPORAL_ADDRESS: temporal.address, TEMPORAL_CONFIG_FILE };
  return { ...withoutTemporal(process.env), ...kubeconfig, ...server };
}

/** Otherwise Temporal's library reads the person's own profile, which may contain credentials. */
async function emptyProfile(dir: string): Promise<string> {
  const file = join(dir, 'temporal.toml');
  await writeFile(file, '[profile.default]\n');
  return file;
}

function withoutTemporal(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}
