import { InvalidArgumentError, type Command } from 'commander';
import { CONTROLLER_NAMES } from '../../controllers/index.ts';
import { endSettingsRun } from '../../temporal/settings-run.ts';
import { AskProblem, inSession, type Ask, type ExitStatus } from '../ask.ts';
import { addCommand } from '../commands.ts';
import { withConnectionOptions, type ConnectionOptions } from '../connection/options.ts';
import type { Session } from '../connection/session.ts';
import type { TemporalAccess } from '../connection/temporal.ts';
import { optionsOf } from '../controllers.ts';
import { findLeftBehind, type Scope } from './left-behind.ts';
import { refusal, stays } from './words.ts';

interface UninstallOptions extends ConnectionOptions {
  readonly endSettingsRun?: boolean;
  readonly controllers?: readonly string[];
  readonly namespaces?: readonly string[];
}

export function addUninstallCheck(program: Command, ask: Ask): void {
  const command = addCommand(program, 'uninstall-check')
    .option(
      '--end-settings-run',
      'if nothing would hang, end the workflow in which the operator keeps its options for these commands',
    )
    .option(
      '--controllers <names>',
      'those that the operator runs, where it has not published it',
      controllers,
    )
    .option('--namespaces <names>', 'those that it watches, where it has not published it', names);
  withConnectionOptions(command).action(async (options: UninstallOptions) => {
    await inSession(ask, options, (session) => answerUninstallCheck(ask, session, options));
  });
}

function names(text: string): string[] {
  return text.split(',').filter((name) => name !== '');
}

function controllers(text: string): string[] {
  const given = names(text);
  const unknown = given.find((name) => !CONTROLLER_NAMES.some((known) => known === name));
  if (unknown === undefined) return given;
  throw new InvalidArgumentError(`there is no controller "${unknown}"`);
}

/** 0: nothing would hang; 1: something would. */
async function answerUninstallCheck(
  ask: Ask,
  session: Session,
  options: UninstallOptions,
): Promise<ExitStatus> {
  if (options.namespace !== undefined)
    throw new AskProblem('uninstall-check is about all namespaces of the operator; leave out -n');
  const access = await session.temporal();
  if (access.otherCluster !== undefined) {
    throw new AskProblem(
      `the operator of the task queue ${access.taskQueue} is for another cluster, ${access.otherCluster}; name yours with --task-queue, or check the kubeconfig and its context`,
    );
  }
  const found = await findLeftBehind(session.client, access, scopeOf(access, options));
  if (found.hanging.length + found.runs.length > 0) {
    ask.stdout.write(refusal(found, access.taskQueue));
    return 1;
  }
  ask.stdout.write(stays(found, access.taskQueue));
  if (options.endSettingsRun === true)
    await access.call((client) => endSettingsRun(client, access.taskQueue));
  return 0;
}

/** What the operator has published is what it does, whatever somebody says. */
function scopeOf({ settings }: TemporalAccess, given: UninstallOptions): Scope {
  const { reconciliation } = optionsOf(settings);
  return settings === undefined ? { ...reconciliation, ...given } : reconciliation;
}
