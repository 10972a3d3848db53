import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { freePort } from '../../src/local/ports.ts';
import { eventually } from './eventually.ts';
import { OPERATOR, userNameOf } from './service-accounts.ts';

const PROGRAM = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export interface OperatorRequest {
  readonly temporalAddress: string;
  /** The file of the user that it is. */
  readonly kubeconfig: string;
  /** Those of one test share it, and nobody else has it. */
  readonly taskQueue: string;
  /** `run`, unless it is told. */
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
}

export function aTaskQueue(): string {
  return `test-${randomBytes(4).toString('hex')}`;
}

const started = new Set<Operator>();

/** Starts the operator and waits until it is ready. */
export async function startOperator(request: OperatorRequest): Promise<Operator> {
  const operator = await launchOperator(request);
  await eventually(async () => (await operator.readiness()).status === 200, 60_000);
  return operator;
}

/** Starts the operator; whether it gets ready is for the test to see. */
export async function launchOperator({
  temporalAddress,
  kubeconfig,
  taskQueue,
  command = 'run',
  args = [],
  env = {},
  program = PROGRAM,
}: OperatorRequest): Promise<Operator> {
  const healthAddress = `127.0.0.1:${await freePort()}`;
  const own = ['--health-addr', healthAddress, '--task-queue', taskQueue, '--kubeconfig', kubeconfig];
  const metrics = ['--metrics-addr', '0'];
  const format = ['--log-level', 'debug', '--log-format', 'json'];
  const child = spawn(process.execPath, [program, command, ...own, ...metrics, ...format, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TEMPORAL_ADDRESS: temporalAddress, ...env },
  });
  const operator = operatorOf(child, healthAddress);
  started.add(operator);
  return operator;
}

/** For `afterAll`: none outlives its test file. */
export async function endOperators(): Promise<void> {
  await Promise.all([...started].map((operator) => operator.end('SIGTERM')));
  started.clear();
}

function operatorOf(child: ChildProcess, healthAddress: string): Operator {
  const { pid } = child;
  if (pid === undefined) throw new Error('the operator could not be started');
  const logs = logsOf(child);
  const ended = once(child, 'exit');
  return {
    pid,
    logs,
    async end(signal) {
      child.kill(signal);
      await ended;
      return child.exitCode;
    },
    async readiness() {
      if (child.exitCode !== null) throw new Error(`the operator ended: ${JSON.stringify(logs.slice(-15))}`);
      const response = await fetch(`http://${healthAddress}/readyz`);
      return { status: response.status, body: await response.text() };
    },
  };
}

/** Lines that are not JSON, such as those of a crash, are entries too. */
function logsOf(child: ChildProcess): readonly LogEntry[] {
  const logs: LogEntry[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) throw new Error('its output is not read');
    createInterface({ input: stream }).on('line', (line) => logs.push(parseLine(line)));
  }
  return logs;
}

function parseLine(line: string): LogEntry {
  if (!line.startsWith('{')) return { raw: line };
  return z.record(z.string(), z.unknown()).parse(JSON.parse(line));
}

const AuditLine = z.object({
  stage: z.string(),
  verb: z.string(),
  requestURI: z.string(),
  userAgent: z.string().default(''),
  user: z.object({ username: z.string() }),
  objectRef: z
    .object({
      resource: z.string(),
      namespace: z.string().default(''),
      name: z.string().default(''),
    })
    .optional(),
  responseStatus: z.object({ code: z.number() }).optional(),
  requestReceivedTimestamp: z.string(),
});
export type ApiCall = z.infer<typeof AuditLine>;

/** The answered requests of the operator, or of another user, as the audit log has them, in their order. */
export function apiCallsOf(who: 'operator' | `system:${string}`, auditLog: string): ApiCall[] {
  const user = who === 'operator' ? userNameOf(OPERATOR) : who;
  const lines = readFileSync(auditLog, 'utf8').split('\n').slice(0, -1);
  return lines
    .filter((line) => line.includes(`"username":"${user}"`))
    .map((line) => AuditLine.parse(JSON.parse(line)))
    .filter(({ stage, user: { username } }) => stage === 'ResponseComplete' && username === user)
    .filter(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp) >= FILE_BEGAN_MS);
}

/** The stack, and so its audit log, is shared by all test files, in any order; each loads this module anew. */
const FILE_BEGAN_MS = Date.now();
