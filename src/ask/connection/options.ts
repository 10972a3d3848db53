import { InvalidArgumentError, Option, type Command } from 'commander';
import { variableFor } from '../../config/option.ts';
import { taskQueueName } from '../../config/values.ts';
import type { SessionOptions } from './session.ts';

const CONNECTION = 'Connection:';

/** The options that say where to ask: kubectl's, and those that the operator has as well. */
export function withConnectionOptions(command: Command): Command {
  const ofConnection = (flags: string, help: string) => new Option(flags, help).helpGroup(CONNECTION);
  return command
    .addOption(new Option('-n, --namespace <name>', "namespace of the resource (default: the context's)"))
    .addOption(ofConnection('--kubeconfig <file>', 'kubeconfig file (default: as kubectl finds it)'))
    .addOption(ofConnection('--context <name>', 'context of the kubeconfig'))
    .addOption(
      ofConnection(
        '--task-queue <name>',
        "the operator's task queue (default: durable-operator, or that of the only operator)",
      )
        .env(variableFor('task-queue'))
        .argParser(taskQueueFrom),
    )
    .addOption(
      ofConnection('--payload-keys <file>', "the operator's payload keys, where it encrypts").env(
        variableFor('payload-keys'),
      ),
    )
    .addOption(
      ofConnection('--temporal-ui-url <url>', 'URL of the Temporal UI, for links').env(
        variableFor('temporal-ui-url'),
      ),
    );
}

function taskQueueFrom(text: string): string {
  const { success, data, error } = taskQueueName.safeParse(text);
  if (!success) throw new InvalidArgumentError(`It ${error.issues[0]?.message ?? 'is invalid'}.`);
  return data;
}

/** `-A`, of commands about more than one resource. */
export function withAllNamespaces(command: Command): Command {
  return command.option('-A, --all-namespaces', 'in all namespaces');
}

export const OUTPUT_FORMATS = ['json', 'yaml', 'wide'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** `-o`, as kubectl has it. */
export function withOutput(command: Command, formats: readonly OutputFormat[] = OUTPUT_FORMATS): Command {
  return command.addOption(new Option('-o, --output <format>', 'format of the output').choices([...formats]));
}

/** What {@link withConnectionOptions} and {@link withAllNamespaces} give an action. */
export interface ConnectionOptions extends SessionOptions {
  readonly allNamespaces?: boolean;
}
