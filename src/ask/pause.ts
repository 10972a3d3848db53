import type { Command } from 'commander';
import { PAUSED_ANNOTATION } from '../contract/control.ts';
import type { Controller } from '../contract/controller.ts';
import { AskProblem, inSession, type Ask, type ExitStatus } from './ask.ts';
import { ASK_COMMANDS } from './commands.ts';
import { confirmed } from './confirm.ts';
import { withAllNamespaces, withConnectionOptions, type ConnectionOptions } from './connection-options.ts';
import { controllerOfKind, parseResource, type ResourceName } from './resource-name.ts';
import { bounded } from './runs.ts';
import { controllersOf, type Session } from './session.ts';
import { annotate, countOf, fullName, listTargets, readTarget, type LiveTarget } from './targets.ts';

interface PauseOptions extends ConnectionOptions {
  readonly yes?: boolean;
}

type Change = 'pause' | 'resume';

export function addPause(program: Command, ask: Ask): void {
  add(program, ask, 'pause');
}

export function addResume(program: Command, ask: Ask): void {
  add(program, ask, 'resume');
}

function add(program: Command, ask: Ask, change: Change): void {
  const command = program
    .command(change)
    .description(ASK_COMMANDS[change])
    .argument(
      '<resource...>',
      'KIND/NAME; namespace/NAME for all in it; controller/NAME or KIND for all of its resources',
    )
    .option('-y, --yes', 'do not ask, where it concerns many');
  withAllNamespaces(withConnectionOptions(command)).action((words: string[], options: PauseOptions) =>
    inSession(ask, options, (session) => answerPause(ask, { session, words, options, change })),
  );
}

interface Question {
  readonly session: Session;
  readonly words: readonly string[];
  readonly options: PauseOptions;
  readonly change: Change;
}

/** Annotations at a time: many objects, without being a burden. */
const WRITES_AT_A_TIME = 16;

async function answerPause(ask: Ask, question: Question): Promise<ExitStatus> {
  const { targets, isBatch } = await targetsOf(question);
  const due = targets.filter((target) => isDue(target, question.change));
  if (isBatch && due.length > 0 && !(await isConfirmed(ask, question, due))) return 1;
  const written = await bounded(due, WRITES_AT_A_TIME, (target) => write(question, target));
  say(ask, { question, targets, due, written });
  return written.every(Boolean) ? 0 : 1;
}

interface Targets {
  readonly targets: readonly LiveTarget[];
  /** Nobody has named them one by one. */
  readonly isBatch: boolean;
}

async function targetsOf({ session, words, options }: Question): Promise<Targets> {
  const { client, namespace } = session;
  const { controller, name } = resourceOf(words, await controllersForWords(session));
  const { type } = controller.primary;
  const isEverywhere = options.allNamespaces === true;
  if (name !== undefined) {
    if (isEverywhere) throw new AskProblem(`-A and the name "${name}" exclude each other; leave one out`);
    return { targets: [await readTarget(client, { type, namespace, name })], isBatch: false };
  }
  if (!type.namespaced && !isEverywhere)
    throw new AskProblem(`${type.plural} are in no namespace; write -A for all of them, or name one`);
  return { targets: await listTargets(client, type, isEverywhere ? undefined : namespace), isBatch: true };
}

/** `controller/pod-set` is all of its resources. @throws AskProblem */
function resourceOf(words: readonly string[], controllers: readonly Controller[]): ResourceName {
  const [, name] = /^controllers?[/ ](.+)$/i.exec(words.join(' ')) ?? [];
  if (name === undefined) return parseResource(words, controllers);
  return { controller: controllerOfKind(name, controllers), name: undefined };
}

/** A pause must not depend on Temporal: what is paused in an outage stays paused after it. */
async function controllersForWords(session: Session): Promise<readonly Controller[]> {
  return controllersOf(await session.settings().catch(() => undefined));
}

function isDue({ annotations }: LiveTarget, change: Change): boolean {
  const value = annotations[PAUSED_ANNOTATION];
  return change === 'pause' ? value !== 'true' : value !== undefined;
}

function isConfirmed(ask: Ask, question: Question, due: readonly LiveTarget[]): Promise<boolean> {
  const { change, options, session } = question;
  const kind = due[0]?.type.kind ?? '';
  const where = options.allNamespaces === true ? '' : ` in namespace ${session.namespace}`;
  const inThem = kind === 'Namespace' ? ', and everything in them' : '';
  const words = `${change === 'pause' ? 'Pause' : 'Resume'} ${countOf(due.length, kind)}${where}${inThem}?`;
  return confirmed(ask, words, options.yes === true);
}

function write({ session, change }: Question, target: LiveTarget): Promise<boolean> {
  return annotate(session.client, target, { [PAUSED_ANNOTATION]: change === 'pause' ? 'true' : null });
}

interface Outcome {
  readonly question: Question;
  readonly targets: readonly LiveTarget[];
  readonly due: readonly LiveTarget[];
  /** Of those that were due. */
  readonly written: readonly boolean[];
}

function say(ask: Ask, { question: { change }, targets, due, written }: Outcome): void {
  const did = change === 'pause' ? 'paused' : 'resumed';
  for (const [index, target] of due.entries()) {
    const all = target.type.kind === 'Namespace' ? ', with everything in it' : '';
    if (written[index] === true) ask.stdout.write(`${fullName(target)} ${did}${all}\n`);
    else ask.stderr.write(`${fullName(target)} is gone or was replaced: not ${did}\n`);
  }
  const already = targets.length - due.length;
  if (already === 0) return;
  const state = change === 'pause' ? 'paused already' : 'not paused';
  const [only, ...more] = targets;
  const who = only !== undefined && more.length === 0 ? fullName(only) : `${already} of ${targets.length}`;
  ask.stdout.write(`${who} ${already === 1 ? 'is' : 'are'} ${state}\n`);
}
