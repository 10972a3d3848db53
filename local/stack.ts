import { join, resolve } from 'node:path';
import type { Binaries } from './build.ts';
import { ADMIN, writeClusterFiles, writeKubeconfigs } from './cluster-files.ts';
import { applyManifest } from './manifests.ts';
import { lastLines } from './program-output.ts';
import { asAdmin, serverReady, type StartingStack } from './readiness.ts';
import { SERVER_ARGUMENTS, SIMULATED_NODE, type CommandContext } from './server-commands.ts';
import type { ServerName } from './server-pins.ts';
import { ServerFailed, Servers, type Launch, type WhenEnded } from './servers.ts';
import { choosePorts, claimFolder, layoutOf, LOOPBACK, saveLogs, type StackPorts } from './stack-folder.ts';

/** The parts of a stack: a cluster, and a Temporal server with its UI. */
export type StackPart = 'kubernetes' | 'temporal';

export interface StackOptions {
  /** For state and logs: a new or empty folder, or one that an earlier stack has left. */
  dir: string;
  /** The programs of the parts that are started. */
  binaries: Partial<Binaries>;
  /** Default: both. */
  parts?: readonly StackPart[];
  /** Default: any free ones. */
  ports?: Partial<StackPorts>;
  /** Log every request to the API server. Default: no. */
  audit?: boolean;
  onProgress?: (message: string) => void;
  /** Ends the start. */
  signal?: AbortSignal;
}

/**
 * A running cluster and Temporal, both on loopback. They end with this process, however it ends. The addresses and files
 * of a part that was not started are of no use.
 */
export interface Stack {
  dir: string;
  ports: StackPorts;
  /** The file of the user `admin`, who may do everything. */
  kubeconfig: string;
  /** Every request to the API server, one JSON object a line; written only with `audit`. */
  auditLog: string;
  /** `127.0.0.1:<port>` */
  temporalAddress: string;
  temporalUiUrl: string;
  /** Aborted with a ServerFailed when a process ends unexpectedly, and when the stack is stopped. */
  over: AbortSignal;
  /** The path of a server's log. */
  logOf(name: string): string;
  /**
   * Starts a program that ends with the stack; no server has its name.
   *
   * @param whenEnded called with how it ended, if that is unexpected. Default: that ends the stack
   */
  startCompanion(companion: Launch, whenEnded?: WhenEnded): void;
  /** Stops every process, and removes the folder. Safe to repeat. */
  stop(): Promise<void>;
  /** Stops one server or companion: SIGTERM, and SIGKILL after its grace period. Its state stays. */
  stopServer(name: string): Promise<void>;
  /** Starts it again, with the same ports and state; resolves when it is ready. @throws StackFailed */
  startServer(name: ServerName): Promise<void>;
}

/** A server did not start. The message names it, its log and the last lines of the log. */
export class StackFailed extends Error {
  override readonly name = 'StackFailed';
}

/**
 * Starts all servers, and waits until Nodes accept Pods and Temporal accepts workflows.
 *
 * @throws StackFailed, or the signal's reason
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  options.signal?.throwIfAborted();
  const stack = await prepare(options);
  const interrupt = () => void stack.servers.stopAll();
  options.signal?.addEventListener('abort', interrupt);
  try {
    await startAll(stack);
    return stackOf(stack);
  } catch (error) {
    // The folder is about to be removed.
    const failed = error instanceof ServerFailed ? await withLog(error, await saveLogs(stack.layout)) : error;
    await stack.stop();
    throw failed;
  } finally {
    options.signal?.removeEventListener('abort', interrupt);
  }
}

/** A stack with its folder and its ports. */
interface Prepared extends CommandContext, StartingStack {
  readonly options: StackOptions;
  readonly report: (message: string) => void;
  readonly stop: () => Promise<void>;
}

async function prepare(options: StackOptions): Promise<Prepared> {
  const { onProgress: report = () => undefined, audit = false } = options;
  const layout = layoutOf(resolve(options.dir));
  const ports = await choosePorts(options.ports ?? {});
  const removeFolder = await claimFolder(layout);
  await writeClusterFiles(layout);
  const servers = new Servers(layout);
  const stop = async () => {
    await servers.stopAll();
    await removeFolder();
  };
  return { options, layout, ports, audit, servers, report, stop };
}

async function startAll(stack: Prepared): Promise<void> {
  const { parts = ['kubernetes', 'temporal'] } = stack.options;
  const start = { kubernetes: startCluster, temporal: startTemporal };
  await Promise.all(parts.map((part) => start[part](stack)));
  if (parts.length > 0) stack.report('all servers are ready');
}

function startTemporal(stack: Prepared): Promise<void> {
  stack.report('starting Temporal');
  return startReady(stack, 'temporal');
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
  if (command === undefined) throw new Error(`${name} cannot be started without its program`);
  stack.servers.start({ name, command, args: SERVER_ARGUMENTS[name](stack) });
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
    startCompanion: (companion, whenEnded) => servers.start(companion, whenEnded),
    stop: () => stack.stop(),
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

async function withLog(error: ServerFailed, logs: string): Promise<StackFailed> {
  const file = join(logs, `${error.server}.log`);
  const end = await lastLines(file, 15);
  return new StackFailed(`${error.message}; its log is ${file}, the last lines:\n${end}`, { cause: error });
}
