import { AskProblem, type Ask } from '../ask.ts';
import type { SharedOptions } from '../options.ts';
import { answersYes } from './yes-or-no.ts';

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
