import { flushCompileCache } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { connectTemporal, temporalTarget, type TemporalOptions } from './connection/temporal.ts';
import { TemporalProblem } from './connection/temporal-problem.ts';
import { readOpenRuns, type OpenRunsOf } from './runs/open-runs.ts';
import type { RunsAnswer } from './runs-thread.ts';

/** Answers each message of the parent thread. */
export function answerOpenRuns(): void {
  // RunsThread gives it.
  const options = workerData as TemporalOptions;
  const connecting = connectTemporal(temporalTarget(process.env), options);
  // Who asks gets it.
  connecting.catch(() => undefined);
  parentPort?.on('message', (of: OpenRunsOf) => {
    void answer(of).then((said) => {
      parentPort?.postMessage(said);
      // The thread does not end by itself.
      flushCompileCache();
    });
  });

  async function answer(of: OpenRunsOf): Promise<RunsAnswer> {
    try {
      return { is: 'read', openRuns: await readOpenRuns(await connecting, of) };
    } catch (error) {
      if (!(error instanceof TemporalProblem)) throw error;
      return { is: 'problem', message: error.message };
    }
  }
}
