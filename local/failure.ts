import { ServerFailed } from './guarded-servers.ts';
import { lastLines } from './program-output.ts';
import { layoutOf, saveLogs } from './stack-folder.ts';
import type { Stack } from './stack.ts';

/**
 * Says on stderr what went wrong, with the last lines of the log of the server that failed, or else of the operator. Keeps
 * all logs.
 *
 * @param stack undefined: no servers had been started
 */
export async function reportFailure(error: unknown, stack: Stack | undefined): Promise<void> {
  process.stderr.write(`durable-operator: ${error instanceof Error ? error.message : String(error)}\n`);
  if (stack === undefined) return;
  const program = error instanceof ServerFailed ? error.server : 'operator';
  process.stderr.write(`The last lines of its log:\n${await lastLines(stack.logOf(program), 10)}\n`);
  process.stderr.write(`All logs are in ${await saveLogs(layoutOf(stack.dir))}\n`);
}
