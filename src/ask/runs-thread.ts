import { on } from 'node:events';
import type { Worker } from 'node:worker_threads';
import type { TemporalOptions } from './connection/temporal.ts';
import { TemporalProblem } from './connection/temporal-problem.ts';
import type { OpenRun, OpenRuns, OpenRunsOf } from './runs/open-runs.ts';
import { startRunsThread } from './start-runs-thread.ts';

/** What the thread is asked. */
export interface RunsQuestion extends OpenRunsOf {
  /** Where to ask; the same in each question. */
  readonly temporal: TemporalOptions;
  /** Of the cluster; the same in each question. */
  readonly ownUid: string | undefined;
}

/** What the thread answers, one after the other, or the problem that it has met. */
export type RunsAnswer =
  | ({ readonly is: 'settings' } & Pick<OpenRuns, 'settings' | 'operator'>)
  | { readonly is: 'runs'; readonly runs: readonly OpenRun[] }
  | { readonly is: 'problem'; readonly message: string };

/**
 * Reads open runs in a thread of its own. To load Temporal's client, and to ask about each of hundreds of runs, takes a
 * processor as long as to read the lists of the cluster, which is done beside it.
 */
export class RunsThread {
  readonly #temporal: TemporalOptions;
  readonly #worker: Worker;

  /** @param worker Default: it is started now */
  constructor({ taskQueue, payloadKeys }: TemporalOptions, worker = startRunsThread()) {
    this.#temporal = {
      ...(taskQueue !== undefined && { taskQueue }),
      ...(payloadKeys !== undefined && { payloadKeys }),
    };
    this.#worker = worker;
    worker.ref();
  }

  /** One question at a time. @throws TemporalProblem */
  async openRuns(question: Omit<RunsQuestion, 'temporal'>): Promise<OpenRuns> {
    const asked: RunsQuestion = { ...question, temporal: this.#temporal };
    // What it throws, by a bug, is thrown here, too.
    const answers = on(this.#worker, 'message');
    this.#worker.postMessage(asked);
    try {
      const { settings, operator } = await next(answers, 'settings');
      const runs = next(answers, 'runs')
        .then((answer) => answer.runs)
        .finally(() => answers.return?.());
      // Who asks gets it, perhaps later.
      runs.catch(() => undefined);
      return { settings, operator, runs };
    } catch (error) {
      await answers.return?.();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

/** @throws TemporalProblem */
async function next<Is extends 'settings' | 'runs'>(
  answers: AsyncIterator<unknown>,
  is: Is,
): Promise<Extract<RunsAnswer, { is: Is }>> {
  const { value } = (await answers.next()) as IteratorYieldResult<readonly [RunsAnswer]>;
  const [answer] = value;
  if (answer.is === 'problem') throw new TemporalProblem(answer.message);
  if (answer.is !== is) throw new Error(`the thread has answered with its ${answer.is}, not with its ${is}`);
  return answer as Extract<RunsAnswer, { is: Is }>;
}
