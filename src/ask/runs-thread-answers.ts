import { flushCompileCache } from 'node:module';
import { parentPort } from 'node:worker_threads';
import { ConfigurationError } from '../contract/configuration-error.ts';
import { connectTemporal, temporalTarget, type OpenTemporal } from './connection/temporal.ts';
import { TemporalProblem } from './connection/temporal-problem.ts';
import { readOpenRuns, type OpenRunsOf } from './runs/open-runs.ts';
import type { RunsAnswer, RunsQuestion } from './runs-thread.ts';

/** Answers each message of the parent thread. */
export function answerOpenRuns(): void {
  let connecting: Promise<OpenTemporal> | undefined;
  // It takes longest, and is begun before the first question.
  void import('@temporalio/client');
  parentPort?.on('message', ({ temporal, ownUid, ...of }: RunsQuestion) => {
    connecting ??= connectTemporal(temporalTarget(process.env), temporal, Promise.resolve(ownUid));
    // The thread does not end by itself.
    void answer(connecting, of).then(flushCompileCache);
  });
}

async function answer(connecting: Promise<OpenTemporal>, of: OpenRunsOf): Promise<void> {
  try {
    const access = await connecting;
    const { settings, taskQueue, unreadable, otherTaskQueues, otherCluster } = access;
    const operator = { taskQueue, unreadable, otherTaskQueues, otherCluster };
    say({ is: 'settings', settings, operator });
    say({ is: 'runs', runs: await readOpenRuns(access, of) });
  } catch (error) {
    if (!(error instanceof TemporalProblem || error instanceof ConfigurationError)) throw error;
    say({ is: 'problem', message: error.message });
  }
}

function say(said: RunsAnswer): void {
  parentPort?.postMessage(said);
}
