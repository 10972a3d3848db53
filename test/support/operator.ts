import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { bareEnvironment, readiness, untilReady } from '../../local/operator.ts';
import { freePort } from '../../local/ports.ts';
import { auditLines, type ApiCall } from '../../testing/stack/audit-log.ts';
import { PROGRAM } from './built.ts';
import { spawnOperator } from '../../testing/stack/operator-process.ts';
import { OPERATOR } from './service-accounts.ts';
import { userNameOf } from '../../testing/stack/service-account.ts';
import { testStack } from './stack.ts';

export interface OperatorRequest {
  /** Default: that of the stack that all tests share. */
  readonly temporalAddress?: string;
  /** The file of the user that it is. Default: the operator's service account, on the shared stack. */
  readonly kubeconfig?: string;
  /** Those of one test share it, and nobody else has it. Default: nobody shares it. */
  readonly taskQueue?: string;
  /** Default: `run`. */
  readonly command?: string;
  readonly args?: readonly string[];
  /** Besides those that it always has. */
  readonly env?: Readonly<Record<string, string>>;
  /** Its main module, where it is not this project's own. */
  readonly program?: string;
}

export type LogEntry = Readonly<Record<string, unknown>>;

/** The real program, in a process of its own. */
export interface Operator {
  readonly pid: number;
  /** What it has logged so far. */
  readonly logs: readonly LogEntry[];
  /** Ends it. @returns its exit code, or null where the signal ended it */
  end(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<number | null>;
  /** The status and body of /readyz. */
  readiness(): Promise<{ readonly status: number; readonly body: string }>;
  /** Resolves once it is ready. @throws Error with the end of its log, where it ends or is not ready in time */
  ready(): Promise<void>;
}

/** What it has logged at these levels; what Temporal's SDK says of a slow machine is not the operator's. */
export function ownLogs({ logs }: Operator, ...levels: readonly string[]): readonly LogEntry[] {
  return logs.filter(
    ({ level, sdkComponent }) => sdkComponent === undefined && levels.includes(String(level)),
  );
}

export function aTaskQueue(): string {
  return `test-${randomBytes(4).toString('hex')}`;
}

const started = new Set<Operator>();

/** Starts the operator and waits until it is ready. */
export async function startOperator(request: OperatorRequest): Promise<Operator> {
  const operator = await launchOperator(request);
  await operator.ready();
  return operator;
}

/** Starts the operator; whether it gets ready is for the test to see. */
export async function launchOperator(request: OperatorRequest): Promise<Operator> {
  const { temporalAddress = testStack().temporalAddress, env = {}, program = PROGRAM } = request;
  const healthPort = await freePort();
  const launch = {
    program,
    args: argumentsFor(request),
    env: { ...bareEnvironment(temporalAddress), ...env },
    healthPort,
  };
  const logs: LogEntry[] = [];
  const { pid, ended, end } = spawnOperator(launch, (line) => logs.push(parseLine(line)));
  const ready = () =>
    untilReady(launch, ended).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(logs.slice(-15))}`, { cause: error });
    });
  const operator = { pid, logs, end, ready, readiness: () => readiness(healthPort) };
  started.add(operator);
  return operator;
}

function argumentsFor(request: OperatorRequest): string[] {
  const { kubeconfig = testStack().operatorKubeconfig, taskQueue = aTaskQueue() } = request;
  const { command = 'run', args = [] } = request;
  const where = ['--kubeconfig', kubeconfig, '--task-queue', taskQueue];
  return [command, ...where, '--metrics-addr', '0', '--log-level', 'debug', '--log-format', 'json', ...args];
}

/** Ends all of this test file that still run. */
export async function endOperators(): Promise<void> {
  await Promise.all([...started].map((operator) => operator.end('SIGTERM')));
  started.clear();
}

/** Lines that are not JSON, such as those of a crash, are entries too. */
function parseLine(line: string): LogEntry {
  if (!line.startsWith('{')) return { raw: line };
  return z.record(z.string(), z.unknown()).parse(JSON.parse(line));
}

/** The answered requests of the operator, or of another user, as the audit log has them, in their order. */
export function apiCallsOf(who: 'operator' | `system:${string}`, auditLog: string): readonly ApiCall[] {
  const user = who === 'operator' ? userNameOf(OPERATOR) : who;
  return auditLines(user, auditLog)
    .filter(({ stage }) => stage === 'ResponseComplete')
    .filter(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp) >= FILE_BEGAN_MS);
}

/** The stack, and so its audit log, is shared by all test files, in any order; each loads this module anew. */
const FILE_BEGAN_MS = Date.now();
