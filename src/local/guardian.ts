/**
 * Starts the servers of a stack and outlives whoever asked for them, just long enough to stop them all.
 *
 * It is a process of its own, in its own session, so that Ctrl-C does not reach the servers first. Its
 * standard input is a pipe from the process that started the stack; however that process ends, SIGKILL
 * included, the kernel closes the pipe, and the guardian stops every server and removes the state.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { unreachable } from '../contract/unreachable.ts';
import type { Charge, Launch, Notice, Request } from './guardian-protocol.ts';
import { forget, GUARDIAN, record } from './recorded-process.ts';

/** etcd and kube-apiserver wait for their clients for longer than that; neither loses anything by SIGKILL. */
const GRACE_MS = 1500;

const charge = JSON.parse(process.argv[2] ?? '') as Charge;
const servers = new Map<string, { readonly process: ChildProcess; readonly graceMs: number }>();
let stopping = false;

record(charge.processesDir, GUARDIAN, process.pid);
process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);
process.on('SIGTERM', () => stopAll());
// Nobody may be left to listen; that must not end us before the servers have ended.
process.stdout.on('error', () => undefined);
process.stdin.on('error', () => stopAll());
process.on('uncaughtException', (error) => {
  process.stderr.write(`${error.stack ?? error.message}\n`);
  stopAll();
});
createInterface({ input: process.stdin })
  .on('line', (line) => obey(JSON.parse(line) as Request))
  .on('close', () => stopAll());

function obey(request: Request): void {
  switch (request.do) {
    case 'start':
      start(request.launch);
      return;
    case 'stop':
      stopOne(request.name);
      return;
    default:
      unreachable(request);
  }
}

function start(launch: Launch): void {
  if (stopping) return;
  const { name, command, args, graceMs = GRACE_MS } = launch;
  const { env = serverEnvironment(), cwd = charge.dir } = launch;
  const log = openSync(launch.logFile, 'a');
  const server = spawn(command, args, { cwd, env, stdio: ['ignore', log, log] });
  closeSync(log);
  servers.set(name, { process: server, graceMs });
  server.once('error', (error) => ended(name, error.message));
  server.once('exit', (code, signal) => ended(name, signal ?? `exit code ${String(code)}`));
  if (server.pid === undefined) return;
  record(charge.processesDir, name, server.pid);
  say({ event: 'started', name, pid: server.pid });
}

/** Little is passed on: etcd and Temporal read options from the environment and from files in HOME. */
function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'], HOME: charge.dir };
}

function ended(name: string, how: string): void {
  if (!servers.delete(name)) return;
  forget(charge.processesDir, name);
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

function stopAll(): void {
  if (stopping) return;
  stopping = true;
  if (servers.size === 0) leave();
  for (const name of servers.keys()) {
    if (charge.keepState) stopOne(name);
    else servers.get(name)?.process.kill('SIGKILL'); // nothing to save: be quick
  }
}

function leave(): void {
  forget(charge.processesDir, GUARDIAN);
  if (!charge.keepState) rmSync(charge.dir, { recursive: true, force: true, maxRetries: 5 });
  process.exit(0);
}

function say(notice: Notice): void {
  process.stdout.write(`${JSON.stringify(notice)}\n`);
}
