import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { ROOT } from '../../local/root.ts';

/** Runs a command. @returns its standard output. @throws Error if it ends with another status than 0 */
export async function run(
  [program = '', ...args]: readonly string[],
  { cwd = ROOT, env, input }: { cwd?: string; env?: NodeJS.ProcessEnv; input?: string } = {},
): Promise<string> {
  const all = { ...process.env, ...env };
  const child = spawn(program, args, { cwd, env: all, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(input);
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (child.exitCode === 0) return output.trim();
  throw new Error(
    `${[program, ...args].join(' ')} ended with ${child.exitCode ?? child.signalCode}\n${output}`,
  );
}
