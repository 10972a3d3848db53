import { join, resolve } from 'node:path';
import type { ServerBinaries } from './build.ts';
import { writeClusterFiles, writeKubeconfigs } from './cluster-files.ts';
import { askCluster } from './cluster-requests.ts';
import { ADMIN } from './cluster-users.ts';
import { startGuardian, type GuardedServers, type UnexpectedExit } from './guarded-servers.ts';
import type { Launch } from './guardian-protocol.ts';
import { lastLines } from './last-lines.ts';
import {
  apiServerIsReady,
  clusterAccess,
  defaultServiceAccountExists,
  etcdIsHealthy,
  nodesTakePods,
  ServerFailed,
  waitUntil,
} from './readiness.ts';
import { SERVER_ARGUMENTS, SIMULATED_NODE, type CommandContext } from './server-commands.ts';
import { choosePorts, claim, makeFolder, saveLogs } from './stack-folder.ts';
import { layoutOf, type ServerName, type StackPorts } from './stack-layout.ts';
import { temporalServes } from './temporal-readiness.ts';
import { unreachable } from '../contract/unreachable.ts';

export type { ServerName, StackPorts } from './stack-layout.ts';

/** What a stack can consist of: a cluster, and a Temporal server with its UI. */
export type StackPart = 'kubernetes' | 'temporal';

export interface StackOptions {
  /** All state and logs; new, empty, or of an earlier stack. */
  dir: string;
  /** Those of the parts that are started. */
  binaries: Partial<ServerBinaries>;
  /** Which parts to start. Default: both. */
  parts?: readonly StackPart[];
  /** Those not named are free ones. */
  ports?: Partial<StackPorts>;
  /** Log every request to the API server. Default: no. */
  audit?: boolean;
  /** How many simulated nodes. Default: 2. */
  nodes?: number;
  onProgress?: (message: string) => void;
  /** Ends the start. */
  signal?: AbortSignal;
  /** Keep the folder when the stack stops; the next start with it finds everything again. Default: no. */
  keepState?: boolean;
}

/**
 * A running cluster and Temporal, both on loopback. Ends with this process, whatever ends it.
 * The addresses and files of a part that was not started lead nowhere.
 */
export interface Stack {
  dir: string;
  ports: StackPorts;
  /** The file of the user `admin`, who may do everything. */
  kubeconfig: string;
  /** Every request to the API server, one JSON object a line; only where `audit` was asked for. */
  auditLog?: string;
  /** `127.0.0.1:<port>` */
  temporalAddress: string;
  temporalUiUrl: string;
  /** Calls this, instead of a word to `onProgress`, when something ends that nobody had asked to. */
  onUnexpectedExit(listener: (exit: UnexpectedExit) => void): void;
  /** Where a server's log is. */
  logOf(name: string): string;
  /** Starts a program that is to end with the stack, whatever ends that; its name must be no server's. */
  startCompanion(companion: Omit<Launch, 'logFile'>): Promise<void>;
  /** Resolves when it is gone: SIGTERM, and SIGKILL after its grace. */
  stopCompanion(name: string): Promise<void>;
  /** Stops every server, and removes the folder unless `keepState`. Idempotent. */
  stop(): Promise<void>;
  /** Stops one server, for a fault; its state stays. */
  stopServer(name: ServerName): Promise<void>;
  /** Starts it again, with the same ports and state; resolves when it is ready. @throws Error that names its log */
  startServer(name: ServerName): Promise<void>;
}

/** The stack did not start. The message names the server, its log and the log's last lines. */
export class StackFailed extends Error {
  constructor(why: string, log: { readonly file: string; readonly lastLines: string }) {
    super(`${why}; its log is ${log.file}, the last lines:\n${log.lastLines}`);
    this.name = 'StackFailed';
  }
}

const ATTEMPTS = 3;

/**
 * Starts all servers and waits until they are ready: nodes take pods, Temporal takes workflows.
 *
 * @throws StackFailed
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  options.signal?.throwIfAborted();
  for (let attempt = 1; ; attempt += 1) {
    const starting = await prepare(options);
    try {
      await startAll(starting);
      return stackOf(starting);
    } catch (error) {
      const tryAgain = attempt < ATTEMPTS && (await lostItsPort(starting, error));
      const failed = tryAgain ? error : await explain(starting, error);
      await starting.servers.stopAll();
      if (!tryAgain) throw failed;
      starting.report('a port was taken in the last moment; starting again with others');
    }
  }
}

/** A stack that has its folder, its ports and a guardian. */
interface Prepared extends CommandContext {
  readonly options: StackOptions;
  readonly servers: GuardedServers;
  readonly report: (message: string) => void;
  readonly exits: { listener: (exit: UnexpectedExit) => void };
}

async function prepare(options: StackOptions): Promise<Prepared> {
  const layout = layoutOf(resolve(options.dir));
  const report = options.onProgress ?? (() => undefined);
  await claim(layout);
  const ports = await choosePorts(layout, options.ports ?? {});
  await makeFolder(layout, ports);
  await writeClusterFiles(layout);
  const exits: Prepared['exits'] = {
    listener: ({ name, how }) => report(`${name} ended (${how}); its log is ${layout.log(name)}`),
  };
  const servers = startGuardian({
    dir: layout.dir,
    processesDir: layout.processes,
    keepState: options.keepState ?? false,
    logFile: layout.log('guardian'),
    onUnexpectedExit: (exit) => exits.listener(exit),
  });
  options.signal?.addEventListener('abort', () => void servers.stopAll(), { once: true });
  return { options, layout, ports, audit: options.audit ?? false, servers, report, exits };
}

async function startAll(stack: Prepared): Promise<void> {
  const { parts = BOTH_PARTS } = stack.options;
  if (parts.length === 0) return;
  stack.report(`starting ${parts.map((part) => FIRST_SERVERS[part]).join(' and ')}`);
  await Promise.all(parts.map((part) => startPart(stack, part)));
  stack.report('all servers are ready');
}

const BOTH_PARTS: readonly StackPart[] = ['kubernetes', 'temporal'];

const FIRST_SERVERS = {
  kubernetes: 'etcd, kube-apiserver',
  temporal: 'Temporal',
} as const satisfies Record<StackPart, string>;

function startPart(stack: Prepared, part: StackPart): Promise<void> {
  switch (part) {
    case 'kubernetes':
      return startCluster(stack);
    case 'temporal':
      return startReady(stack, 'temporal');
    default:
      return unreachable(part);
  }
}

async function startCluster(stack: Prepared): Promise<void> {
  await Promise.all([startReady(stack, 'etcd'), startReady(stack, 'kube-apiserver')]);
  await writeKubeconfigs(stack.layout, stack.ports);
  stack.report('starting kube-controller-manager, kube-scheduler and the simulated nodes');
  await createNodes(stack);
  await Promise.all([
    startReady(stack, 'kube-controller-manager'),
    startReady(stack, 'kube-scheduler'),
    startReady(stack, 'kwok'),
  ]);
}

async function startReady(stack: Prepared, name: ServerName): Promise<void> {
  const { options, layout, servers } = stack;
  await servers.start({
    name,
    command: programOf(name, options.binaries),
    args: SERVER_ARGUMENTS[name](stack),
    logFile: layout.log(name),
  });
  await ready(stack, name);
}

function programOf(name: ServerName, binaries: Partial<ServerBinaries>): string {
  const program = binaries[name];
  if (program === undefined) throw new Error(`${name} is to be started, but no program was given for it`);
  return program;
}

/** What "ready" means for each server: that others can use it, not only that it runs. */
async function ready(stack: Prepared, name: ServerName): Promise<void> {
  const { layout, ports, servers } = stack;
  const what = { server: name, is: 'ready', servers };
  switch (name) {
    case 'etcd':
      await waitUntil(what, () => etcdIsHealthy(ports));
      return;
    case 'kube-apiserver':
      await waitUntil(what, () => apiServerIsReady(layout, ports));
      return;
    case 'kube-controller-manager': {
      const access = await clusterAccess(layout, ports);
      await waitUntil(what, () => defaultServiceAccountExists(access));
      return;
    }
    case 'kube-scheduler':
      return; // it has nothing to show before there are pods
    case 'kwok': {
      const access = await clusterAccess(layout, ports);
      await waitUntil({ ...what, is: 'keeping its nodes Ready' }, () =>
        nodesTakePods(access, nodeNames(stack)),
      );
      return;
    }
    case 'temporal':
      await temporalServes(ports.temporal, servers);
      return;
    default:
      unreachable(name);
  }
}

function nodeNames({ options }: Prepared): string[] {
  return Array.from({ length: options.nodes ?? 2 }, (_, index) => `simulated-${index + 1}`);
}

async function createNodes(stack: Prepared): Promise<void> {
  const access = await clusterAccess(stack.layout, stack.ports);
  for (const name of nodeNames(stack)) {
    const labels = { 'kubernetes.io/os': 'linux', 'kubernetes.io/hostname': name };
    const { status, body } = await askCluster(access, '/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels, annotations: SIMULATED_NODE },
    });
    const exists = status === 201 || status === 409; // from an earlier start with this state
    if (!exists) throw new ServerFailed('kube-apiserver', `refused node ${name}: ${body}`);
  }
}

function stackOf(stack: Prepared): Stack {
  const { layout, ports, servers } = stack;
  return {
    dir: layout.dir,
    ports,
    kubeconfig: layout.kubeconfig(ADMIN),
    ...(stack.audit ? { auditLog: layout.auditLog } : {}),
    temporalAddress: `127.0.0.1:${ports.temporal}`,
    temporalUiUrl: `http://127.0.0.1:${ports.temporalUi}`,
    onUnexpectedExit: (listener) => {
      stack.exits.listener = listener;
    },
    logOf: (name) => layout.log(name),
    startCompanion: (companion) => servers.start({ ...companion, logFile: layout.log(companion.name) }),
    stopCompanion: (name) => servers.stop(name),
    stop: () => servers.stopAll(),
    stopServer: (name) => servers.stop(name),
    startServer: (name) => restart(stack, name),
  };
}

async function restart(stack: Prepared, name: ServerName): Promise<void> {
  try {
    await startReady(stack, name);
  } catch (error) {
    throw error instanceof ServerFailed ? await withLog(error, stack.layout.logs) : error;
  }
}

/** Somebody else took a port between our look and the server's start. */
async function lostItsPort({ layout }: Prepared, error: unknown): Promise<boolean> {
  if (!(error instanceof ServerFailed)) return false;
  return /address already in use/i.test(await lastLines(layout.log(error.server), 15));
}

/** Says where the log is, and saves it first where the folder will be removed. */
async function explain({ layout, options }: Prepared, error: unknown): Promise<unknown> {
  if (!(error instanceof ServerFailed)) return error;
  return withLog(error, options.keepState === true ? layout.logs : await saveLogs(layout));
}

async function withLog(error: ServerFailed, logs: string): Promise<StackFailed> {
  const file = join(logs, `${error.server}.log`);
  return new StackFailed(error.message, { file, lastLines: await lastLines(file, 15) });
}
