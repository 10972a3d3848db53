import type { Command } from 'commander';
import { PAUSED_ANNOTATION } from '../../contract/control.ts';
import { NAMESPACES } from '../../controllers/kinds.ts';
import type { Program } from '../../program/program.ts';
import { answerWith, AskProblem, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { bounded } from '../../bounded.ts';
import { annotate, listTargets, readTarget, type LiveTarget } from '../cluster/objects.ts';
import { addCommand, type SharedOptions } from '../options.ts';
import {
  argumentsOf,
  controllerOfKind,
  countOf,
  parseResource,
  type ResourceName,
} from '../resource-name.ts';
import { confirmed } from './confirm.ts';

const CHANGES = {
  pause: { verb: 'Pause', did: 'paused', already: 'already paused' },
  resume: { verb: 'Resume', did: 'resumed', already: 'not paused' },
} as const;

type Change = keyof typeof CHANGES;

/** Adds `pause` or `resume`. */
export function addChange(change: Change, program: Command, ask: Ask): void {
  const command = addCommand(program, ask, change, 'allNamespaces', 'selector', 'yes').argument(
    '<resource...>',
    'KIND/NAME, one or several; namespace/NAME for all in it; controller/NAME or KIND for all of its resources',
  );
  answerWith<SharedOptions>(command, ask, (_, question) => answerPause(ask, question, change));
}

const WRITES_AT_A_TIME = 16;

/** Works without Temporal: a pause during an outage holds after it. */
async function answerPause(ask: Ask, question: Question<SharedOptions>, change: Change): Promise<ExitStatus> {
  const { session, options } = question;
  const { targets, isBatch } = await targetsOf(question);
  if (targets.length === 0) ask.stderr.write('No resources found\n');
  const due = targets.filter((target) => isDue(target, change));
  if (isBatch && due.length > 0 && !(await confirmed(ask, questionFor(question, due, change), options)))
    return 1;
  const annotations = { [PAUSED_ANNOTATION]: change === 'pause' ? 'true' : null };
  const written = await bounded(due, WRITES_AT_A_TIME, async (target) => {
    const isWritten = await annotate(session.client, target, annotations);
    return { target, isWritten };
  });
  for (const { target, isWritten } of written) {
    const all = target.type === NAMESPACES ? ', with everything in it' : '';
    if (isWritten) ask.stdout.write(`${argumentsOf(target)} ${CHANGES[change].did}${all}\n`);
    else ask.stderr.write(`${argumentsOf(target)} is gone or was replaced: not ${CHANGES[change].did}\n`);
  }
  const others = targets.filter((target) => !isDue(target, change));
  const who = isBatch ? `${others.length} of ${targets.length}` : others.map(argumentsOf).join(', ');
  const are = others.length === 1 ? 'is' : 'are';
  if (others.length > 0) ask.stdout.write(`${who} ${are} ${CHANGES[change].already}\n`);
  return written.every(({ isWritten }) => isWritten) ? 0 : 1;
}

interface Targets {
  readonly targets: readonly LiveTarget[];
  /** The user has not named each of them. */
  readonly isBatch: boolean;
}

async function targetsOf({ session, words, options }: Question<SharedOptions>): Promise<Targets> {
  const { program, client, namespace } = session;
  const { allNamespaces: isEverywhere = false, selector: labelSelector } = options;
  const resources = resourcesIn(words).map((each) => resourceOf(program, each));
  const [all] = resources.filter(({ name }) => name === undefined);
  if (all === undefined) {
    const excluded = isEverywhere ? '-A' : labelSelector === undefined ? undefined : '-l';
    const [{ name = '' } = {}] = resources;
    if (excluded)
      throw new AskProblem(`${excluded} and the name "${name}" exclude each other; leave one out`);
    const named = resources.map(({ controller, name: its = '' }) =>
      readTarget(client, { type: controller.primary.type, namespace, name: its }),
    );
    return { targets: await Promise.all(named), isBatch: false };
  }
  if (resources.length > 1)
    throw new AskProblem('a KIND for all of its resources stands alone; name each resource');
  const { type } = all.controller.primary;
  if (!type.namespaced && !isEverywhere && labelSelector === undefined)
    throw new AskProblem(`${type.plural} have no namespace; write -A for all of them, or name one`);
  const listing = { namespace: isEverywhere ? undefined : namespace, labelSelector };
  return { targets: await listTargets(client, type, listing), isBatch: true };
}

/** As kubectl takes them: `KIND/NAME KIND/NAME`, or `KIND NAME NAME`. */
function resourcesIn(words: readonly string[]): readonly (readonly string[])[] {
  const [kind = '', ...names] = words;
  if (words.every((word) => word.includes('/'))) return words.map((word) => [word]);
  return names.length > 1 && !words.some((word) => word.includes('/'))
    ? names.map((name) => [kind, name])
    : [words];
}

/** `controller/pod-set` means all of its resources. @throws AskProblem */
function resourceOf(program: Program, words: readonly string[]): ResourceName {
  const [, name] = /^controllers?[/ ](.+)$/i.exec(words.join(' ')) ?? [];
  return name === undefined
    ? parseResource(program, words)
    : { controller: controllerOfKind(program, name), name: undefined };
}

function isDue({ annotations }: LiveTarget, change: Change): boolean {
  const value = annotations[PAUSED_ANNOTATION];
  return change === 'pause' ? value !== 'true' : value !== undefined;
}

function questionFor(
  { options, session }: Question<SharedOptions>,
  due: readonly LiveTarget[],
  change: Change,
): string {
  const { type = NAMESPACES } = due[0] ?? {};
  const where =
    options.allNamespaces === true || !type.namespaced ? '' : ` in namespace ${session.namespace}`;
  const inThem = type === NAMESPACES ? ', and everything in them' : '';
  return `${CHANGES[change].verb} ${countOf(due.length, type)}${where}${inThem}?`;
}
