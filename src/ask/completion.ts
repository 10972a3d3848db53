import { InvalidArgumentError, type Command, type Option } from 'commander';
import type { Controller } from '../contract/controller.ts';
import { FAILURE } from '../contract/failures.ts';
import type { Ask } from './ask.ts';
import { listTargets } from './cluster/targets.ts';
import { ASK_COMMANDS } from './commands.ts';
import type { Session, SessionOptions } from './connection/session.ts';
import { controllersOf } from './controllers.ts';
import { withoutJoinedValues } from './options.ts';
import { nameOfKind, parseResource } from './resource-name.ts';
import { STATES } from './state.ts';

const SHELLS = ['bash', 'zsh'] as const;
/** The scripts call `completion complete -- WORDS`. This is cobra's protocol, which kubectl also speaks. */
const CALLBACK = 'complete';

export function addCompletion(program: Command, ask: Ask): void {
  program
    .command('completion')
    .description(ASK_COMMANDS.completion)
    .argument('<shell>', SHELLS.join(' or '), shellOrCallback)
    .argument('[words...]')
    .option(
      '--program <name>',
      'the program to complete: kubectl-durable or durable-operator',
      'kubectl-durable',
    )
    .addHelpText('after', HELP)
    .action(async (shell: string, words: string[], { program: name }: { readonly program: string }) => {
      if (shell === CALLBACK) ask.stdout.write(await completionsFor(program, ask, words));
      else await printScript(shell, name);
    });
}

const HELP = `
bash, in ~/.bashrc:   source <(kubectl-durable completion bash)
zsh, in ~/.zshrc:     source <(kubectl-durable completion zsh)

kubectl completes "kubectl durable" itself, by kubectl_complete-durable on the PATH.
`;

function shellOrCallback(word: string): string {
  if (word === CALLBACK || SHELLS.some((shell) => shell === word)) return word;
  throw new InvalidArgumentError(`The shells are ${SHELLS.join(' and ')}.`);
}

async function printScript(shell: string, name: string): Promise<void> {
  const { script } = await import('@bomb.sh/tab');
  script(shell, name, `${name} completion`);
}

/** In cobra's protocol: the shell does not complete file names. */
const NO_FILES = 4;
const WITHIN_MS = 1_500;

const FILES: ReadonlySet<string> = new Set(['filename', 'kubeconfig', 'payloadKeys']);

/**
 * Never fails: if the words are wrong or the cluster does not answer, nothing is completed.
 *
 * @param words the command line so far; its last word, which may be empty, is to be completed
 */
async function completionsFor(program: Command, ask: Ask, words: readonly string[]): Promise<string> {
  try {
    const cursor = cursorIn(program, words);
    // The shell knows the names of files.
    if (FILES.has(cursor.option?.attributeName() ?? '')) return ':0\n';
    const controllers = controllersOf(ask.program);
    const namesOf = (kind: string) => namesInTime(ask, cursor, kind);
    const found = await candidates(controllers, cursor, namesOf);
    const fitting = found.filter(({ value }) => value.startsWith(cursor.word));
    const lines = fitting.map(({ value, description = '' }) => `${value}\t${description}\n`);
    return `${lines.join('')}:${NO_FILES}\n`;
  } catch {
    return `:${NO_FILES}\n`;
  }
}

/** The names of all resources of a kind. */
type NamesOf = (kind: string) => Promise<readonly string[]>;

async function namesInTime(ask: Ask, { options }: Cursor, kind: string): Promise<readonly string[]> {
  const nothing = new Promise<readonly string[]>((resolve) => setTimeout(resolve, WITHIN_MS, []).unref());
  const session = await ask.open(options);
  try {
    return await Promise.race([namesIn(session, kind), nothing]);
  } finally {
    // A connection may still be in progress. The shell does not wait for it.
    session.close().catch(() => undefined);
  }
}

export async function namesIn(
  { program, client, namespace }: Pick<Session, 'program' | 'client' | 'namespace'>,
  kind: string,
): Promise<readonly string[]> {
  const { type } = parseResource(program, [kind]).controller.primary;
  const targets = await listTargets(client, type, namespace);
  return targets.map(({ name }) => name);
}

/** The word that is to be completed, and its place on the command line. */
export interface Cursor {
  readonly word: string;
  readonly commands: readonly Command[];
  /** Undefined: the word is a command. */
  readonly command?: Command;
  /** The word is the value of this option. */
  readonly option?: Option | undefined;
  readonly before: readonly string[];
  readonly options: SessionOptions;
}

export function cursorIn({ commands }: Pick<Command, 'commands'>, words: readonly string[]): Cursor {
  const word = words.at(-1) ?? '';
  const [name, ...typed] = withoutJoinedValues(words.slice(0, -1));
  const command = commands.find((each) => each.name() === name);
  if (command === undefined) return { word, commands, before: [], options: {} };
  const last = typed.at(-1) ?? '';
  const option = command.options.find(
    ({ short, long, required }) => required && (short === last || long === last),
  );
  const { operands } = command.parseOptions(option === undefined ? typed : typed.slice(0, -1));
  return { word, commands, command, option, before: operands, options: command.opts() };
}

export interface Candidate {
  readonly value: string;
  readonly description?: string;
}

/** All words that may stand there, whatever is typed of it. */
export async function candidates(
  controllers: readonly Controller[],
  cursor: Cursor,
  namesOf: NamesOf,
): Promise<readonly Candidate[]> {
  const { word, commands, command, option } = cursor;
  if (command === undefined) {
    return commands.map((each) => ({ value: each.name(), description: each.description() }));
  }
  if (option !== undefined) return plain(await valuesOf(controllers, option, namesOf));
  if (word.startsWith('-')) {
    return command.options.map(({ long, description }) => ({ value: long ?? '', description }));
  }
  if (command.name() === 'completion') return plain(SHELLS);
  return cursor.before.length === 0 && !word.includes('/')
    ? kinds(controllers, command)
    : plain(await resources(controllers, cursor, namesOf));
}

function plain(values: readonly string[]): readonly Candidate[] {
  return values.map((value) => ({ value }));
}

async function valuesOf(
  controllers: readonly Controller[],
  option: Option,
  namesOf: NamesOf,
): Promise<readonly string[]> {
  switch (option.attributeName()) {
    case 'namespace':
      return namesOf('namespace');
    case 'step':
      return [...new Set(controllers.flatMap(({ steps }) => Object.keys(steps)))];
    case 'state':
      return STATES;
    case 'failure':
      return Object.values(FAILURE);
    default:
      return option.argChoices ?? [];
  }
}

function kinds(controllers: readonly Controller[], command: Command): readonly Candidate[] {
  const ofKinds = controllers.map((each) => ({ value: nameOfKind(each), description: each.name }));
  const isOfMany = ['pause', 'resume'].includes(command.name());
  return isOfMany ? [...ofKinds, { value: 'controller', description: 'all of its resources' }] : ofKinds;
}

/** `podset/web`, or the `web` of `podset web`. */
async function resources(
  controllers: readonly Controller[],
  { word, before }: Cursor,
  namesOf: NamesOf,
): Promise<readonly string[]> {
  if (before.length > 1 || before.some((each) => each.includes('/'))) return [];
  const [kind = ''] = before.length === 0 ? word.split('/') : before;
  const isController = /^controllers?$/i.test(kind);
  const names = isController ? controllers.map(({ name }) => name) : await namesOf(kind);
  return before.length === 0 ? names.map((name) => `${kind}/${name}`) : names;
}
