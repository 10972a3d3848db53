import { flushCompileCache } from 'node:module';
import { parentPort } from 'node:worker_threads';
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
    void answer(connecting, of).then((said) => {
      parentPort?.postMessage(said);
      // The thread does not end by itself.
      flushCompileCache();
    });
  });

  async function answer(connected: Promise<OpenTemporal>, of: OpenRunsOf): Promise<RunsAnswer> {
    try {
      return { is: 'read', openRuns: await readOpenRuns(await connected, of) };
    } catch (error) {
      if (!(error instanceof TemporalProblem)) throw error;
      return { is: 'problem', message: error.message };
    }
  }
}
