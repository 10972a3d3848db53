import type { Program } from '../program/program.ts';
import type { ExitStatus } from './ask.ts';
import { answer } from './command-line.ts';

export async function answerHere(program: Program, args: readonly string[]): Promise<ExitStatus> {
  const interrupted = new AbortController();
  process.once('SIGINT', () => {
    interrupted.abort();
  });
  // `kubectl durable get | head` closes the pipe early.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  const status = await answer(args, {
    program,
    ...{ stdout: process.stdout, stderr: process.stderr, env: process.env },
    ...{ isTerminal: process.stdout.isTTY, now: Date.now, signal: interrupted.signal },
    async open(options) {
      const { openSession } = await import('./connection/session.ts');
      return openSession({ ...options, program }, process.env);
    },
  });
  // Requests may still be in progress. Nobody waits for their answers.
  if (interrupted.signal.aborted || args[0] === 'completion') await exit(status);
  return status;
}

/** Exits once all output is written, which a pipe may delay. */
async function exit(status: ExitStatus): Promise<never> {
  await new Promise<void>((resolve) => {
    process.stdout.write('', () => {
      resolve();
    });
  });
  return process.exit(status);
}
