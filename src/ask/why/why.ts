import type { Command } from 'commander';
import { answerWith, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { addCommand, type SharedOptions } from '../options.ts';
import { paintFor, structured } from '../output.ts';
import { parseNamedResource } from '../resource-name.ts';
import { explain } from './explain.ts';
import { explanationData, explanationText } from './explanation.ts';
import { findOut } from './findings.ts';

interface WhyOptions extends SharedOptions {
  readonly output?: 'json' | 'yaml';
}

export function addWhy(program: Command, ask: Ask): void {
  const command = addCommand(program, 'why', 'data').argument('<resource...>', 'KIND/NAME, or KIND NAME');
  answerWith(command, ask, answerWhy);
}

async function answerWhy(
  ask: Ask,
  { session, words, options: { output } }: Question<WhyOptions>,
): Promise<ExitStatus> {
  const explanation = explain(await findOut(session, parseNamedResource(words, session.namespace), ask.now));
  const text =
    output === undefined
      ? explanationText(explanation, paintFor(ask))
      : await structured(explanationData(explanation), output);
  ask.stdout.write(text);
  return explanation.exit;
}
