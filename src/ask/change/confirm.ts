import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { AskProblem, type Ask } from '../ask.ts';
import type { SharedOptions } from '../options.ts';

/** Asks on a terminal, unless `--yes` is given. @throws AskProblem if there is no terminal */
export async function confirmed(
  ask: Ask,
  question: string,
  { yes = false }: Pick<SharedOptions, 'yes'>,
): Promise<boolean> {
  if (yes) return true;
  if (!ask.isTerminal || !process.stdin.isTTY)
    throw new AskProblem(`${question} There is no terminal to answer in; add --yes to confirm`);
  return answersYes(question, ask);
}

export interface Terminal {
  readonly signal: AbortSignal;
  readonly input?: Readable;
  readonly output?: Writable;
}

/** Asks on the terminal. Anything but yes means no, and so do Ctrl-C and Ctrl-D. */
export async function answersYes(
  question: string,
  { signal, input = process.stdin, output = process.stdout }: Terminal,
): Promise<boolean> {
  const lines = createInterface({ input, output });
  const closed = once(lines, 'close').then(() => '');
  // It is rejected by Ctrl-C, Ctrl-D and the signal.
  const answered = lines.question(`${question} [y/N] `, { signal }).catch(() => '');
  const answer = await Promise.race([answered, closed]);
  lines.close();
  return /^y(es)?$/i.test(answer.trim());
}
