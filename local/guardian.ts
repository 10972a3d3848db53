/**
 * Starts the servers of a stack and outlives whoever asked for them, just long enough to stop them all.
 *
 * It is a process of its own, in its own session, so that Ctrl-C does not reach the servers first. It is
 * connected to the process that started the stack; however that process ends, SIGKILL included, the kernel
 * closes the connection, and the guardian stops every server and removes the state.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { unreachable } from '../src/contract/unreachable.ts';
import type { Launch, Notice, Request } from './guarded-servers.ts';
import { forget, GUARDIAN, record } from './recorded-process.ts';
import { layoutOf } from './stack-folder.ts';

/** etcd and kube-apiserver wait for their clients for longer than that; neither loses anything by SIGKILL. */
const GRACE_MS = 1500;

const layout = layoutOf(process.argv[2] ?? '');
const servers = new Map<string, { readonly process: ChildProcess; readonly graceMs: number }>();
let stopping = false;

record(layout.processes, GUARDIAN, process.pid);
process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);
process.on('SIGTERM', () => stopAll());
process.on('uncaughtException', (error) => {
  process.stderr.write(`${error.stack ?? error.message}\n`);
  stopAll();
});
process.on('message', (request) => obey(request as Request)); // from our own guarded-servers.ts
process.on('disconnect', () => stopAll());

function obey(request: Request): void {
  switch (request.do) {
    case 'start':
      start(request.launch);
      return;
    case 'stop':
      stopOne(request.name);
      return;
    case 'kill':
      killOne(request.name);
      return;
    default:
      unreachable(request);
  }
}

function start(launch: Launch): void {
  if (stopping) return;
  const { name, command, args, graceMs = GRACE_MS } = launch;
  const { env = serverEnvironment(), cwd = layout.dir } = launch;
  const log = openSync(layout.log(name), 'a');
  const server = spawn(command, args, { cwd, env, stdio: ['ignore', log, log] });
  closeSync(log);
  servers.set(name, { process: server, graceMs });
  server.once('error', (error) => ended(name, error.message));
  server.once('exit', (code, signal) => ended(name, signal ?? `exit code ${String(code)}`));
  if (server.pid === undefined) return;
  record(layout.processes, name, server.pid);
  say({ event: 'started', name });
}

/** Little is passed on: etcd and Temporal read options from the environment and from files in HOME. */
function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'], HOME: layout.dir };
}

function ended(name: string, how: string): void {
  if (!servers.delete(name)) return;
  forget(layout.processes, name);
  say({ event: 'exited', name, how });
  if (stopping && servers.size === 0) leave();
}

function stopOne(name: string): void {
  const server = servers.get(name);
  if (server === undefined) {
    say({ event: 'exited', name, how: 'was not running' });
    return;
  }
  server.process.kill('SIGTERM');
  // SIGSTOP may have been sent to it in a test, and SIGTERM then waits.
  setTimeout(() => server.process.kill('SIGKILL'), server.graceMs).unref();
}

function killOne(name: string): void {
  const server = servers.get(name);
  if (server === undefined) say({ event: 'exited', name, how: 'was not running' });
  else server.process.kill('SIGKILL');
}

function stopAll(): void {
  if (stopping) return;
  stopping = true;
  if (servers.size === 0) leave();
  for (const server of servers.values()) server.process.kill('SIGKILL'); // nothing to save: be quick
}

function leave(): void {
  forget(layout.processes, GUARDIAN);
  rmSync(layout.dir, { recursive: true, force: true, maxRetries: 5 });
  process.exit(0);
}

/** Nobody may be left to listen; that must not end us before the servers have ended. */
function say(notice: Notice): void {
  if (process.connected) process.send?.(notice, undefined, undefined, () => undefined);
}
