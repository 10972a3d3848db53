import type { TaskQueueState, WatcherState } from '../runs/telemetry.ts';
import type { Health } from '../observability/health.ts';
import type { StateSource } from '../observability/observability.ts';
import type { TaskQueueWatch } from '../temporal/task-queue.ts';
import { workflowThreadProblem } from '../temporal/workflow-threads.ts';
import type { LeaderElection } from '../watcher/leader-election.ts';
import type { Watcher } from '../watcher/watcher.ts';

/** A watcher, and what says when it leads. */
export interface Watching {
  readonly watcher: Watcher;
  /** Undefined: it always leads. */
  readonly election: LeaderElection | undefined;
  /** Undefined: nobody asks for its metrics. */
  readonly taskQueue: TaskQueueWatch | undefined;
}

type Phase =
  | { readonly is: 'connecting' | 'connected'; readonly waits?: string }
  | { readonly is: 'running'; readonly watching: Watching | undefined }
  | { readonly is: 'stopping' };

/** How far the process has come: what its health and its metrics are asked about. */
export class Lifecycle implements StateSource {
  #phase: Phase = { is: 'connecting' };
  #credentialsProblem: string | undefined;

  /** @param words what the start has failed of last */
  waits(words: string): void {
    const { is } = this.#phase;
    if (is === 'connecting' || is === 'connected') this.#phase = { is, waits: words };
  }

  /** Temporal has answered. */
  connected(): void {
    this.#phase = { is: 'connected' };
  }

  /** @param problem why there are none for the API server; undefined if there are */
  credentials(problem: string | undefined): void {
    this.#credentialsProblem = problem;
  }

  /** @param watching undefined where this process does not watch */
  started(watching: Watching | undefined): void {
    this.#phase = { is: 'running', watching };
  }

  stopping(): void {
    this.#phase = { is: 'stopping' };
  }

  health(): Health {
    return {
      live: present(workflowThreadProblem()),
      ready: [...present(this.#credentialsProblem), ...this.#problems()],
    };
  }

  watcher(): WatcherState | undefined {
    return this.#watching?.watcher.state;
  }

  taskQueues(): TaskQueueState | undefined {
    return this.#watching?.taskQueue?.state;
  }

  isLeading(): boolean | undefined {
    return this.#watching?.election?.isLeading;
  }

  isConnectedToTemporal(): boolean {
    return this.#phase.is !== 'connecting';
  }

  get #watching(): Watching | undefined {
    return this.#phase.is === 'running' ? this.#phase.watching : undefined;
  }

  #problems(): readonly string[] {
    switch (this.#phase.is) {
      case 'connecting':
        return [this.#phase.waits ?? 'Temporal: not connected yet'];
      case 'connected':
        return [this.#phase.waits ?? 'not started yet: waiting for the API server, or loading the workflows'];
      case 'stopping':
        return ['stopping'];
      case 'running': {
        const { watcher, election } = this.#phase.watching ?? {};
        return [...(watcher?.problems ?? []), ...present(election?.problem)];
      }
    }
  }
}

function present(problem: string | undefined): string[] {
  return problem === undefined ? [] : [problem];
}
