import { InvalidArgumentError, type Command } from 'commander';
import type { Program } from '../../program/program.ts';
import { endSettingsRun } from '../../temporal/settings-run.ts';
import { answerWith, AskProblem, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { optionsOf } from '../controllers.ts';
import { addCommand, type SharedOptions } from '../options.ts';
import type { TemporalAccess } from '../connection/temporal.ts';
import { findLeftBehind, type Scope } from './left-behind.ts';
import { refusal, stays } from './words.ts';

interface UninstallOptions extends SharedOptions {
  readonly endSettingsRun?: boolean;
  readonly controllers?: readonly string[];
  readonly namespaces?: readonly string[];
}

export function addUninstallCheck(program: Command, ask: Ask): void {
  const command = addCommand(program, ask, 'uninstall-check')
    .option(
      '--end-settings-run',
      'if nothing would hang, end the workflow in which the operator keeps its options for these commands',
    )
    .option(
      '--controllers <names>',
      'the controllers of the operator, if it has not published them',
      (text: string) => controllersNamed(ask.program, text),
    )
    .option('--namespaces <names>', 'the namespaces that it watches, if it has not published them', names);
  answerWith(command, ask, answerUninstallCheck);
}

function names(text: string): string[] {
  return text.split(',').filter((name) => name !== '');
}

function controllersNamed({ controllers }: Program, text: string): string[] {
  const given = names(text);
  const unknown = given.find((name) => !controllers.some((known) => known.name === name));
  if (unknown === undefined) return given;
  throw new InvalidArgumentError(`there is no controller "${unknown}"`);
}

/** 0: nothing would hang; 1: something would. */
async function answerUninstallCheck(
  ask: Ask,
  { session, options }: Question<UninstallOptions>,
): Promise<ExitStatus> {
  if (options.namespace !== undefined)
    throw new AskProblem('uninstall-check is about all namespaces of the operator; leave out -n');
  const access = await session.temporal();
  const { taskQueue, otherCluster } = access;
  if (otherCluster !== undefined) {
    throw new AskProblem(
      `the operator of the task queue ${taskQueue} is for another cluster, ${otherCluster}; name yours with --task-queue, or check the kubeconfig and its context`,
    );
  }
  const found = await findLeftBehind(session, access, scopeOf(ask.program, access, options));
  if (found.hanging.length + found.runs.length > 0) {
    ask.stdout.write(refusal(found, taskQueue, ask.program));
    return 1;
  }
  ask.stdout.write(stays(found, taskQueue));
  if (options.endSettingsRun === true) await access.call((client) => endSettingsRun(client, taskQueue));
  return 0;
}

/** The options that the operator has published count. The chart gives its own, for an operator that never ran. */
function scopeOf(program: Program, { settings }: TemporalAccess, given: UninstallOptions): Scope {
  const { reconciliation } = optionsOf(program, settings);
  return settings === undefined ? { ...reconciliation, ...given } : reconciliation;
}
