import { homedir } from 'node:os';
import { join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { Connection } from '@temporalio/client';
import type { Config } from '../src/config/config.ts';
import { loadKubeConfig } from '../src/kubernetes/config.ts';
import { buildPrograms, type Binaries } from './build.ts';
import { showBuildProgress } from './build-progress.ts';
import { preferFreePort } from './ports.ts';
import { PROGRAMS, type StackProgramName } from './server-pins.ts';
import type { StackPorts } from './stack-folder.ts';
import { startStack, type Stack, type StackPart } from './stack.ts';

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
  const onProgress = showBuildProgress(output);
  const binaries: Partial<Binaries> = await buildPrograms(programsFor(parts), { onProgress, signal });
  const dir = config.local.dir ?? defaultDir();
  say(`all files are in ${dir}, and are removed at the end`);
  const ports = await usualPorts();
  const stack = await startStack({ dir, binaries, parts, ports, onProgress: say, signal });
  return surroundingsOf({ config, stack, kubectl: binaries.kubectl ?? 'kubectl' });
}

/** The URL of the API server. @throws ConfigurationError where the given kubeconfig does not say which cluster */
export function givenServer(config: Config): string {
  return givenKubeConfig(config).getCurrentCluster()?.server ?? '';
}

function whatIsGiven(config: Config): string[] {
  const { kubernetesGiven, temporalGiven } = config.local;
  const { address, namespace } = config.temporal;
  return [
    ...(kubernetesGiven ? [`using the cluster that was given, ${givenServer(config)}`] : []),
    ...(temporalGiven
      ? [`using the Temporal server that was given, ${address}, namespace ${namespace}`]
      : []),
  ];
}

function partsToStart({ local: { kubernetesGiven, temporalGiven } }: Config): StackPart[] {
  const kubernetes: readonly StackPart[] = kubernetesGiven ? [] : ['kubernetes'];
  return temporalGiven ? [...kubernetes] : [...kubernetes, 'temporal'];
}

function programsFor(parts: readonly StackPart[]): StackProgramName[] {
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
  const { address, namespace } = config.temporal;
  return {
    stack,
    cluster: kubernetesGiven
      ? { kubeConfig: givenKubeConfig(config), kubeconfigFile: config.cluster.kubeconfig, kubectl }
      : { kubeConfig: kubeConfigOf(stack), kubeconfigFile: stack.kubeconfig, kubectl },
    temporal: temporalGiven
      ? { address, namespace, uiUrl: undefined }
      : { address: stack.temporalAddress, namespace, uiUrl: stack.temporalUiUrl },
  };
}

function kubeConfigOf({ kubeconfig }: Stack): KubeConfig {
  return loadKubeConfig({ kubeconfig, env: {} });
}

function givenKubeConfig({ cluster: { kubeconfig, runOutsideCluster } }: Config): KubeConfig {
  return loadKubeConfig({ kubeconfig, outsideCluster: runOutsideCluster, env: process.env });
}

/** @throws where Temporal cannot be reached */
export function connectTo({ temporal }: Surroundings, config: Config): Promise<Connection> {
  const { connectionOptions } = config.temporal.connect;
  return Connection.connect(config.local.temporalGiven ? connectionOptions : { address: temporal.address });
}
