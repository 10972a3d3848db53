import type { Command } from 'commander';
import type { Session, SessionOptions } from './connection/session.ts';

/** 0: up to date; 1: not; 2: wrong use, or no connection. As `kubectl diff` has it. */
export type ExitStatus = 0 | 1 | 2;

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

/** Has a command answered in a session, which is closed afterwards. The answer is the exit status. */
export function answerWith<Options extends SessionOptions>(
  command: Command,
  ask: Ask,
  answer: (ask: Ask, question: Question<Options>) => Promise<ExitStatus>,
): void {
  command.action(async (words: readonly string[], options: Options) => {
    const session = await ask.open(options);
    try {
      ask.exitWith(await answer(ask, { session, words, options }));
    } finally {
      await session.close();
    }
  });
}
