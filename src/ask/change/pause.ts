import type { Command } from 'commander';
import { PAUSED_ANNOTATION } from '../../api/annotations.ts';
import { NAMESPACES } from '../../api/kinds.ts';
import { answerWith, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { bounded } from '../../temporal/bounded.ts';
import { annotate, type LiveTarget } from '../cluster/objects.ts';
import { addCommand, type SharedOptions } from '../options.ts';
import { argumentsOf, countOf } from '../resource-name.ts';
import { confirmed } from './confirm.ts';
import { targetsOf } from './targets.ts';

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
