import { homedir } from 'node:os';
import { join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { Connection } from '@temporalio/client';
import type { Config } from '../config.ts';
import { loadKubeConfig } from '../kubernetes/config.ts';
import { buildPrograms } from './build.ts';
import { showBuildProgress } from './build-progress.ts';
import { preferFreePort } from './ports.ts';
import { PROGRAMS, type ProgramName } from './server-pins.ts';
import { startStack, type Stack, type StackPart, type StackPorts } from './stack.ts';

/** What the operator runs on: servers of ours, or those that were named. */
export interface Surroundings {
  /** The parts that are ours, maybe none, and what else is to end with them. */
  readonly stack: Stack;
  readonly cluster: {
    readonly kubeConfig: KubeConfig;
    /** Undefined where it is found as kubectl finds it. */
    readonly kubeconfigFile: string | undefined;
    /** An absolute path where it is ours, else the word that people use. */
    readonly kubectl: string;
  };
  readonly temporal: {
    /** `host:port` */
    readonly address: string;
    readonly namespace: string;
    /** Known only where the server is ours. */
    readonly uiUrl: string | undefined;
  };
}

export interface SurroundingsRequest {
  readonly config: Config;
  readonly output: NodeJS.WriteStream;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Builds and starts what was not given, and says what it does.
 *
 * @throws ConfigurationError, GoUnfit, BuildFailed, StackFailed, or an Error about the folder or the ports
 */
export async function startSurroundings(request: SurroundingsRequest): Promise<Surroundings> {
  const { config, output, say, signal } = request;
  whatIsGiven(config).forEach(say);
  const parts = partsToStart(config);
  const binaries = await buildPrograms(programsFor(parts), { onProgress: showBuildProgress(output), signal });
  const dir = config.local.dir ?? defaultDir();
  say(`everything is kept in ${dir}, and removed in the end`);
  const stack = await startStack({
    dir,
    binaries,
    parts,
    ports: await usualPorts(),
    onProgress: say,
    signal,
  });
  return surroundingsOf({ config, stack, kubectl: binaries.kubectl ?? 'kubectl' });
}

/** @throws ConfigurationError where the cluster that was given cannot be told from its kubeconfig */
function whatIsGiven(config: Config): string[] {
  const { kubernetesGiven, temporalGiven } = config.local;
  const server = () => givenKubeConfig(config).getCurrentCluster()?.server ?? '';
  const { address, namespace } = config.temporal;
  return [
    ...(kubernetesGiven ? [`using the cluster that was given, ${server()}`] : []),
    ...(temporalGiven
      ? [`using the Temporal server that was given, ${address}, namespace ${namespace}`]
      : []),
  ];
}

function partsToStart({ local: { kubernetesGiven, temporalGiven } }: Config): StackPart[] {
  const parts: readonly StackPart[] = ['kubernetes', 'temporal'];
  const given = { kubernetes: kubernetesGiven, temporal: temporalGiven };
  return parts.filter((part) => !given[part]);
}

function programsFor(parts: readonly StackPart[]): ProgramName[] {
  return PROGRAMS.filter((name) => parts.includes(name === 'temporal' ? 'temporal' : 'kubernetes'));
}

/** State that may go: the XDG Base Directory Specification, `XDG_STATE_HOME`. */
export function defaultDir(env: NodeJS.ProcessEnv = process.env): string {
  const home = env['XDG_STATE_HOME'] ?? '';
  return join(home === '' ? join(homedir(), '.local', 'state') : home, 'durable-operator', 'local');
}

/** Where Temporal's tools look for a server, and where its documentation says that the UI is. */
async function usualPorts(): Promise<Partial<StackPorts>> {
  return { temporal: await preferFreePort(7233), temporalUi: await preferFreePort(8233) };
}

function surroundingsOf(from: { config: Config; stack: Stack; kubectl: string }): Surroundings {
  const { config, stack, kubectl } = from;
  const { kubernetesGiven, temporalGiven } = config.local;
  const kubeconfigFile = kubernetesGiven ? config.cluster.kubeconfig : stack.kubeconfig;
  const kubeConfig = kubernetesGiven
    ? givenKubeConfig(config)
    : loadKubeConfig({ kubeconfig: stack.kubeconfig, env: {} });
  const { namespace } = config.temporal;
  return {
    stack,
    cluster: { kubeConfig, kubeconfigFile, kubectl },
    temporal: temporalGiven
      ? { address: config.temporal.address, namespace, uiUrl: undefined }
      : { address: stack.temporalAddress, namespace, uiUrl: stack.temporalUiUrl },
  };
}

function givenKubeConfig({ cluster: { kubeconfig, runOutsideCluster } }: Config): KubeConfig {
  return loadKubeConfig({ kubeconfig, outsideCluster: runOutsideCluster, env: process.env });
}

/** @throws where Temporal cannot be reached */
export function connectTo({ temporal }: Surroundings, config: Config): Promise<Connection> {
  const { connectionOptions } = config.temporal.connect;
  return Connection.connect(config.local.temporalGiven ? connectionOptions : { address: temporal.address });
}
