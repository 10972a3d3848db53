import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import type { StackLayout } from './stack-folder.ts';

/** A program to start. */
export interface Launch {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Default: little more than the PATH. */
  readonly env?: NodeJS.ProcessEnv;
  /** Default: the stack's folder. */
  readonly cwd?: string;
  /** The time between SIGTERM and SIGKILL. Default: 1,500. */
  readonly graceMs?: number;
}

/** @param how such as `exit code 1` or `SIGKILL` */
export type WhenEnded = (how: string) => void;

/** A server ended unexpectedly, or was not ready in time. */
export class ServerFailed extends Error {
  override readonly name = 'ServerFailed';
  readonly server: string;

  constructor(server: string, why: string) {
    super(`${server} ${why}`);
    this.server = server;
  }
}

/** etcd and kube-apiserver wait longer for their clients, but SIGKILL loses nothing. */
const GRACE_MS = 1_500;

interface Running {
  readonly child: ChildProcess;
  readonly graceMs: number;
  readonly ended: Promise<void>;
  /** Its end is expected. */
  isStopping: boolean;
}

/** The processes of one stack. They end with this process, however it ends. */
export class Servers {
  readonly #layout: StackLayout;
  readonly #running = new Map<string, Running>();
  readonly #over = new AbortController();

  constructor(layout: StackLayout) {
    this.#layout = layout;
  }

  /** Aborted by the first unexpected end of a server, with a ServerFailed, and by stopAll(). */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /**
   * Returns when the process runs, not when it is ready.
   *
   * @param whenEnded called with how it ended, if that is unexpected. Default: that is a failure
   */
  start(launch: Launch, whenEnded?: WhenEnded): void {
    const { name, graceMs = GRACE_MS } = launch;
    this.#over.signal.throwIfAborted();
    if (this.#running.has(name)) throw new Error(`${name} is already running`);
    const child = spawnBound(launch, this.#layout);
    const ended = endOf(child).then((how) => this.#ended(name, how, whenEnded));
    this.#running.set(name, { child, graceMs, ended, isStopping: false });
    writeFileSync(this.#layout.pidFile(name), String(child.pid));
  }

  /** Ends it by SIGTERM, or by SIGKILL after its grace period. Resolves when the process is gone. */
  async stop(name: string): Promise<void> {
    const server = this.#running.get(name);
    if (server === undefined) return;
    server.isStopping = true;
    server.child.kill('SIGTERM');
    const timer = setTimeout(() => server.child.kill('SIGKILL'), server.graceMs);
    await server.ended;
    clearTimeout(timer);
  }

  /** Ends all by SIGKILL: nothing has to be saved. Safe to repeat. */
  async stopAll(): Promise<void> {
    this.#over.abort(new Error('the stack is being stopped'));
    const servers = [...this.#running.values()];
    for (const server of servers) {
      server.isStopping = true;
      server.child.kill('SIGKILL');
    }
    await Promise.all(servers.map(({ ended }) => ended));
  }

  #ended(name: string, how: string, whenEnded: WhenEnded | undefined): void {
    const isExpected = this.#running.get(name)?.isStopping === true;
    this.#running.delete(name);
    rmSync(this.#layout.pidFile(name), { force: true });
    if (isExpected || this.#over.signal.aborted) return;
    if (whenEnded === undefined) this.#over.abort(new ServerFailed(name, `ended (${how})`));
    else whenEnded(how);
  }
}

/** Resolves when the process is gone. @returns how it ended, such as `exit code 1` */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', ({ message }) => resolve(message));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${String(code)}`));
  });
}

/**
 * Kills the server as soon as the pipe at descriptor 3 closes, which the kernel does when this process ends, even by
 * SIGKILL. `exec` gives the server the process ID of the shell, `$$`.
 */
const BOUND = '{ read -r line <&3 || kill -KILL $$; } & exec "$0" "$@" 3<&-';

function spawnBound({ name, command, args, env, cwd }: Launch, layout: StackLayout): ChildProcess {
  const log = openSync(layout.log(name), 'a');
  try {
    const child = spawn('/bin/sh', ['-c', BOUND, command, ...args], {
      cwd: cwd ?? layout.dir,
      env: env ?? serverEnvironment(layout),
      stdio: ['ignore', log, log, 'pipe'],
      // In a session of its own, so that Ctrl-C does not reach it.
      detached: true,
    });
    releaseAtExit(child);
    return child;
  } finally {
    closeSync(log);
  }
}

/** A line ends the wait for the end of this process, so that no later process with the same ID is killed. */
function releaseAtExit(child: ChildProcess): void {
  const pipe = child.stdio[3];
  if (!(pipe instanceof Writable)) throw new Error('the process has no pipe');
  pipe.on('error', () => undefined);
  child.once('exit', () => pipe.end('ended\n'));
}

/** etcd and Temporal read options from the environment and from files in HOME. */
function serverEnvironment({ dir }: StackLayout): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'], HOME: dir };
}
