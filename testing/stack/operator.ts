import type { Client } from '@temporalio/client';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { bareEnvironment, untilReady } from '../../local/operator.ts';
import { freePort } from '../../local/ports.ts';
import type { ManifestDocument } from '../../local/manifests.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import { eventually } from '../eventually.ts';
import type { Costs, OperatorOptions, TestOperator } from './test-stack.ts';
import { expectAtMost } from './costs.ts';
import { spawnOperator, type OperatorProcess } from './operator-process.ts';
import { expectLeastPrivilege } from './rights.ts';
import type { ServiceAccount } from './service-account.ts';

/** What an operator is started with, besides the author's options. */
export interface OperatorStart {
  /** Of the operator. */
  readonly kubeconfig: string;
  /** Of those who ask it. */
  readonly adminKubeconfig: string;
  readonly temporalAddress: string;
  readonly temporal: Client;
  readonly auditLog: string;
  readonly account: ServiceAccount;
  /** What says who it is and what it may do. */
  readonly installed: readonly ManifestDocument[];
}

const RUNS_END_WITHIN_MS = 60_000;
/** How much of its log an error shows. */
const LINES_SHOWN = 15;

type LogEntry = Readonly<Record<string, unknown>>;

/** The operator's own program as a process, which may be ended and started again. */
export class StartedOperator implements TestOperator {
  readonly logs: LogEntry[] = [];
  readonly #place: OperatorStart;
  readonly #options: OperatorOptions;
  readonly #main: string;
  readonly #taskQueue = `test-${randomBytes(4).toString('hex')}`;
  #process: OperatorProcess | undefined;

  constructor(place: OperatorStart, options: OperatorOptions) {
    this.#place = place;
    this.#options = options;
    this.#main = resolve(options.main ?? 'src/main.ts');
  }

  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  async start(): Promise<void> {
    await this.stop();
    const { kubeconfig, temporalAddress } = this.#place;
    const { args = [], env = {} } = this.#options;
    const healthPort = await freePort();
    const where = ['--kubeconfig', kubeconfig, '--task-queue', this.#taskQueue];
    const how = ['--metrics-addr', '0', '--log-level', 'debug', '--log-format', 'json'];
    const launch = {
      program: this.#main,
      args: ['run', ...where, ...how, ...args],
      env: { ...bareEnvironment(temporalAddress), ...env },
      healthPort,
    };
    this.#process = spawnOperator(launch, (line) => this.logs.push(entryOf(line)));
    await untilReady(launch, this.#process.ended).catch((error: unknown) => {
      const shown = this.logs.slice(-LINES_SHOWN).map((entry) => JSON.stringify(entry));
      throw new Error(`${String(error)}; the last lines of its log:\n${shown.join('\n')}`, { cause: error });
    });
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const ended = this.#process;
    this.#process = undefined;
    await ended?.end(signal);
  }

  async ask(...args: readonly string[]): Promise<string> {
    const { adminKubeconfig, temporalAddress } = this.#place;
    const env = { ...bareEnvironment(temporalAddress), ...this.#options.env, KUBECONFIG: adminKubeconfig };
    const command = [this.#main, ...args, '--task-queue', this.#taskQueue];
    return promisify(execFile)(process.execPath, command, { env }).then(
      ({ stdout }) => stdout,
      (error: unknown) => `${String(fieldsOf(error)['stdout'])}${String(fieldsOf(error)['stderr'])}`,
    );
  }

  expectLeastPrivilege({ unused = [] }: { readonly unused?: readonly string[] } = {}): void {
    const { account, installed: objects, auditLog } = this.#place;
    expectLeastPrivilege({ account, objects, auditLog, unused });
  }

  async expectCosts(most: Costs, during: () => Promise<void>): Promise<void> {
    const { account, auditLog } = this.#place;
    await this.#untilRunsEnd();
    const runs = this.#startedRuns();
    await expectAtMost(most, {
      ...{ account, auditLog },
      during: async () => {
        await during();
        await this.#untilRunsEnd();
        return this.#startedRuns() - runs;
      },
    });
  }

  /** The list of Temporal is later than the runs: so as many have to have ended as were started. */
  async #untilRunsEnd(): Promise<void> {
    const query = `TaskQueue = '${this.#taskQueue}' AND ExecutionStatus != 'Running'`;
    await eventually(async () => {
      const { count } = await this.#place.temporal.workflow.count(query);
      if (count >= this.#startedRuns()) return true;
      throw new Error(
        `${this.#startedRuns() - count} runs have not ended after ${RUNS_END_WITHIN_MS / 1000} s`,
      );
    }, RUNS_END_WITHIN_MS);
  }

  #startedRuns(): number {
    return this.logs.filter(({ answer }) => answer === 'started').length;
  }
}

/** Lines that are not JSON, such as those of a crash, are entries too. */
function entryOf(line: string): LogEntry {
  try {
    return fieldsOf(JSON.parse(line));
  } catch {
    return { msg: line };
  }
}
