import type { Command } from 'commander';
import type { Session, SessionOptions } from './connection/session.ts';

/** 0: up to date; 1: not; 2: wrong use, or no connection, as `kubectl diff` has it; 130: ended by Ctrl-C. */
export type ExitStatus = 0 | 1 | 2 | typeof INTERRUPTED;

/** Of what a signal ends, as shells have it: 128 and the number of the signal. */
export const INTERRUPTED = 130;

export interface Output {
  write(text: string): unknown;
}

/** What a command works with. Made once a process; tests have fakes of it. */
export interface Ask {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: NodeJS.ProcessEnv;
  /** Whether stdout is a terminal: else no colour, no question and no animation. */
  readonly isTerminal: boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** @throws ConfigurationError where the cluster or Temporal cannot be found in the configuration */
  open(options: SessionOptions): Promise<Session>;
  /** Sets the exit status; without it, it is 0. */
  exitWith(status: ExitStatus): void;
}

/** What a person can correct. It is printed as a line, and the exit status is 2. */
export class AskProblem extends Error {
  override readonly name = 'AskProblem';
}

/** What a person has asked. */
export interface Question<Options extends SessionOptions> {
  readonly session: Session;
  /** What follows the command, without the options. */
  readonly words: readonly string[];
  readonly options: Options;
}

/** Has a command answered in a session. The answer is the exit status. */
export function answerWith<Options extends SessionOptions>(
  command: Command,
  ask: Ask,
  answer: (ask: Ask, question: Question<Options>) => Promise<ExitStatus>,
): void {
  command.action(async (words: readonly string[], options: Options) => {
    await inSession(ask, options, (session) => answer(ask, { session, words, options }));
  });
}

/** How a command goes on until Ctrl-C. */
interface EndlessOptions {
  readonly watch?: boolean;
  readonly follow?: boolean;
}

/** The session is closed afterwards, or, by Ctrl-C, at once. */
export async function inSession(
  ask: Ask,
  options: SessionOptions & EndlessOptions,
  answer: (session: Session) => Promise<ExitStatus>,
): Promise<void> {
  const session = await ask.open(options);
  try {
    ask.exitWith(await Promise.race([answer(session), interruption(ask.signal, options)]));
  } finally {
    const closing = session.close();
    // To connect may take seconds, which nobody is to wait for any more.
    if (ask.signal.aborted) closing.catch(() => undefined);
    else await closing;
  }
}

/** What is not done is no success, unless it never ends otherwise: that first says by itself how it has ended. */
function interruption(signal: AbortSignal, { watch, follow }: EndlessOptions): Promise<ExitStatus> {
  const isEndless = watch === true || follow === true;
  return new Promise((resolve) => {
    const end = () => (isEndless ? void setImmediate(resolve, 0) : resolve(INTERRUPTED));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}
