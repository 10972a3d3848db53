import type { Command, Option } from 'commander';
import type { Controller } from '../engine/controller.ts';
import type { Ask } from './ask.ts';
import { listTargets } from './cluster/objects.ts';
import type { Session, SessionOptions } from './session.ts';
import { configuredControllers } from './controllers.ts';
import { withoutJoinedValues } from './options.ts';
import { nameOfKind, parseResource } from './resource-name.ts';
import { STATES } from './state.ts';

/** In cobra's protocol: the shell does not complete file names. */
const NO_FILES = 4;
const WITHIN_MS = 1_500;

const FILES: ReadonlySet<string> = new Set(['filename', 'kubeconfig', 'payloadKeys']);

/**
 * Never fails: if the words are wrong or the cluster does not answer, nothing is completed.
 *
 * @param program with all commands
 * @param words the command line so far; its last word, which may be empty, is to be completed
 * @returns the answer to kubectl, in cobra's protocol
 */
export async function completionsFor(
  program: Pick<Command, 'commands'>,
  ask: Pick<Ask, 'program' | 'open'>,
  words: readonly string[],
): Promise<string> {
  try {
    const cursor = cursorIn(program, words);
    // The shell knows the names of files.
    if (FILES.has(cursor.option?.attributeName() ?? '')) return ':0\n';
    const controllers = configuredControllers(ask.program);
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

async function namesInTime(
  ask: Pick<Ask, 'open'>,
  { options }: Cursor,
  kind: string,
): Promise<readonly string[]> {
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
  const { type } = parseResource(program, [kind]);
  const targets = await listTargets(client, type, { namespace });
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

export interface Suggestion {
  readonly value: string;
  readonly description?: string;
}

/** All words that may stand there, whatever is typed of it. */
export async function candidates(
  controllers: readonly Controller[],
  cursor: Cursor,
  namesOf: NamesOf,
): Promise<readonly Suggestion[]> {
  const { word, commands, command, option } = cursor;
  if (command === undefined) {
    return commands.map((each) => ({ value: each.name(), description: each.description() }));
  }
  if (option !== undefined) return plain(await valuesOf(option, namesOf));
  if (word.startsWith('-')) {
    return command.options.map(({ long, description }) => ({ value: long ?? '', description }));
  }
  return cursor.before.length === 0 && !word.includes('/')
    ? kinds(controllers, command)
    : plain(await resources(controllers, cursor, namesOf));
}

function plain(values: readonly string[]): readonly Suggestion[] {
  return values.map((value) => ({ value }));
}

async function valuesOf(option: Option, namesOf: NamesOf): Promise<readonly string[]> {
  switch (option.attributeName()) {
    case 'namespace':
      return namesOf('namespace');
    case 'state':
      return STATES;
    default:
      return option.argChoices ?? [];
  }
}

function kinds(controllers: readonly Controller[], command: Command): readonly Suggestion[] {
  const byKind = Map.groupBy(controllers, ({ primary }) => nameOfKind(primary.type));
  const ofKinds = [...byKind].map(([value, its]) => ({
    value,
    description: its.map(({ name }) => name).join(', '),
  }));
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
