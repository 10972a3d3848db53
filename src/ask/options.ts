import { InvalidArgumentError, Option, type Command } from 'commander';
import type { z } from 'zod';
import { variableFor } from '../config/option.ts';
import { credentialsTimeout, taskQueueName } from '../config/values.ts';
import type { Ask } from './ask.ts';
import { ASK_COMMANDS, type AskCommand } from './commands.ts';
import type { SessionOptions } from './session.ts';

export const OUTPUT_FORMATS = ['json', 'yaml', 'wide'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** The options that several commands share. */
export interface SharedOptions extends SessionOptions {
  readonly allNamespaces?: boolean;
  readonly output?: OutputFormat;
  readonly yes?: boolean;
  readonly selector?: string;
}

const outputOption = () => new Option('-o, --output <format>', 'format of the output');

const SHARED = {
  allNamespaces: () => new Option('-A, --all-namespaces', 'in all namespaces'),
  yes: () => new Option('-y, --yes', 'do not ask'),
  selector: () => new Option('-l, --selector <labels>', 'only those with these labels, as in kubectl'),
  data: () => outputOption().choices(['json', 'yaml']),
  dataOrWide: () => outputOption().choices(OUTPUT_FORMATS),
};

/** The options that say where to ask: those of kubectl, and some of the operator. */
function connectionOptions({ name }: Ask['program']): readonly Option[] {
  const taskQueue = `the operator's task queue (default: ${name}, or that of the only operator)`;
  const payloadKeys = "the operator's payload keys, if it encrypts";
  return [
    new Option('--kubeconfig <file>', 'kubeconfig file (default: as kubectl finds it)'),
    new Option('--context <name>', 'context of the kubeconfig'),
    new Option('--credentials-timeout <duration>', 'how long an exec plugin may take (default: 30s)')
      .env(variableFor('credentials-timeout'))
      .argParser((text) => checked(credentialsTimeout, text)),
    new Option('--task-queue <name>', taskQueue)
      .env(variableFor('task-queue'))
      .argParser((text) => checked(taskQueueName, text)),
    new Option('--payload-keys <file>', payloadKeys).env(variableFor('payload-keys')),
    new Option('--temporal-ui-url <url>', 'URL of the Temporal UI, for links').env(
      variableFor('temporal-ui-url'),
    ),
  ];
}

function checked<Value>(schema: z.ZodType<Value>, text: string): Value {
  const { success, data, error } = schema.safeParse(text);
  if (!success) throw new InvalidArgumentError(`It ${error.issues[0]?.message ?? 'is invalid'}.`);
  return data;
}

/** Adds a command that asks the servers. */
export function addCommand(
  program: Command,
  ask: Ask,
  name: AskCommand,
  ...shared: readonly (keyof typeof SHARED)[]
): Command {
  const command = program.command(name).description(ASK_COMMANDS[name]);
  command.option('-n, --namespace <name>', "namespace of the resource (default: the context's)");
  for (const each of shared) command.addOption(SHARED[each]());
  for (const option of connectionOptions(ask.program)) command.addOption(option.helpGroup('Connection:'));
  return command;
}

/** Splits `-n=shop`, which kubectl accepts; commander would read the value `=shop`. Words after `--` stay. */
export function withoutJoinedValues(words: readonly string[]): string[] {
  const end = words.indexOf('--');
  const options = end < 0 ? words : words.slice(0, end);
  const split = options.flatMap((word) => /^(-[A-Za-z])=(.*)$/s.exec(word)?.slice(1) ?? [word]);
  return [...split, ...words.slice(options.length)];
}
