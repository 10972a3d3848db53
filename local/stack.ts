import { join, resolve } from 'node:path';
import { unreachable } from '../src/contract/unreachable.ts';
import type { Binaries } from './build.ts';
import { ADMIN, writeClusterFiles, writeKubeconfigs } from './cluster-files.ts';
import { GuardedServers, ServerFailed, type Launch } from './guarded-servers.ts';
import { applyManifest } from './manifests.ts';
import { lastLines } from './program-output.ts';
import { asAdmin, serverReady, type Starting } from './readiness.ts';
import { SERVER_ARGUMENTS, SIMULATED_NODE, type CommandContext } from './server-commands.ts';
import type { ServerName } from './server-pins.ts';
import { choosePorts, layoutOf, LOOPBACK, makeFolder, saveLogs, type StackPorts } from './stack-folder.ts';

/** What a stack can consist of: a cluster, and a Temporal server with its UI. */
export type StackPart = 'kubernetes' | 'temporal';

export interface StackOptions {
  /** All state and logs; new, empty, or left over by an earlier stack. */
  dir: string;
  /** Those of the parts that are started. */
  binaries: Partial<Binaries>;
  /** Which parts to start. Default: both. */
  parts?: readonly StackPart[];
  /** Those not named are free ones. */
  ports?: Partial<StackPorts>;
  /** Log every request to the API server. Default: no. */
  audit?: boolean;
  onProgress?: (message: string) => void;
  /** Ends the start. */
  signal?: AbortSignal;
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
  /** Every request to the API server, one JSON object a line; written only where `audit` was asked for. */
  auditLog: string;
  /** `127.0.0.1:<port>` */
  temporalAddress: string;
  temporalUiUrl: string;
  /** Aborted with a ServerFailed when something ends that nobody had asked to, and when the stack is stopped. */
  over: AbortSignal;
  /** Where a server's log is. */
  logOf(name: string): string;
  /**
   * Starts a program that is to end with the stack, whatever ends that; its name must be no server's.
   *
   * @param whenEndedByHand called where somebody else sends it SIGKILL or SIGTERM. Default: that is the end of the stack
   */
  startCompanion(companion: Launch, whenEndedByHand?: () => void): Promise<void>;
  /** Stops every server, and removes the folder. Idempotent. */
  stop(): Promise<void>;
  /** Stops one server or companion: SIGTERM, and SIGKILL after its grace. Its state stays. */
  stopServer(name: string): Promise<void>;
  /** Ends one server or companion by SIGKILL. Its state stays. */
  killServer(name: string): Promise<void>;
  /** Starts it again, with the same ports and state; resolves when it is ready. @throws Error that names its log */
  startServer(name: ServerName): Promise<void>;
}

/** The stack did not start. The message names the server, its log and the log's last lines. */
export class StackFailed extends Error {
  override readonly name = 'StackFailed';
}

const ATTEMPTS = 3;

/**
 * Starts all servers and waits until they are ready: nodes take pods, Temporal takes workflows.
 *
 * @throws StackFailed, or the signal's reason
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  for (let attempt = 1; ; attempt += 1) {
    options.signal?.throwIfAborted();
    const stack = await prepare(options);
    const stop = () => void stack.servers.stopAll();
    options.signal?.addEventListener('abort', stop);
    try {
      await startAll(stack);
      return stackOf(stack);
    } catch (error) {
      const tryAgain = attempt < ATTEMPTS && (await lostItsPort(stack, error));
      const failed = tryAgain ? error : await explained(stack, error);
      await stack.servers.stopAll();
      if (!tryAgain) throw failed;
      stack.report('a port was taken at the last moment; starting again with other ports');
    } finally {
      options.signal?.removeEventListener('abort', stop);
    }
  }
}

/** A stack that has its folder, its ports and a guardian. */
interface Prepared extends CommandContext, Starting {
  readonly options: StackOptions;
  readonly report: (message: string) => void;
}

async function prepare(options: StackOptions): Promise<Prepared> {
  const { onProgress: report = () => undefined, audit = false } = options;
  const layout = layoutOf(resolve(options.dir));
  const ports = await choosePorts(options.ports ?? {});
  await makeFolder(layout);
  await writeClusterFiles(layout);
  const servers = new GuardedServers(layout);
  return { options, layout, ports, audit, servers, report };
}

async function startAll(stack: Prepared): Promise<void> {
  const { parts = ['kubernetes', 'temporal'] } = stack.options;
  await Promise.all(parts.map((part) => startPart(stack, part)));
  if (parts.length > 0) stack.report('all servers are ready');
}

function startPart(stack: Prepared, part: StackPart): Promise<void> {
  switch (part) {
    case 'kubernetes':
      return startCluster(stack);
    case 'temporal':
      stack.report('starting Temporal');
      return startReady(stack, 'temporal');
    default:
      return unreachable(part);
  }
}

async function startCluster(stack: Prepared): Promise<void> {
  stack.report('starting etcd and kube-apiserver');
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
  const command = stack.options.binaries[name];
  if (command === undefined) throw new Error(`${name} is to be started, but no program was given for it`);
  const args = SERVER_ARGUMENTS[name](stack);
  await stack.servers.start({ name, command, args });
  await serverReady(name, stack);
}

const NODES = ['simulated-1', 'simulated-2'];

function createNodes({ layout }: Prepared): Promise<void> {
  return asAdmin(layout, async (client) => {
    for (const name of NODES) {
      const labels = { 'kubernetes.io/os': 'linux', 'kubernetes.io/hostname': name };
      const metadata = { name, labels, annotations: SIMULATED_NODE };
      await applyManifest(client, { apiVersion: 'v1', kind: 'Node', metadata }, 'local-stack');
    }
  });
}

function stackOf(stack: Prepared): Stack {
  const { layout, ports, servers } = stack;
  return {
    dir: layout.dir,
    ports,
    kubeconfig: layout.kubeconfig(ADMIN),
    auditLog: layout.auditLog,
    temporalAddress: `${LOOPBACK}:${ports.temporal}`,
    temporalUiUrl: `http://${LOOPBACK}:${ports.temporalUi}`,
    over: servers.over,
    logOf: (name) => layout.log(name),
    startCompanion: (companion, whenEndedByHand) => servers.start(companion, whenEndedByHand),
    stop: () => servers.stopAll(),
    stopServer: (name) => servers.stop(name),
    killServer: (name) => servers.kill(name),
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

/** The folder is about to be removed, so its logs are saved first. */
async function explained({ layout }: Prepared, error: unknown): Promise<unknown> {
  return error instanceof ServerFailed ? withLog(error, await saveLogs(layout)) : error;
}

async function withLog(error: ServerFailed, logs: string): Promise<StackFailed> {
  const file = join(logs, `${error.server}.log`);
  const end = await lastLines(file, 15);
  return new StackFailed(`${error.message}; its log is ${file}, the last lines:\n${end}`, { cause: error });
}
