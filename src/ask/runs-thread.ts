import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import type { TemporalOptions } from './connection/temporal.ts';
import { TemporalProblem } from './connection/temporal-problem.ts';
import type { OpenRuns, OpenRunsOf } from './runs/open-runs.ts';
import { startRunsThread } from './start-runs-thread.ts';

/** What the thread is asked. */
export interface RunsQuestion extends OpenRunsOf {
  /** Where to ask; the same in each question. */
  readonly temporal: TemporalOptions;
  /** Of the cluster; the same in each question. */
  readonly ownUid: string | undefined;
}

/** What the thread answers. */
export type RunsAnswer =
  { readonly is: 'read'; readonly openRuns: OpenRuns } | { readonly is: 'problem'; readonly message: string };

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
    this.#worker.postMessage(asked);
    // What it throws, by a bug, is thrown here. Its messages are answers.
    const [answer] = (await once(this.#worker, 'message')) as [RunsAnswer];
    if (answer.is === 'problem') throw new TemporalProblem(answer.message);
    return answer.openRuns;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
