import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { TemporalOptions } from './connection/temporal.ts';
import { TemporalProblem } from './connection/temporal-problem.ts';
import type { OpenRuns, OpenRunsOf } from './runs/open-runs.ts';

/** What the thread is asked. */
export interface RunsQuestion extends OpenRunsOf {
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
  readonly #worker: Worker;

  constructor({ taskQueue, payloadKeys }: TemporalOptions) {
    const workerData: TemporalOptions = {
      ...(taskQueue !== undefined && { taskQueue }),
      ...(payloadKeys !== undefined && { payloadKeys }),
    };
    // In the built program, this module is part of process.js, in the same folder.
    const file = import.meta.url.endsWith('.ts') ? './runs-thread-main.ts' : './runs-thread-main.js';
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData });
  }

  /** One question at a time. @throws TemporalProblem */
  async openRuns(question: RunsQuestion): Promise<OpenRuns> {
    this.#worker.postMessage(question);
    // What it throws, by a bug, is thrown here. Its messages are answers.
    const [answer] = (await once(this.#worker, 'message')) as [RunsAnswer];
    if (answer.is === 'problem') throw new TemporalProblem(answer.message);
    return answer.openRuns;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
