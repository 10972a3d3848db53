import { AskProblem, type Ask } from './ask.ts';

/**
 * Asks on a terminal, unless it is already answered.
 *
 * @throws AskProblem where there is nobody to ask
 */
export async function confirmed(ask: Ask, question: string, isYes: boolean): Promise<boolean> {
  if (isYes) return true;
  if (!ask.isTerminal || !process.stdin.isTTY)
    throw new AskProblem(`${question} Without a terminal, say so with --yes`);
  const { confirm } = await import('@clack/prompts');
  return (await confirm({ message: question, initialValue: false, signal: ask.signal })) === true;
}
