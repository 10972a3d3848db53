import { Command, CommanderError, Help, Option } from 'commander';
import { VERSION } from '../version.ts';
import { describe, isOptionName, OPTION_NAMES, variableFor, type OptionName } from './options.ts';
import { suggestion } from './values.ts';

const PROGRAM = 'durable-operator';

const COMMANDS = {
  run: 'watch the cluster and do the work, in one process (the default)',
  watch: 'only watch the cluster, and start the work in Temporal',
  work: 'only do the work that Temporal hands out',
  promote: 'make a version of the workers the current one in Temporal, and end',
  'codec-server': 'show a Temporal UI what is encrypted, to whoever may read the keys',
  local: 'start a local Temporal and Kubernetes, run the operator on them and show samples converge',
} as const;

export type CommandName = keyof typeof COMMANDS;

const COMMAND_NAMES: readonly CommandName[] = ['run', 'watch', 'work', 'promote', 'codec-server', 'local'];

/** What the command line says, as text, before anything of it is held to be right. */
export type CommandLine =
  | {
      readonly kind: 'command';
      readonly command: CommandName;
      readonly flags: ReadonlyMap<OptionName, string | boolean>;
      /** The file that `--config` names. */
      readonly configFile?: string;
    }
  | { readonly kind: 'help'; readonly output: string }
  | { readonly kind: 'wrong'; readonly problem: string };

/** @param args what follows the program's name, `process.argv.slice(2)` */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const output: string[] = [];
  let chosen: Command | undefined;
  const program = programWriting(output, (command) => (chosen = command));
  try {
    program.parse(args.map(withoutBooleanValue), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0
      ? { kind: 'help', output: output.join('') }
      : { kind: 'wrong', problem: problemIn(error) };
  }
  const [word] = chosen?.args ?? [];
  if (word !== undefined) return { kind: 'wrong', problem: unexpectedWord(word) };
  return { kind: 'command', command: commandNamed(chosen?.name()), ...givenTo(chosen ?? program) };
}

function programWriting(output: string[], choose: (command: Command) => void): Command {
  const program = new Command(PROGRAM)
    .description('A Kubernetes operator whose every reconciliation is a Temporal workflow.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help; after a command, that of the command')
    .usage('[command] [options]')
    .exitOverride()
    .configureHelp({ visibleOptions: optionsToShow })
    .configureOutput({ writeOut: (text) => output.push(text), writeErr: (text) => output.push(text) })
    .addHelpText('after', AFTER_HELP);
  addOptions(program, (onlyFor) => onlyFor === undefined);
  program.addOption(configOption());
  for (const name of COMMAND_NAMES) {
    const command = program.command(name, { isDefault: name === 'run' }).description(COMMANDS[name]);
    addOptions(command, (onlyFor) => onlyFor === name);
    command.allowExcessArguments().action(() => choose(command));
  }
  return program;
}

const AFTER_HELP = `
Every option has a variable, such as ${variableFor('resync')}, and a key in
the file that --config names, such as resync. Flags win over variables, and
variables over the file.

Temporal is found by its own variables (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE,
TEMPORAL_API_KEY, TEMPORAL_TLS_...) and profiles (TEMPORAL_PROFILE):
https://docs.temporal.io/references/client-environment-configuration

Durations are written as 3m, 90s, 1h or 500ms; lists with commas: a,b.`;

/** A command's help shows the options of every command as well, each under its own title. */
function optionsToShow(this: Help, command: Command): Option[] {
  const own = Help.prototype.visibleOptions.call(this, command);
  const inherited =
    command.parent?.options.filter(({ hidden, long }) => !hidden && long !== '--version') ?? [];
  return [...own, ...inherited];
}

function configOption(): Option {
  return new Option('--config <file>', 'read options from this YAML file').helpGroup('Operation:');
}

function addOptions(command: Command, wanted: (onlyFor: string | undefined) => boolean): void {
  for (const name of OPTION_NAMES.filter((each) => wanted(describe(each).onlyFor))) {
    const { argument, help, group, fallback } = describe(name);
    const shown =
      fallback === undefined || fallback === '' || argument === undefined ? '' : ` (default: ${fallback})`;
    const flag = argument === undefined ? `--${name}` : `--${name} <${argument}>`;
    command.addOption(new Option(flag, help + shown).helpGroup(group));
    if (argument === undefined) command.addOption(new Option(`--no-${name}`).hideHelp());
  }
}

/** `--run-outside-cluster=true`, as people write it for programs in Go, in the form that commander knows. */
function withoutBooleanValue(argument: string): string {
  const [, name, value] = /^--([a-z-]+)=(true|false)$/.exec(argument) ?? [];
  const isBoolean = OPTION_NAMES.some((each) => each === name && describe(each).argument === undefined);
  if (name === undefined || !isBoolean) return argument;
  return value === 'true' ? `--${name}` : `--no-${name}`;
}

function givenTo(command: Command) {
  const values = command.optsWithGlobals<Record<string, unknown>>();
  const flags = new Map<OptionName, string | boolean>();
  for (const name of OPTION_NAMES) {
    const value = values[attributeOf(name)];
    if (typeof value === 'string' || typeof value === 'boolean') flags.set(name, value);
  }
  const configFile = values['config'];
  return { flags, ...(typeof configFile === 'string' ? { configFile } : {}) };
}

function attributeOf(name: OptionName): string {
  return new Option(`--${name}`).attributeName();
}

function commandNamed(name: string | undefined): CommandName {
  return COMMAND_NAMES.find((each) => each === name) ?? 'run';
}

/** Commander's sentence on one line, without its `error:`, with where to read on. */
function problemIn(error: CommanderError): string {
  const [sentence = '', hint] = error.message.replace(/^error: /, '').split('\n');
  const suggested = hint === undefined ? '' : ` ${hint.replace('(Did', '(did')}`;
  return `${sentence}${suggested}; ${ownerOf(sentence) ?? `see ${PROGRAM} --help`}`;
}

/** An option that is unknown only because it stands with the wrong command. */
function ownerOf(sentence: string): string | undefined {
  const [, name = ''] = /^unknown option '--([a-z-]+)/.exec(sentence) ?? [];
  const owner = isOptionName(name) ? describe(name).onlyFor : undefined;
  return owner === undefined ? undefined : `it belongs to the command ${owner}`;
}

function unexpectedWord(word: string): string {
  const commands = COMMAND_NAMES.join(', ');
  return `"${word}" is neither an option nor a command${suggestion(word, COMMAND_NAMES)}; the commands are ${commands}`;
}
