import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bareEnvironment, untilReady } from '../../local/operator.ts';
import { spawnOperator, type OperatorProcess } from '../../testing/stack/operator-process.ts';
import { freePort } from '../../local/ports.ts';
import { TEAM_SELECTOR, type Place } from './place.ts';

/** How the operator under test is started, each time. */
export interface OperatorOptions {
  /** Its main module. */
  readonly program: string;
  readonly kubeconfig: string;
  readonly temporalAddress: string;
  readonly place: Place;
  /** `all`, or as `--controllers` takes them. */
  readonly controllers: string;
  /** Watch all namespaces of the cluster: nobody else does anything in it. */
  readonly isAlone: boolean;
  /** For files of its own. */
  readonly dir: string;
}

/** Namespaces are read at every resync where only some are watched. */
const RESYNC = '8s';
/** The least that annotations may ask for. */
export const POLL_INTERVAL = '10s';
const RESTARTED_AFTER_MS = 1_000;
const CLOCK = pathToFileURL(join(import.meta.dirname, 'clock.ts')).href;

let lastStart: Promise<void> = Promise.resolve();
const running = new Set<OperatorProcess>();
process.on('exit', () => {
  for (const { pid } of running) kill(pid, 'SIGKILL');
});

/** Whoever starts the first of all hears that it does not get ready. */
type Role = 'first of all' | 'leader' | 'second leader';

/** The processes of the operator under test: one, none, or two. */
export class Operators {
  readonly logs: string[] = [];
  /** How it ended by itself, each time. */
  readonly deaths: string[] = [];
  readonly #options: OperatorOptions;
  readonly #clock: string;
  #first: OperatorProcess | undefined;
  #second: OperatorProcess | undefined;
  /** What is asked for is done one after the other. */
  #last: Promise<void> = Promise.resolve();
  /** Those that end because somebody wants it. */
  readonly #ending = new Set<OperatorProcess>();
  #hasBegun = false;
  #isOver = false;

  constructor(options: OperatorOptions) {
    this.#options = options;
    this.#clock = join(options.dir, `${options.place.taskQueue}.clock`);
  }

  /** Resolves once it is ready. @throws OperatorFailed */
  async start(): Promise<void> {
    await writeFile(this.#clock, '0');
    // One after the other: a start is the most that an operator ever asks of a machine.
    const started = lastStart.then(async () => {
      this.#first = await this.#spawn('first of all');
      this.#hasBegun = true;
    });
    lastStart = started.catch(() => undefined);
    await started;
  }

  /** Ends it, and starts it again after a while. */
  restart(signal: 'SIGTERM' | 'SIGKILL', afterMs: number): void {
    this.#next(async () => {
      await this.#end(this.#first, signal);
      await sleep(afterMs);
      if (!this.#isOver) this.#first = await this.#spawn('leader');
    });
  }

  /** At once, and not only once what was asked before is done. */
  killNow(): void {
    if (this.#first !== undefined) {
      this.#ending.add(this.#first);
      kill(this.#first.pid, 'SIGKILL');
    }
    this.restart('SIGKILL', 0);
  }

  freeze(): void {
    if (this.#first !== undefined) kill(this.#first.pid, 'SIGSTOP');
  }

  thaw(): void {
    if (this.#first !== undefined) kill(this.#first.pid, 'SIGCONT');
  }

  startSecond(): void {
    this.#next(async () => {
      this.#second ??= await this.#spawn('second leader');
    });
  }

  endSecond(): void {
    this.#next(async () => {
      await this.#end(this.#second, 'SIGTERM');
      this.#second = undefined;
    });
  }

  /** Sets the clocks of both so far off the real time. */
  setClock(offMs: number): void {
    this.#next(async () => {
      await writeFile(this.#clock, String(offMs));
      for (const operator of [this.#first, this.#second]) {
        if (operator?.ended.aborted === false) kill(operator.pid, 'SIGUSR2');
      }
    });
  }

  /** Resolves once all that was asked is done. @throws OperatorFailed where it does not start */
  async settled(): Promise<void> {
    await this.#last;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#last.catch(() => undefined);
    await Promise.all([this.#end(this.#first, 'SIGTERM'), this.#end(this.#second, 'SIGTERM')]);
  }

  async #end(operator: OperatorProcess | undefined, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (operator === undefined) return;
    this.#ending.add(operator);
    await operator.end(signal);
  }

  /** One that ends by itself is started again, as Kubernetes would. */
  #ended(operator: OperatorProcess, role: Role): void {
    running.delete(operator);
    if (!this.#ending.has(operator) && !this.#isOver)
      this.deaths.push(`I14: ${String(operator.ended.reason)}, and nobody had ended it`);
    const isMissed = role === 'leader' || (role === 'first of all' && this.#hasBegun);
    if (isMissed && !this.#ending.has(operator) && !this.#isOver) {
      this.restart('SIGKILL', RESTARTED_AFTER_MS);
    }
  }

  #next(act: () => Promise<void>): void {
    this.#last = this.#last.then(act);
    // Whoever waits for it hears of it.
    this.#last.catch(() => undefined);
  }

  async #spawn(role: Role): Promise<OperatorProcess> {
    const { program, temporalAddress } = this.#options;
    const launch = {
      program,
      args: this.#arguments(),
      env: {
        ...bareEnvironment(temporalAddress),
        NODE_OPTIONS: `--import=${CLOCK}`,
        CAMPAIGN_CLOCK: this.#clock,
      },
      healthPort: await freePort(),
    };
    let begin: () => void = () => undefined;
    const hasStarted = new Promise<void>((resolve) => (begin = resolve));
    const operator = spawnOperator(launch, (line) => {
      this.logs.push(line);
      if (line.includes('"msg":"started"')) begin();
    });
    running.add(operator);
    operator.ended.addEventListener('abort', () => {
      this.#ended(operator, role);
      begin();
    });
    // While something is wrong it may start, and not be ready.
    await (role === 'first of all' ? untilReady(launch, operator.ended) : hasStarted);
    return operator;
  }

  #arguments(): string[] {
    const { kubeconfig, place, controllers, isAlone } = this.#options;
    const { home, team, taskQueue } = place;
    return [
      'run',
      ...['--kubeconfig', kubeconfig, '--task-queue', taskQueue, '--namespace-selector', TEAM_SELECTOR],
      ...['--min-poll-interval', POLL_INTERVAL],
      ...['--resync', RESYNC, '--metrics-addr', '0', '--log-level', 'debug', '--log-format', 'json'],
      ...(isAlone ? [] : ['--namespaces', `${home},${team}`]),
      ...(controllers === 'all' ? [] : ['--controllers', controllers]),
    ];
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone already.
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
