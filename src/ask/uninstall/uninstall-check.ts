import type { Command } from 'commander';
import { endSettingsRun } from '../../temporal/settings-run.ts';
import { answerWith, AskProblem, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { optionsOf } from '../controllers.ts';
import { addCommand, type SharedOptions } from '../options.ts';
import { findLeftBehind } from './left-behind.ts';
import { refusal, stays } from './words.ts';

interface UninstallOptions extends SharedOptions {
  readonly endSettingsRun?: boolean;
}

export function addUninstallCheck(program: Command, ask: Ask): void {
  const command = addCommand(program, 'uninstall-check').option(
    '--end-settings-run',
    'if nothing would hang, end the workflow in which the operator keeps its options for these commands',
  );
  answerWith(command, ask, answerUninstallCheck);
}

/** 0: nothing would hang; 1: something would. */
async function answerUninstallCheck(
  ask: Ask,
  { session, options }: Question<UninstallOptions>,
): Promise<ExitStatus> {
  if (options.namespace !== undefined)
    throw new AskProblem('uninstall-check is about all namespaces of the operator; leave out -n');
  const access = await session.temporal();
  const { taskQueue, settings, otherCluster } = access;
  if (otherCluster !== undefined) {
    throw new AskProblem(
      `the operator of the task queue ${taskQueue} is for another cluster, ${otherCluster}; name yours with --task-queue, or check the kubeconfig and its context`,
    );
  }
  const found = await findLeftBehind(session.client, access, optionsOf(settings).reconciliation);
  if (found.hanging.length + found.runs.length > 0) {
    ask.stdout.write(refusal(found, taskQueue));
    return 1;
  }
  ask.stdout.write(stays(found, taskQueue));
  if (options.endSettingsRun === true) await access.call((client) => endSettingsRun(client, taskQueue));
  return 0;
}
