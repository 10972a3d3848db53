import type { Command } from 'commander';
import { AskProblem, type Ask } from '../ask.ts';
import { answersYes } from './yes-or-no.ts';

export interface ConfirmOptions {
  /** The question is answered already. */
  readonly yes?: boolean;
}

export function withYes(command: Command, help: string): Command {
  return command.option('-y, --yes', help);
}

/**
 * Asks on a terminal, unless it is already answered.
 *
 * @throws AskProblem where there is nobody to ask
 */
export async function confirmed(
  ask: Ask,
  question: string,
  { yes = false }: ConfirmOptions,
): Promise<boolean> {
  if (yes) return true;
  if (!ask.isTerminal || !process.stdin.isTTY)
    throw new AskProblem(`${question} There is no terminal to ask on; add --yes to confirm`);
  return answersYes(question, ask);
}
