import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export const ROOT = new URL('../..', import.meta.url).pathname;

/** A command that ended with another status than 0. The message has what it said last. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
}

export interface RunOptions {
  /** Default: the root of the checkout. */
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
  /** Also shows what it says, as it says it. */
  readonly shown?: boolean;
}

/**
 * Runs a command, and resolves to its standard output.
 *
 * @throws CommandFailed
 */
export async function run(command: readonly string[], options: RunOptions = {}): Promise<string> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    cwd: options.cwd ?? ROOT,
    env: { ...process.env, GOWORK: 'off', ...options.env },
  });
  child.stdin.end(options.input);
  if (options.shown === true) {
    child.stdout.pipe(process.stdout, { end: false });
    child.stderr.pipe(process.stderr, { end: false });
  }
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (child.exitCode === 0) return output;
  const said = (errors + output).trimEnd().split('\n').slice(-20).join('\n');
  throw new CommandFailed(
    `${command.join(' ')}: ended with ${String(child.exitCode ?? child.signalCode)}\n${said}`,
  );
}
