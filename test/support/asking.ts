import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from '@jest/globals';
import { bareEnvironment } from '../../local/operator.ts';
import { PROGRAM } from './built.ts';
import { eventually } from '../../testing/eventually.ts';
import { testStack } from './stack.ts';

/** The kubectl plugin as it is delivered. */
export const ASK_PROGRAM = join(dirname(PROGRAM), 'ask/main.js');

export interface Answer {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface AskRequest {
  /** Default: a person who may do everything. */
  readonly kubeconfig?: string;
  /** Default: that of the shared stack. */
  readonly temporalAddress?: string;
  /** Of the environment, besides where to ask. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** `kubectl durable …`, in a process of its own and without a terminal. */
export async function ask(args: readonly string[], request: AskRequest = {}): Promise<Answer> {
  const { kubeconfig = testStack().kubeconfig, temporalAddress = testStack().temporalAddress } = request;
  const { variables = {}, input = '' } = request;
  const env = { ...bareEnvironment(temporalAddress), KUBECONFIG: kubeconfig, ...variables };
  const child = spawn(process.execPath, [ASK_PROGRAM, ...args], { env, stdio: 'pipe' });
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { stdout, stderr, status: child.exitCode ?? -1 };
}

const GOLDEN = join(import.meta.dirname, '../e2e/golden');

/**
 * Compares a text with the file of that name in test/e2e/golden; with UPDATE_GOLDEN set, it is written instead, and the
 * difference is for a person to review.
 */
export function expectGolden(name: string, answer: string): void {
  const file = join(GOLDEN, `${name}.txt`);
  if (process.env['UPDATE_GOLDEN'] !== undefined) writeFileSync(file, answer);
  expect(existsSync(file) ? readFileSync(file, 'utf8') : `no ${file}; set UPDATE_GOLDEN=1`).toBe(answer);
}

export interface WhyQuestion {
  readonly resource: string;
  readonly namespace: string;
  readonly taskQueue: string;
  /** Of the golden file. */
  readonly golden: string;
  /** What the file is made from: the first answer that has this. */
  readonly until: RegExp;
  readonly status: 0 | 1 | 2;
  /** What was drawn at random, and what to write instead. */
  readonly names?: Readonly<Record<string, string>>;
}

const WITHIN_MS = 60_000;
const UI = ['--temporal-ui-url', 'http://localhost:8233'];

/** Asks again until the answer is that of the golden file: what is to be explained takes a moment to come about. */
export async function expectWhy(question: WhyQuestion, request: AskRequest = {}): Promise<void> {
  const { resource, namespace, taskQueue, golden, until, status, names = {} } = question;
  const known = { [namespace]: 'shop', [taskQueue]: 'durable-operator', ...names };
  const args = [...resource.split(' '), '-n', namespace, '--task-queue', taskQueue, ...UI];
  let last = '';
  const answer = await eventually(async () => {
    const now = await ask(['why', ...args], request);
    last = now.stdout + now.stderr;
    if (!until.test(now.stdout)) return false;
    expectGolden(`why-${golden}`, normalized(now.stdout, known));
    return now;
  }, WITHIN_MS).catch((error: unknown) => {
    throw new Error(`the answer stayed:\n${last}`, { cause: error });
  });
  expect(answer.status).toBe(status);
}

/** The same text each time. */
export function normalized(answer: string, names: Readonly<Record<string, string>>): string {
  const named = Object.entries(names).reduce((before, [name, word]) => before.replaceAll(name, word), answer);
  return (
    named
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>')
      .replaceAll(/\b(?:\d+d)?(?:\d+h)?(?:\d+m)?\d+s\b|\b\d+[dhm]\b(?=[ ,:;]| ago|$)/gm, '<time>')
      // How many attempts there were by now depends on the time.
      .replaceAll(/attempt \d+/g, 'attempt <n>')
      // The operator and the Job controller draw the names of Pods at random.
      .replaceAll(/-(pod|helloworld|delete)-(?!delete\b)[a-z0-9]{5,}/g, '-$1-<suffix>')
      // The hash of a plan is made from UIDs.
      .replaceAll(/\b(\d+)-[0-9a-f]{8}\b/g, '$1-<hash>')
      // The scheduler chooses the node of each Pod of a Job.
      .replaceAll(/simulated-\d+(?:, simulated-\d+)*/g, 'simulated-<n>')
      // Which of several runs was the last is a matter of moments. A label needs but one.
      .replaceAll(/^( {2}last run {2}ended <time> ago: )(?!.*label).*$/gm, '$1<what it did>')
      .replaceAll(/^( {2}trigger {3})(?!.*label).*$/gm, '$1<why it began>')
      // So does whether such a change came while the run was open.
      .replaceAll(/^ {2}signal .*\n/gm, '')
  );
}
