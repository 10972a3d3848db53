import { lastLines } from './program-output.ts';
import { ServerFailed } from './servers.ts';
import { layoutOf, saveLogs } from './stack-folder.ts';
import type { Stack } from './stack.ts';

/** Prints the error on stderr, with the end of the log of the server that failed, or of the operator. Keeps all logs. */
export async function reportFailure(error: unknown, stack: Stack | undefined): Promise<void> {
  process.stderr.write(`durable-operator: ${error instanceof Error ? error.message : String(error)}\n`);
  if (stack === undefined) return;
  const program = error instanceof ServerFailed ? error.server : 'operator';
  process.stderr.write(`The last lines of its log:\n${await lastLines(stack.logOf(program), 10)}\n`);
  process.stderr.write(`All logs are in ${await saveLogs(layoutOf(stack.dir))}\n`);
}
