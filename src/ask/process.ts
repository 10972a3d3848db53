import type { Program } from '../program/program.ts';
import type { Ask, ExitStatus } from './ask.ts';
import { answer, programWith } from './command-line.ts';
import { ASK_COMMAND_NAMES } from './commands.ts';

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
  const status = await answer(args, askingHere(program, interrupted.signal));
  // Requests may still be in progress. Nobody waits for their answers.
  if (interrupted.signal.aborted) await exit(status);
  return status;
}

/** @param words the command line so far; its last word, which may be empty, is to be completed */
export async function completeHere(program: Program, words: readonly string[]): Promise<never> {
  const { completionsFor } = await import('./completion.ts');
  const asking = askingHere(program, new AbortController().signal);
  const commands = await programWith(ASK_COMMAND_NAMES, { ...asking, exitWith: () => undefined });
  process.stdout.write(await completionsFor(commands, asking, words));
  return exit(0);
}

function askingHere(program: Program, signal: AbortSignal): Omit<Ask, 'exitWith'> {
  const { env, stdout, stderr } = process;
  return {
    ...{ program, signal, stdout, stderr, env },
    ...{ isTerminal: process.stdout.isTTY, now: Date.now },
    async open(options) {
      const { openSession } = await import('./session.ts');
      return openSession({ ...options, program }, { env, stderr });
    },
  };
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
