import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { unreachable } from '../src/contract/unreachable.ts';
import { end, GUARDIAN, runningIn } from './recorded-process.ts';
import { EXTENSION } from './root.ts';
import type { StackLayout } from './stack-folder.ts';

/** One server, as the guardian is to start it. */
export interface Launch {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Default: little more than the PATH. */
  readonly env?: NodeJS.ProcessEnv;
  /** Default: the stack's folder. */
  readonly cwd?: string;
  /** How long it has after SIGTERM. Default: 1,500. */
  readonly graceMs?: number;
}

/** What the guardian is asked. When nobody can ask any more, it stops all. */
export type Request =
  { readonly do: 'start'; readonly launch: Launch } | { readonly do: 'stop' | 'kill'; readonly name: string };

/** What the guardian says; `how` is as `exit code 1`. */
export type Notice =
  | { readonly event: 'started'; readonly name: string }
  | { readonly event: 'exited'; readonly name: string; readonly how: string };

/** A server ended though nobody had asked it to, or was not ready in time. */
export class ServerFailed extends Error {
  override readonly name = 'ServerFailed';
  readonly server: string;

  constructor(server: string, why: string) {
    super(`${server} ${why}`);
    this.server = server;
  }
}

/** By `kill` or `kill -9`, say: it had nothing to complain of itself. */
function isEndedByHand(how: string): boolean {
  return how === 'SIGKILL' || how === 'SIGTERM' || how === 'exit code 0';
}

type ServerState = 'starting' | 'running' | 'stopping' | 'exited';

/** Servers under a guardian: they end with this process, whatever ends it, and their folder with them. */
export class GuardedServers {
  readonly #layout: StackLayout;
  readonly #guardian: ChildProcess;
  readonly #guardianGone: Promise<void>;
  readonly #states = new Map<string, ServerState>();
  /** What is done where a server is ended by hand; of any other, that is the failure of all. */
  readonly #whenEndedByHand = new Map<string, () => void>();
  /** Who waits to hear of a server. */
  readonly #waiting = new Map<string, () => void>();
  readonly #over = new AbortController();

  constructor(layout: StackLayout) {
    this.#layout = layout;
    this.#guardian = forkGuardian(layout);
    this.#guardian.on('message', (notice) => this.#note(notice as Notice)); // from our own guardian.ts
    this.#guardianGone = once(this.#guardian, 'exit').then(() => this.#noteGuardianGone());
  }

  /** Aborted when stopAll() begins, or by the first ServerFailed: nobody need wait for a server any more. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /**
   * Resolves when the process is there, not when it is ready.
   *
   * @param whenEndedByHand called where somebody else sends it SIGKILL or SIGTERM. Default: that is a failure
   */
  async start(launch: Launch, whenEndedByHand?: () => void): Promise<void> {
    if (this.#runs(launch.name)) throw new Error(`${launch.name} runs already`);
    if (whenEndedByHand === undefined) this.#whenEndedByHand.delete(launch.name);
    else this.#whenEndedByHand.set(launch.name, whenEndedByHand);
    await this.#ask(launch.name, 'starting', { do: 'start', launch });
  }

  /** Resolves when the process is gone; SIGTERM first, SIGKILL after its grace. */
  async stop(name: string): Promise<void> {
    if (this.#runs(name)) await this.#ask(name, 'stopping', { do: 'stop', name });
  }

  /** SIGKILL at once: as a machine that fails ends it. Resolves when the process is gone. */
  async kill(name: string): Promise<void> {
    if (this.#runs(name)) await this.#ask(name, 'stopping', { do: 'kill', name });
  }

  /** Stops all and the guardian, and removes the folder. Idempotent. */
  async stopAll(): Promise<void> {
    this.#over.abort(new Error('the stack is being stopped'));
    if (this.#guardian.connected) this.#guardian.disconnect();
    await this.#guardianGone;
    // Where the guardian was itself killed, its servers are still there, and so is the folder.
    await Promise.all((await runningIn(this.#layout.processes)).map(end));
    await rm(this.#layout.dir, { recursive: true, force: true, maxRetries: 5 });
  }

  #runs(name: string): boolean {
    return (this.#states.get(name) ?? 'exited') !== 'exited';
  }

  #ask(name: string, state: ServerState, request: Request): Promise<void> {
    if (this.#guardianHasEnded) throw new Error(`${name}: the guardian process of this stack has ended`);
    this.#states.set(name, state);
    return new Promise((resolve) => {
      this.#waiting.set(name, resolve);
      this.#guardian.send(request, () => undefined); // where it is gone, its exit tells
    });
  }

  get #guardianHasEnded(): boolean {
    const { connected, exitCode, signalCode } = this.#guardian;
    return !connected || exitCode !== null || signalCode !== null;
  }

  #note(notice: Notice): void {
    switch (notice.event) {
      case 'started':
        this.#become(notice.name, 'running');
        return;
      case 'exited':
        this.#noteExit(notice.name, notice.how);
        return;
      default:
        unreachable(notice);
    }
  }

  #noteGuardianGone(): void {
    for (const name of this.#states.keys()) {
      if (this.#runs(name)) this.#noteExit(name, 'its guardian process ended');
    }
  }

  #noteExit(name: string, how: string): void {
    const isAsked = this.#states.get(name) === 'stopping';
    this.#become(name, 'exited');
    if (isAsked) return;
    const whenEndedByHand = isEndedByHand(how) ? this.#whenEndedByHand.get(name) : undefined;
    if (whenEndedByHand === undefined) this.#over.abort(new ServerFailed(name, `ended (${how})`));
    else if (!this.#over.signal.aborted) whenEndedByHand();
  }

  #become(name: string, state: ServerState): void {
    this.#states.set(name, state);
    this.#waiting.get(name)?.();
    this.#waiting.delete(name);
  }
}

function forkGuardian(layout: StackLayout): ChildProcess {
  const log = openSync(layout.log(GUARDIAN), 'a');
  try {
    return fork(join(import.meta.dirname, `guardian${EXTENSION}`), [layout.dir], {
      cwd: '/', // the stack's folder may be removed under it
      env: { ...process.env, NODE_OPTIONS: '' },
      execArgv: [],
      detached: true,
      stdio: ['ignore', 'ignore', log, 'ipc'],
    });
  } finally {
    closeSync(log);
  }
}
