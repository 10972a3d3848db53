import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { PROGRAM } from './built.ts';
import type { TestStack } from './stack.ts';

/** The kubectl plugin as it is delivered. */
export const ASK_PROGRAM = join(PROGRAM, '../ask/main.js');

export interface Answered {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number | null;
}

interface Asking extends Pick<TestStack, 'kubeconfig' | 'temporalAddress'> {
  /** Of the environment, besides where to ask. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** As a person asks it at a shell, without a terminal. */
export async function askProgram(
  { kubeconfig, temporalAddress, variables }: Asking,
  args: readonly string[],
  input = '',
): Promise<Answered> {
  const where = { KUBECONFIG: kubeconfig, TEMPORAL_ADDRESS: temporalAddress };
  const env = { ...process.env, ...where, ...variables };
  const child = spawn(process.execPath, [ASK_PROGRAM, ...args], { env, stdio: 'pipe' });
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { stdout, stderr, status: child.exitCode };
}
