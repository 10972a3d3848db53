/*
 * What people ask: why, get, history, plan, and the commands that change something by an annotation. In: a command line, the cluster and
 * Temporal, with the rights of the person. Out: text or data, and an exit status. It decides by the controllers' own `decide`, and
 * changes a resource by its annotations alone.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { TemporalProblem } from '../temporal/temporal-problem.ts';
import type { Program } from '../program/program.ts';
import type { Session, SessionOptions } from './session.ts';
import { harmless } from './output.ts';

/** 0: up to date; 1: not; 2: wrong use, or no connection, as in `kubectl diff`; 130: ended by Ctrl-C. */
export type ExitStatus = 0 | 1 | 2 | typeof INTERRUPTED;

/** Shells report a signal as 128 and its number. */
export const INTERRUPTED = 130;

export interface Output {
  write(text: string): unknown;
}

export interface Ask {
  /** The operator that is asked about. */
  readonly program: Program;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: NodeJS.ProcessEnv;
  /** Whether stdout is a terminal; else there are no colours and no questions. */
  readonly isTerminal: boolean;
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** @throws ConfigurationError if the configuration names no cluster or no Temporal */
  open(options: SessionOptions): Promise<Session>;
  /** Sets the exit status; the default is 0. */
  exitWith(status: ExitStatus): void;
}

/** A person can correct it. It is printed as one line, and the exit status is 2. */
export class AskProblem extends Error {
  override readonly name = 'AskProblem';
}

export interface Question<Options extends SessionOptions> {
  readonly session: Session;
  /** The arguments of the command, without options. */
  readonly words: readonly string[];
  readonly options: Options;
}

/** An endless command goes on until Ctrl-C. */
interface EndlessOptions {
  readonly watch?: boolean;
  readonly follow?: boolean;
}

/** Answers a command in a session. The session is closed afterwards. */
export function answerWith<Options extends SessionOptions & EndlessOptions>(
  command: Command,
  ask: Ask,
  answer: (ask: Ask, question: Question<Options>) => Promise<ExitStatus>,
): void {
  command.action(async () => {
    const options = command.opts<Options>();
    const session = await ask.open(options);
    try {
      const question = { session, words: command.args, options };
      ask.exitWith(await Promise.race([answer(ask, question), interruption(ask.signal, options)]));
    } finally {
      const closing = session.close();
      // A connection may still be in progress. Do not wait for it after Ctrl-C.
      if (ask.signal.aborted) closing.catch(() => undefined);
      else await closing;
    }
  });
}

/** Ctrl-C is the normal end of an endless command, which first sets its own exit status. */
function interruption(signal: AbortSignal, { watch, follow }: EndlessOptions): Promise<ExitStatus> {
  const isEndless = watch === true || follow === true;
  return new Promise((resolve) => {
    const end = () => (isEndless ? void setImmediate(resolve, 0) : resolve(INTERRUPTED));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

/** Reads again and again until Ctrl-C. While Temporal has a problem, it is reported once and nothing is yielded. */
export async function* repeatedly<T>(
  { stderr, signal }: Pick<Ask, 'stderr' | 'signal'>,
  intervalMs: number,
  read: () => Promise<T>,
): AsyncGenerator<T> {
  let reported: string | undefined;
  while (await delay(intervalMs, true, { signal }).catch(() => false)) {
    try {
      yield await read();
      reported = undefined;
    } catch (error) {
      if (!(error instanceof TemporalProblem)) throw error;
      if (reported !== error.message) stderr.write(`kubectl durable: ${harmless(error.message)}; retrying\n`);
      reported = error.message;
    }
  }
}
