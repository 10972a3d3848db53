import { Option, type Command } from 'commander';
import { answerWith, AskProblem, repeatedly, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { addCommand, type SharedOptions } from '../options.ts';
import { oneOrAll, paintFor, structured, TIMELESS_MS } from '../output.ts';
import { namedResources, parseResource, type NamedResource } from '../resource-name.ts';
import { readAll, type Said } from './everywhere.ts';
import { explain } from './explain.ts';
import { explanationData, explanationText } from './explanation.ts';
import { findOut } from './findings.ts';

interface WhyOptions extends SharedOptions {
  readonly output?: 'json' | 'yaml';
  readonly watch?: boolean;
}

export function addWhy(program: Command, ask: Ask): void {
  const command = addCommand(program, ask, 'why', 'allNamespaces', 'data')
    .argument('[resource...]', 'KIND/NAME, or KIND NAME; default: everything that is not well')
    .addOption(new Option('-w, --watch', 'explain again whenever something has changed, until Ctrl-C'));
  answerWith(command, ask, answerWhy);
}

const READ_EVERY_MS = 2_000;

async function answerWhy(ask: Ask, question: Question<WhyOptions>): Promise<ExitStatus> {
  const { output, watch: isWatching = false } = question.options;
  const read = readerFor(ask, question);
  const print = async ({ text, data }: Said, begin: string) =>
    ask.stdout.write(begin + (output === undefined ? text : await structured(data, output)));
  let last = await read();
  const { exit, notes = [] } = last;
  for (const note of notes) ask.stderr.write(`${note}\n`);
  await print(last, '');
  if (!isWatching) return exit;
  for await (const next of repeatedly(ask, READ_EVERY_MS, read)) {
    if (next.change !== last.change) await print(next, output === 'yaml' ? '---\n' : '\n');
    last = next;
  }
  return exit;
}

function readerFor(ask: Ask, question: Question<WhyOptions>): () => Promise<Said> {
  const { words, session, options } = question;
  const named = words.length === 0 ? undefined : parseResource(ask.program, words);
  if (named?.name === undefined) return () => readAll(ask, question, named);
  if (options.allNamespaces === true) throw new AskProblem('-A and a name exclude each other; leave one out');
  const resources = namedResources(named.controllers, named.name, session.namespace);
  return async () => {
    const each = await Promise.all(resources.map((resource) => saidOf(ask, question, resource)));
    return {
      text: each.map(({ text }) => text).join('\n'),
      data: oneOrAll(each.map(({ data }) => data)),
      change: each.map(({ change }) => change).join('\n'),
      exit: each.some(({ exit }) => exit === 2) ? 2 : each.some(({ exit }) => exit === 1) ? 1 : 0,
    };
  };
}

async function saidOf(
  ask: Ask,
  { session }: Question<WhyOptions>,
  resource: NamedResource,
): Promise<Omit<Said, 'notes'>> {
  const findings = await findOut(session, resource, ask.now);
  const explanation = { ...explain(findings), resource: resource.title };
  const { state, exit } = explanation;
  return {
    text: explanationText(explanation, paintFor(ask)),
    data: explanationData(explanation),
    // A check that changes nothing is another run, whose link differs.
    change: JSON.stringify([state, explain({ ...findings, nowMs: TIMELESS_MS, link: undefined })]),
    exit,
  };
}
