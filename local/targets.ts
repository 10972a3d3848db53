import type { KubeConfig } from '@kubernetes/client-node';
import { Connection } from '@temporalio/client';
import type { Config } from '../src/config/config.ts';
import { clientConnection } from '../src/config/temporal.ts';
import { loadKubeConfig } from '../src/kubernetes/config.ts';
import { buildPrograms, type Binaries } from './build.ts';
import { preferFreePort } from './ports.ts';
import { PROGRAMS, type StackProgramName } from './server-pins.ts';
import { defaultDir, type StackPorts } from './stack-folder.ts';
import { startStack, type Stack, type StackPart } from './stack.ts';

/** The cluster and the Temporal server that the operator uses: of the local stack, or given. */
export interface Targets {
  /** The servers that were not given, and the operator. */
  readonly stack: Stack;
  readonly cluster: {
    readonly kubeConfig: KubeConfig;
    /** Undefined: the one that kubectl finds. */
    readonly kubeconfigFile: string | undefined;
    /** An absolute path, or `kubectl` for a given cluster. */
    readonly kubectl: string;
  };
  readonly temporal: {
    /** `host:port` */
    readonly address: string;
    readonly namespace: string;
    /** Known only for the server of the stack. */
    readonly uiUrl: string | undefined;
  };
}

interface TargetsRequest {
  readonly config: Config;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Builds and starts the servers that were not given.
 *
 * @throws ConfigurationError, GoUnfit, BuildFailed, StackFailed, or an Error about the folder
 */
export async function startTargets({ config, say, signal }: TargetsRequest): Promise<Targets> {
  sayWhatIsGiven(config, say);
  const parts = partsToStart(config);
  const binaries: Partial<Binaries> = await buildPrograms(programsFor(parts), { say, signal });
  const dir = config.dev.dir ?? defaultDir();
  say(`all files are in ${dir}, and are removed at the end`);
  const ports = await usualPorts();
  const stack = await startStack({ dir, binaries, parts, ports, onProgress: say, signal });
  return {
    stack,
    cluster: clusterOf(config, stack, binaries.kubectl),
    temporal: temporalOf(config, stack),
  };
}

/** The URL of the given API server. @throws ConfigurationError if the kubeconfig names no cluster */
export function givenServer(config: Config): string {
  return givenKubeConfig(config).getCurrentCluster()?.server ?? '';
}

function sayWhatIsGiven(config: Config, say: (line: string) => void): void {
  const { kubernetesGiven, temporalGiven } = config.dev;
  const { address, namespace } = config.temporal;
  if (kubernetesGiven) say(`using your cluster, ${givenServer(config)}`);
  if (temporalGiven) say(`using your Temporal server, ${address}, namespace ${namespace}`);
}

function partsToStart({ dev: { kubernetesGiven, temporalGiven } }: Config): StackPart[] {
  const kubernetes: readonly StackPart[] = kubernetesGiven ? [] : ['kubernetes'];
  return temporalGiven ? [...kubernetes] : [...kubernetes, 'temporal'];
}

function programsFor(parts: readonly StackPart[]): StackProgramName[] {
  return PROGRAMS.filter((name) => parts.includes(name === 'temporal' ? 'temporal' : 'kubernetes'));
}

/** Temporal's tools expect the server and the UI there. */
async function usualPorts(): Promise<Partial<StackPorts>> {
  return { temporal: await preferFreePort(7233), temporalUi: await preferFreePort(8233) };
}

function clusterOf(config: Config, { kubeconfig }: Stack, kubectl = 'kubectl'): Targets['cluster'] {
  return config.dev.kubernetesGiven
    ? { kubeConfig: givenKubeConfig(config), kubeconfigFile: config.cluster.kubeconfig, kubectl }
    : { kubeConfig: loadKubeConfig({ kubeconfig, env: {} }), kubeconfigFile: kubeconfig, kubectl };
}

function temporalOf(config: Config, stack: Stack): Targets['temporal'] {
  const { address, namespace } = config.temporal;
  return config.dev.temporalGiven
    ? { address, namespace, uiUrl: undefined }
    : { address: stack.temporalAddress, namespace, uiUrl: stack.temporalUiUrl };
}

function givenKubeConfig({ cluster: { kubeconfig, runOutsideCluster } }: Config): KubeConfig {
  return loadKubeConfig({ kubeconfig, outsideCluster: runOutsideCluster, env: process.env });
}

/** @throws Error if Temporal cannot be reached */
export function connectTo({ temporal }: Targets, config: Config): Promise<Connection> {
  const { connectionOptions } = config.temporal.connect;
  const given = config.dev.temporalGiven ? connectionOptions : { address: temporal.address };
  return Connection.connect(clientConnection(given));
}
