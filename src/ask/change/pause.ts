import type { Command } from 'commander';
import { PAUSED_ANNOTATION } from '../../contract/control.ts';
import { NAMESPACES } from '../../controllers/kinds.ts';
import { answerWith, AskProblem, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { bounded } from '../bounded.ts';
import { annotate, listTargets, readTarget, type LiveTarget } from '../cluster/targets.ts';
import { addCommand } from '../commands.ts';
import { withAllNamespaces, withConnectionOptions, type ConnectionOptions } from '../connection/options.ts';
import {
  argumentsOf,
  controllerOfKind,
  countOf,
  parseResource,
  type ResourceName,
} from '../resource-name.ts';
import { confirmed, withYes, type ConfirmOptions } from './confirm.ts';

type PauseOptions = ConnectionOptions & ConfirmOptions;

const CHANGES = {
  pause: { verb: 'Pause', did: 'paused', already: 'paused already' },
  resume: { verb: 'Resume', did: 'resumed', already: 'not paused' },
} as const;

type Change = keyof typeof CHANGES;

export function addPause(program: Command, ask: Ask): void {
  addChange(program, ask, 'pause');
}

export function addResume(program: Command, ask: Ask): void {
  addChange(program, ask, 'resume');
}

function addChange(program: Command, ask: Ask, change: Change): void {
  const command = addCommand(program, change).argument(
    '<resource...>',
    'KIND/NAME; namespace/NAME for all in it; controller/NAME or KIND for all of its resources',
  );
  const withOptions = withAllNamespaces(
    withConnectionOptions(withYes(command, 'do not ask, where it concerns many')),
  );
  answerWith<PauseOptions>(withOptions, ask, (_, question) => answerPause(ask, question, change));
}

/** Annotations at a time: many objects, without being a burden. */
const WRITES_AT_A_TIME = 16;

/** It does without Temporal: what is paused in an outage stays paused after it. */
async function answerPause(ask: Ask, question: Question<PauseOptions>, change: Change): Promise<ExitStatus> {
  const { session, options } = question;
  const { targets, isBatch } = await targetsOf(question);
  if (targets.length === 0) ask.stderr.write('No resources found\n');
  const due = targets.filter((target) => isDue(target, change));
  if (isBatch && due.length > 0 && !(await confirmed(ask, questionFor(question, due, change), options)))
    return 1;
  const value = change === 'pause' ? 'true' : null;
  const written = await bounded(due, WRITES_AT_A_TIME, (target) =>
    annotate(session.client, target, { [PAUSED_ANNOTATION]: value }),
  );
  report(ask, { change, targets, due, written });
  return written.every(Boolean) ? 0 : 1;
}

interface Targets {
  readonly targets: readonly LiveTarget[];
  /** Nobody has named them one by one. */
  readonly isBatch: boolean;
}

async function targetsOf({ session, words, options }: Question<PauseOptions>): Promise<Targets> {
  const { client, namespace } = session;
  const { controller, name } = resourceOf(words);
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
function resourceOf(words: readonly string[]): ResourceName {
  const [, name] = /^controllers?[/ ](.+)$/i.exec(words.join(' ')) ?? [];
  return name === undefined ? parseResource(words) : { controller: controllerOfKind(name), name: undefined };
}

function isDue({ annotations }: LiveTarget, change: Change): boolean {
  const value = annotations[PAUSED_ANNOTATION];
  return change === 'pause' ? value !== 'true' : value !== undefined;
}

function questionFor(
  { options, session }: Question<PauseOptions>,
  due: readonly LiveTarget[],
  change: Change,
): string {
  const { type = NAMESPACES } = due[0] ?? {};
  const where = options.allNamespaces === true ? '' : ` in namespace ${session.namespace}`;
  const inThem = type === NAMESPACES ? ', and everything in them' : '';
  return `${CHANGES[change].verb} ${countOf(due.length, type)}${where}${inThem}?`;
}

interface Outcome {
  readonly change: Change;
  readonly targets: readonly LiveTarget[];
  readonly due: readonly LiveTarget[];
  /** Of those that were due. */
  readonly written: readonly boolean[];
}

function report(ask: Ask, { change, targets, due, written }: Outcome): void {
  const { did, already } = CHANGES[change];
  for (const [index, target] of due.entries()) {
    const all = target.type === NAMESPACES ? ', with everything in it' : '';
    if (written[index] === true) ask.stdout.write(`${argumentsOf(target)} ${did}${all}\n`);
    else ask.stderr.write(`${argumentsOf(target)} is gone or was replaced: not ${did}\n`);
  }
  const notDue = targets.length - due.length;
  if (notDue === 0) return;
  const [only, ...more] = targets;
  const who = only !== undefined && more.length === 0 ? argumentsOf(only) : `${notDue} of ${targets.length}`;
  ask.stdout.write(`${who} ${notDue === 1 ? 'is' : 'are'} ${already}\n`);
}
