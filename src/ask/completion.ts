import { InvalidArgumentError, type Command, type Option } from 'commander';
import { FAILURE } from '../contract/failures.ts';
import type { Controller } from '../contract/controller.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { NAMESPACES } from '../controllers/kinds.ts';
import type { Ask } from './ask.ts';
import { addCommand } from './commands.ts';
import { withoutJoinedValues } from './joined-values.ts';
import { nameOfKind, parseResource } from './resource-name.ts';
import type { Session, SessionOptions } from './connection/session.ts';
import { controllersOf } from './controllers.ts';
import { listTargets } from './cluster/targets.ts';
import { STATES } from './state.ts';

const SHELLS = ['bash', 'zsh'] as const;
/** What the scripts call with the words so far; cobra's protocol, which kubectl speaks as well. */
export const CALLBACK = 'complete';

export function addCompletion(program: Command, ask: Ask): void {
  addCommand(program, 'completion')
    .argument('<shell>', SHELLS.join(' or '), shellOrCallback)
    .argument('[words...]')
    .option('--program <name>', 'what is completed: kubectl-durable or durable-operator', 'kubectl-durable')
    .addHelpText('after', HELP)
    .action(async (shell: string, words: string[], { program: name }: { readonly program: string }) => {
      if (shell === CALLBACK) ask.stdout.write(await completionsFor({ program, ask, words }));
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

/** On standard output. */
async function printScript(shell: string, name: string): Promise<void> {
  const { script } = await import('@bomb.sh/tab');
  script(shell, name, `${name} completion`);
}

export interface Candidate {
  readonly value: string;
  readonly description: string;
}

interface Completing {
  readonly program: Command;
  readonly ask: Ask;
  /** What is on the command line; the last one, which may be empty, is to be completed. */
  readonly words: readonly string[];
}

/** Of cobra: the shell is not to complete files where there is nothing. */
const NO_FILES = 4;
/** A person waits for it. */
const WITHIN_MS = 1_500;

const FILES: ReadonlySet<string> = new Set(['filename', 'kubeconfig', 'payloadKeys']);

/** Never fails: where the cluster cannot be asked, there is nothing of it to complete. */
async function completionsFor({ program, ask, words }: Completing): Promise<string> {
  const cursor = cursorIn(program, words);
  // Of a file, the shell knows the names.
  const isFile = FILES.has(cursor.option?.attributeName() ?? '');
  const found = isFile ? [] : await candidates(cursor, (work) => askCluster(ask, words, work));
  const fitting = found.filter(({ value }) => value.startsWith(cursor.word));
  const lines = fitting.map(({ value, description }) => `${value}\t${description}\n`);
  return `${lines.join('')}:${isFile ? 0 : NO_FILES}\n`;
}

type AskCluster = <T>(work: (session: Session) => Promise<readonly T[]>) => Promise<readonly T[]>;

async function askCluster<T>(
  ask: Ask,
  words: readonly string[],
  work: (session: Session) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const nothing = new Promise<readonly T[]>((resolve) => setTimeout(resolve, WITHIN_MS, []).unref());
  try {
    const session = await ask.open(optionsIn(words));
    try {
      return await Promise.race([work(session), nothing]);
    } finally {
      // It waits for a connection that is still being made, and a shell waits for the answer.
      session.close().catch(() => undefined);
    }
  } catch {
    return [];
  }
}

/** Where on the command line the word is that is to be completed. */
export interface Cursor {
  /** As far as it is typed. */
  readonly word: string;
  /** Undefined: no command yet. */
  readonly command: Command | undefined;
  /** The option whose value it is. */
  readonly option: Option | undefined;
  /** The words between the command and it that are no options. */
  readonly before: readonly string[];
  readonly commands: readonly Command[];
}

export function cursorIn({ commands }: Pick<Command, 'commands'>, words: readonly string[]): Cursor {
  const word = words.at(-1) ?? '';
  const command = commands.find((each) => each.name() === words[0]);
  if (command === undefined || words.length < 2) {
    return { word, command: undefined, option: undefined, before: [], commands };
  }
  const before: string[] = [];
  let option: Option | undefined;
  for (const each of words.slice(1, -1)) {
    const isValue = option !== undefined;
    option = isValue ? undefined : takingValue(command, each);
    if (!isValue && !each.startsWith('-')) before.push(each);
  }
  return { word, command, option, before, commands };
}

/** The option that takes the next word. */
function takingValue({ options }: Command, word: string): Option | undefined {
  return options.find(
    ({ short, long, required, optional }) =>
      (required || optional) && [short, long].some((flag) => flag === word),
  );
}

/** All that may stand there, whatever is typed of it. */
export async function candidates(
  { word, command, option, before, commands }: Cursor,
  cluster: AskCluster,
): Promise<readonly Candidate[]> {
  if (command === undefined) {
    return commands.map((each) => ({ value: each.name(), description: each.description() }));
  }
  if (option !== undefined) return valuesOf(option, cluster);
  if (word.startsWith('-')) return command.options.flatMap(flagsOf);
  if (command.name() === 'completion') return SHELLS.map((shell) => ({ value: shell, description: '' }));
  return resources({ word, before, command }, cluster);
}

function flagsOf({ long, description }: Option): Candidate[] {
  return typeof long === 'string' ? [{ value: long, description }] : [];
}

/** Every step of every controller, and how a step can fail. */
async function valuesOf(option: Option, cluster: AskCluster): Promise<readonly Candidate[]> {
  const plain = (values: readonly string[]) => values.map((value) => ({ value, description: '' }));
  switch (option.attributeName()) {
    case 'namespace':
      return cluster(({ client }) => namesOf(client, NAMESPACES, undefined));
    case 'step':
      return plain([...new Set(controllersOf().flatMap(({ steps }) => steps))]);
    case 'state':
      return plain(STATES);
    case 'failure':
      return plain(Object.values(FAILURE));
    default:
      return plain(option.argChoices ?? []);
  }
}

interface ResourceWord {
  readonly word: string;
  readonly before: readonly string[];
  readonly command: Command;
}

/** `podset`, `podset/web`, or the `web` of `podset web`. */
async function resources(
  { word, before, command }: ResourceWord,
  cluster: AskCluster,
): Promise<readonly Candidate[]> {
  const controllers = controllersOf();
  const [kind] = before.length === 0 ? word.split('/') : before;
  if (before.length === 0 && !word.includes('/')) return kinds(controllers, command);
  if (before.length > 1 || before.some((each) => each.includes('/'))) return [];
  const isOfController = /^controllers?$/i.test(kind ?? '');
  const prefix = before.length === 0 ? `${kind ?? ''}/` : '';
  const found = isOfController
    ? controllers.map(({ name }) => ({ value: name, description: '' }))
    : await namesOfKind(kind ?? '', cluster);
  return found.map(({ value, description }) => ({ value: `${prefix}${value}`, description }));
}

function kinds(controllers: readonly Controller[], command: Command): Candidate[] {
  const ofKinds = controllers.map((each) => ({ value: nameOfKind(each), description: each.name }));
  const isOfMany = ['pause', 'resume'].includes(command.name());
  return isOfMany ? [...ofKinds, { value: 'controller', description: 'all of its resources' }] : ofKinds;
}

async function namesOfKind(kind: string, cluster: AskCluster): Promise<readonly Candidate[]> {
  return cluster(({ client, namespace }) => {
    const { type } = parseResource([kind]).controller.primary;
    return namesOf(client, type, namespace);
  });
}

async function namesOf(
  client: KubernetesClient,
  type: Controller['primary']['type'],
  namespace: string | undefined,
): Promise<readonly Candidate[]> {
  const targets = await listTargets(client, type, namespace);
  return targets.map(({ name }) => ({ value: name, description: '' }));
}

/** Where the words so far say to ask. */
export function optionsIn(typed: readonly string[]): SessionOptions {
  const words = withoutJoinedValues(typed);
  const valueOf = (...flags: readonly string[]) => {
    const index = words.findIndex((word) => flags.includes(word));
    const joined = words.find((word) => flags.some((flag) => word.startsWith(`${flag}=`)));
    const value = joined?.slice(joined.indexOf('=') + 1) ?? (index < 0 ? undefined : words[index + 1]);
    return value === '' ? undefined : value;
  };
  const [namespace, kubeconfig, context] = [
    valueOf('-n', '--namespace'),
    valueOf('--kubeconfig'),
    valueOf('--context'),
  ];
  return {
    ...(namespace !== undefined && { namespace }),
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(context !== undefined && { context }),
  };
}
