import type { Worker } from 'node:worker_threads';
import type { Ask, ExitStatus } from './ask.ts';
import { answer } from './command-line.ts';

/**
 * Answers a question on the terminal of this process.
 *
 * @param runsThread where it was started already
 * @returns the exit status
 */
export async function answerHere(args: readonly string[], runsThread?: Worker): Promise<ExitStatus> {
  const interrupted = new AbortController();
  process.once('SIGINT', () => {
    interrupted.abort();
  });
  // `kubectl durable get | head` ends in the middle of a line.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  const status = await answer(args, askingHere(interrupted.signal, runsThread));
  // Whatever servers are still asked, nobody waits for their answers.
  if (interrupted.signal.aborted || args[0] === 'completion') await exit(status);
  return status;
}

/** Once all is written: a pipe may take it later. */
async function exit(status: ExitStatus): Promise<never> {
  await new Promise<void>((resolve) => {
    process.stdout.write('', () => {
      resolve();
    });
  });
  return process.exit(status);
}

function askingHere(signal: AbortSignal, runsThread: Worker | undefined): Omit<Ask, 'exitWith'> {
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    isTerminal: process.stdout.isTTY,
    now: Date.now,
    signal,
    async open(options) {
      const { openSession } = await import('./connection/session.ts');
      return openSession(options, process.env, runsThread);
    },
  };
}
