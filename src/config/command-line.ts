import { Command, CommanderError, Help, Option } from 'commander';
import { ASK_COMMAND_NAMES, ASK_COMMANDS } from '../ask/commands.ts';
import { VERSION } from './version.ts';
import { variableFor, type OptionRow } from './option.ts';
import type { OptionTable } from './option-table.ts';
import type { SourcedValue, GivenOptions } from './sources.ts';

const COMMANDS = {
  run: 'watch the cluster and reconcile, in one process (the default)',
  watch: 'watch the cluster and start workflows in Temporal, but run none',
  work: 'run only the workflows and activities',
  promote: 'make a worker version current in Temporal, and exit',
  'codec-server': 'decrypt payloads for the Temporal UI and CLI',
  dev: 'start Temporal and Kubernetes locally, run the operator on them, and start it again when its code changes',
  generate: 'write the manifests, the chart and the Dockerfile of the operator into the folder deploy',
} as const;

export type CommandName = keyof typeof COMMANDS;

const COMMAND_NAMES = Object.keys(COMMANDS) as readonly CommandName[];

/** What the command line says, before any value is checked. */
export type CommandLine =
  | {
      readonly kind: 'command';
      readonly command: CommandName;
      readonly flags: GivenOptions;
      /** The file that `--config` names. */
      readonly configFile?: string;
    }
  | { readonly kind: 'help'; readonly output: string }
  | { readonly kind: 'wrong'; readonly problem: string };

/** @param args what follows the program's name, `process.argv.slice(2)` */
export function parseCommandLine(table: OptionTable, args: readonly string[]): CommandLine {
  const output: string[] = [];
  let chosen: Chosen | undefined;
  const program = programWriting(table, output, (command) => (chosen = command));
  try {
    program.parse(
      args.map((argument) => withoutBooleanValue(table, argument)),
      { from: 'user' },
    );
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0
      ? { kind: 'help', output: output.join('') }
      : { kind: 'wrong', problem: problemIn(table, error) };
  }
  const { name, command } = chosen ?? { name: 'run', command: program };
  const [word] = command.args;
  if (word !== undefined) return { kind: 'wrong', problem: unexpectedWord(word) };
  return { kind: 'command', command: name, ...givenTo(table, command) };
}

interface Chosen {
  readonly name: CommandName;
  readonly command: Command;
}

function programWriting(table: OptionTable, output: string[], choose: (chosen: Chosen) => void): Command {
  const program = new Command(table.program)
    .description('A Kubernetes operator whose every reconciliation is a Temporal workflow.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help; after a command, the help of the command')
    .usage('[command] [options]')
    .exitOverride()
    .configureHelp({ visibleOptions: optionsToShow })
    .configureOutput({ writeOut: (text) => output.push(text), writeErr: (text) => output.push(text) })
    .addHelpText('after', AFTER_HELP);
  addOptions(table, program, undefined);
  program.addOption(
    new Option('--config <file>', 'read options from this YAML file').helpGroup('Operation:'),
  );
  for (const name of COMMAND_NAMES) {
    const command = program.command(name, { isDefault: name === 'run' }).description(COMMANDS[name]);
    addOptions(table, command, name);
    command.allowExcessArguments().action(() => choose({ name, command }));
  }
  program.command('new').description('write an operator of your own, or one more controller: new --help');
  addAskCommands(program);
  return program;
}

/** They have a command line of their own, which begins with their name. */
function addAskCommands(program: Command): void {
  program.commandsGroup('Questions:');
  for (const name of ASK_COMMAND_NAMES) {
    const command = program.command(name).description(ASK_COMMANDS[name]);
    command
      .allowExcessArguments()
      .allowUnknownOption()
      .action(() => command.error(`put the command ${name} before its options`));
  }
}

const AFTER_HELP = `
Every option can also be set by a variable, such as ${variableFor('resync')},
and by a key in the file that --config names, such as resync. Flags override
variables, and variables override the file.

The connection to Temporal is configured with Temporal's own variables
(TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_...) and
profiles (TEMPORAL_PROFILE):
https://docs.temporal.io/references/client-environment-configuration

Durations are written as 3m, 90s, 1h or 500ms; lists with commas: a,b.`;

/** A command's help shows the options of every command as well, each under its own title. */
function optionsToShow(this: Help, command: Command): Option[] {
  const own = Help.prototype.visibleOptions.call(this, command);
  const inherited =
    command.parent?.options.filter(({ hidden, long }) => !hidden && long !== '--version') ?? [];
  return [...own, ...inherited];
}

function addOptions({ rows }: OptionTable, command: Command, owner: CommandName | undefined): void {
  for (const row of rows.filter(({ onlyFor }) => onlyFor === owner)) {
    const flag = row.argument === undefined ? `--${row.name}` : `--${row.name} <${row.argument}>`;
    command.addOption(new Option(flag, helpOf(row)).helpGroup(`${row.title}:`));
    if (row.argument === undefined) command.addOption(new Option(`--no-${row.name}`).hideHelp());
  }
}

function helpOf({ help, default: text, unset, argument }: OptionRow): string {
  // That a flag without a value is false by default goes without saying.
  const isOff = argument === undefined && text === 'false';
  const otherwise = isOff || text === '' ? unset : (text ?? unset);
  return (otherwise === undefined ? help : `${help} (default: ${otherwise})`).replaceAll('`', '');
}

/** `--run-outside-cluster=true`, as people write it for programs in Go, in the form that commander knows. */
function withoutBooleanValue({ rows }: OptionTable, argument: string): string {
  const [, name, value] = /^--([a-z0-9-]+)=(true|false)$/.exec(argument) ?? [];
  const isBoolean = rows.some((row) => row.name === name && row.argument === undefined);
  if (name === undefined || !isBoolean) return argument;
  return value === 'true' ? `--${name}` : `--no-${name}`;
}

function givenTo({ rows }: OptionTable, command: Command) {
  const values = command.optsWithGlobals<Record<string, unknown>>();
  const flags = new Map<string, SourcedValue>();
  for (const { name } of rows) {
    const raw = values[new Option(`--${name}`).attributeName()];
    if (raw !== undefined) flags.set(name, { raw, from: `--${name}` });
  }
  const configFile = values['config'];
  return { flags, ...(typeof configFile === 'string' ? { configFile } : {}) };
}

/** Commander's sentence on one line, without its `error:`, with where to read on. */
function problemIn({ program, rows }: OptionTable, error: CommanderError): string {
  const [, sentence = '', hint] =
    /^(?:error: )?([^]*?)(?:\n(\(Did you mean [^]*))?$/.exec(error.message) ?? [];
  const suggested = hint === undefined ? '' : ` ${hint.replace('(Did', '(did')}`;
  return `${sentence}${suggested}; ${ownerOf(rows, sentence) ?? `see ${program} --help`}`;
}

/** An option that is unknown only because it is given to the wrong command. */
function ownerOf(rows: readonly OptionRow[], sentence: string): string | undefined {
  const [, name] = /^unknown option '--([a-z0-9-]+)/.exec(sentence) ?? [];
  const owner = rows.find((row) => row.name === name)?.onlyFor;
  return owner && `it belongs to the command ${owner}`;
}

function unexpectedWord(word: string): string {
  const commands = [...COMMAND_NAMES, ...ASK_COMMAND_NAMES].join(', ');
  return `"${word}" is neither an option nor a command; the commands are ${commands}`;
}
