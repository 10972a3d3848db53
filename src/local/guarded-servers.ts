import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { unreachable } from '../contract/unreachable.ts';
import type { Charge, Launch, Notice, Request } from './guardian-protocol.ts';
import { end, runningIn } from './recorded-process.ts';

/** Servers under a guardian: they end with this process, whatever ends it. */
export interface GuardedServers {
  /** Resolves when the process is there, not when it is ready. */
  start(launch: Launch): Promise<void>;
  /** Resolves when the process is gone; SIGTERM first, SIGKILL after its grace. */
  stop(name: string): Promise<void>;
  /** The first server that ended though nobody had asked it to, and how (`exit code 1`). */
  failure(): UnexpectedExit | undefined;
  /** Aborted when stopAll() begins: nobody need wait for a server any more. */
  readonly signal: AbortSignal;
  /** Stops all and the guardian. Idempotent. */
  stopAll(): Promise<void>;
}

export interface UnexpectedExit {
  readonly name: string;
  readonly how: string;
}

export interface GuardianOptions extends Charge {
  /** The guardian's own complaints. */
  readonly logFile: string;
  /** A server ended that nobody had asked to. */
  readonly onUnexpectedExit: (exit: UnexpectedExit) => void;
}

interface GuardianProcess {
  readonly child: ChildProcess;
  readonly requests: Writable;
  readonly notices: Readable;
}

export function startGuardian(options: GuardianOptions): GuardedServers {
  const { child, requests, notices } = spawnGuardian(options);
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const servers = new ServerTable(options.onUnexpectedExit);
  createInterface({ input: notices }).on('line', (line) => servers.note(JSON.parse(line) as Notice));
  child.once('close', () => servers.noteGuardianGone());
  const ask = (request: Request): boolean => requests.write(`${JSON.stringify(request)}\n`);
  return {
    start: (launch) => servers.starting(launch.name, () => ask({ do: 'start', launch })),
    stop: (name) => servers.stopping(name, () => ask({ do: 'stop', name })),
    failure: () => servers.failure(),
    signal: servers.signal,
    stopAll: async () => {
      servers.expectTheEnd();
      requests.end();
      await gone;
      await cleanUpAfter(options);
    },
  };
}

function spawnGuardian(options: GuardianOptions): GuardianProcess {
  // The same source runs as TypeScript from src/ and as JavaScript from dist/.
  const program = fileURLToPath(new URL(`./guardian${extname(import.meta.url)}`, import.meta.url));
  const charge: Charge = {
    dir: options.dir,
    processesDir: options.processesDir,
    keepState: options.keepState,
  };
  const log = openSync(options.logFile, 'a');
  const child = spawn(process.execPath, [program, JSON.stringify(charge)], {
    cwd: '/', // the stack's folder may be removed under it
    env: { ...process.env, NODE_OPTIONS: '' },
    detached: true,
    stdio: ['pipe', 'pipe', log],
  });
  closeSync(log);
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('the guardian process has no pipes');
  stdin.on('error', () => undefined); // it ended first; its exit tells
  return { child, requests: stdin, notices: stdout };
}

/** Where the guardian was itself killed, its servers are still there, and so is the state. */
async function cleanUpAfter({ dir, processesDir, keepState }: Charge): Promise<void> {
  await Promise.all((await runningIn(processesDir)).map(end));
  if (!keepState) await rm(dir, { recursive: true, force: true, maxRetries: 5 });
}

type ServerState = 'starting' | 'running' | 'stopping' | 'exited';

/** What is known of each server, and who waits to hear of it. */
class ServerTable {
  readonly #states = new Map<string, ServerState>();
  readonly #waiting = new Map<string, () => void>();
  readonly #failures = new Map<string, UnexpectedExit>();
  readonly #ending = new AbortController();
  readonly #onUnexpectedExit: (exit: UnexpectedExit) => void;
  #guardianGone = false;

  constructor(onUnexpectedExit: (exit: UnexpectedExit) => void) {
    this.#onUnexpectedExit = onUnexpectedExit;
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  failure(): UnexpectedExit | undefined {
    return [...this.#failures.values()][0];
  }

  async starting(name: string, ask: () => void): Promise<void> {
    const state = this.#states.get(name);
    if (state !== undefined && state !== 'exited') throw new Error(`${name} runs already`);
    this.#failures.delete(name);
    await this.#asked(name, 'starting', ask);
  }

  async stopping(name: string, ask: () => void): Promise<void> {
    const state = this.#states.get(name);
    if (state === undefined || state === 'exited') return;
    await this.#asked(name, 'stopping', ask);
  }

  #asked(name: string, state: ServerState, ask: () => void): Promise<void> {
    if (this.#guardianGone) throw new Error(`${name}: the guardian process of this stack has ended`);
    this.#states.set(name, state);
    return new Promise((resolve) => {
      this.#waiting.set(name, resolve);
      ask();
    });
  }

  expectTheEnd(): void {
    this.#ending.abort(new Error('the stack is being stopped'));
  }

  note(notice: Notice): void {
    switch (notice.event) {
      case 'started':
        this.#become(notice.name, 'running');
        return;
      case 'exited':
        this.#noteExit(notice);
        return;
      default:
        unreachable(notice);
    }
  }

  noteGuardianGone(): void {
    this.#guardianGone = true;
    for (const [name, state] of this.#states) {
      if (state !== 'exited') this.#noteExit({ name, how: 'its guardian process ended' });
    }
  }

  #noteExit({ name, how }: UnexpectedExit): void {
    const expected = this.signal.aborted || this.#states.get(name) === 'stopping';
    if (!expected) this.#failures.set(name, { name, how });
    this.#become(name, 'exited');
    if (!expected) this.#onUnexpectedExit({ name, how });
  }

  #become(name: string, state: ServerState): void {
    this.#states.set(name, state);
    this.#waiting.get(name)?.();
    this.#waiting.delete(name);
  }
}
