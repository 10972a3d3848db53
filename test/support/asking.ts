import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from '@jest/globals';
import { bareEnvironment } from '../../local/operator.ts';
import { PROGRAM } from './built.ts';
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

/**
 * The same text each time.
 *
 * @param names what was drawn at random, and what to write instead
 */
export function normalized(answer: string, names: Readonly<Record<string, string>>): string {
  const named = Object.entries(names).reduce((before, [name, word]) => before.replaceAll(name, word), answer);
  return (
    named
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>')
      .replaceAll(/\b(?:\d+d)?(?:\d+h)?(?:\d+m)?\d+s\b|\b\d+[dhm]\b(?=[ ,:;]| ago|$)/gm, '<time>')
      .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>')
      .replaceAll(/attempt \d+/g, 'attempt <n>')
      .replaceAll(/, in progress|, next in <time>/g, ', next in <time>')
      .replaceAll(/-pod-[a-z0-9]{5,}/g, '-pod-<suffix>')
      .replaceAll(/\d+ times/g, '<n> times')
      .replaceAll(/\b(\d+)-[0-9a-f]{8}\b/g, '$1-<hash>')
      // The Pods of a Job may have been on one node, or on several.
      .replaceAll(/simulated-\d+(?:, simulated-\d+)*/g, 'simulated-<n>')
      // Which of its runs was the last is a matter of moments, too.
      .replaceAll(/^( {2}last run {2}ended <time> ago: ).*$/gm, '$1<what it did>')
      .replaceAll(/^( {2}begun by {2}).*$/gm, '$1<why it began>')
      // Whether a change came while the run was open is a matter of moments.
      .replaceAll(/^ {2}signal .*\n/gm, '')
  );
}
