import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';

/** stdout and stderr of a short command; `missing`: there is no such command. */
export interface CommandOutput {
  readonly outcome: 'succeeded' | 'failed' | 'missing';
  readonly output: string;
}

const TIMEOUT_MS = 120_000; // `go env` may download a toolchain first

export function outputOf(
  command: string,
  args: readonly string[],
  options: { cwd?: string } = {},
): Promise<CommandOutput> {
  return new Promise((resolve) => {
    const settings = { env: process.env, timeout: TIMEOUT_MS, ...options };
    execFile(command, args, settings, (error, stdout, stderr) => {
      if (error === null) resolve({ outcome: 'succeeded', output: stdout + stderr });
      else if (error.code === 'ENOENT') resolve({ outcome: 'missing', output: '' });
      else resolve({ outcome: 'failed', output: stdout + stderr });
    });
  });
}

/** The last lines of a log, for an error's message. */
export async function lastLines(file: string, count: number): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const lines = text.trimEnd().split('\n').slice(-count);
  return lines.join('\n') || '(empty)';
}
