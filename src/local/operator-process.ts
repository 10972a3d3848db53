import { writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Config } from '../config.ts';
import type { Surroundings } from './surroundings.ts';

const OPERATOR = 'operator';

/** The operator ended, or did not get ready. The message has its log's last lines. */
export class OperatorFailed extends Error {
  override readonly name = 'OperatorFailed';
}

/** Shutdown must fit into the 10 s that a Pod is given. */
const GRACE_MS = 12_000;
const READY_WITHIN_MS = 60_000;
const INTERVAL_MS = 100;

/**
 * Node takes as much memory as the machine has to spare before it cleans up; an operator needs little. The image
 * gives the same flags.
 */
export const MEMORY_FLAGS: readonly string[] = ['--max-old-space-size=256', '--max-semi-space-size=2'];

export interface OperatorRequest {
  readonly config: Config;
  readonly surroundings: Surroundings;
  /** At 127.0.0.1. */
  readonly healthPort: number;
  /** At 127.0.0.1; undefined: no metrics. */
  readonly metricsPort: number | undefined;
  readonly signal: AbortSignal;
}

/** Starts the operator as a process of its own, as somebody would, and waits until it is ready. @throws OperatorFailed */
export async function startOperator(request: OperatorRequest): Promise<void> {
  const { config, surroundings, healthPort, metricsPort, signal } = request;
  const addresses = [
    `--health-addr=127.0.0.1:${healthPort}`,
    `--metrics-addr=${metricsPort === undefined ? '0' : `127.0.0.1:${metricsPort}`}`,
  ];
  await surroundings.stack.startCompanion({
    name: OPERATOR,
    command: process.execPath,
    args: [...MEMORY_FLAGS, program(), ...operatorArguments(config), ...addresses],
    env: await operatorEnvironment(config, surroundings),
    cwd: process.cwd(),
    graceMs: GRACE_MS,
  });
  await operatorReady(healthPort, signal);
}

export async function stopOperator({ stack }: Surroundings): Promise<void> {
  await stack.stopCompanion(OPERATOR);
}

/** The same program, as TypeScript from src/ and as JavaScript from dist/. */
function program(): string {
  return fileURLToPath(new URL(`../main${extname(import.meta.url)}`, import.meta.url));
}

/** What a person told `local` about the operator. */
export function operatorArguments(config: Config): string[] {
  const { cluster, roleBinding, build } = config;
  return [
    'run',
    `--run-outside-cluster=${String(cluster.runOutsideCluster)}`,
    `--controllers=${config.controllers.join(',')}`,
    `--namespaces=${config.namespaces.join(',')}`,
    `--resync=${config.resyncMs}ms`,
    `--task-queue=${config.taskQueue}`,
    `--namespace-selector=${roleBinding.namespaceSelector}`,
    `--exclude-namespaces=${roleBinding.excludeNamespaces.join(',')}`,
    `--role-binding-cluster-role=${roleBinding.clusterRole}`,
    `--role-binding-prefix=${roleBinding.prefix}`,
    `--build-image=${build.image}`,
    `--build-host-dir=${build.hostDir}`,
    `--build-deadline=${build.deadlineMs}ms`,
    `--build-git-transports=${build.gitTransports.join(',')}`,
    ...electionArguments(config.leaderElection),
    ...metricsArguments(config.metrics),
    `--tracing=${String(config.tracing)}`,
    ...(config.workerVersion === undefined ? [] : versionArguments(config.workerVersion)),
    ...(config.payloadKeys === undefined ? [] : [`--payload-keys=${config.payloadKeys}`]),
    `--log-level=${config.log.level}`,
    '--log-format=json',
  ];
}

function electionArguments(election: Config['leaderElection']): string[] {
  return [
    `--enable-leader-election=${String(election.enabled)}`,
    ...(election.namespace === undefined ? [] : [`--leader-election-namespace=${election.namespace}`]),
    `--leader-election-name=${election.name}`,
    `--leader-election-lease-duration=${election.leaseDurationMs}ms`,
    `--leader-election-renew-deadline=${election.renewDeadlineMs}ms`,
    `--leader-election-retry-period=${election.retryPeriodMs}ms`,
  ];
}

function metricsArguments({ secure, certDir }: Config['metrics']): string[] {
  return [
    `--metrics-secure=${String(secure)}`,
    ...(certDir === undefined ? [] : [`--metrics-cert-dir=${certDir}`]),
  ];
}

function versionArguments({ deploymentName, buildId }: NonNullable<Config['workerVersion']>): string[] {
  return [`--worker-deployment=${deploymentName}`, `--worker-build-id=${buildId}`];
}

async function operatorEnvironment(config: Config, surroundings: Surroundings): Promise<NodeJS.ProcessEnv> {
  const {
    cluster: { kubeconfigFile },
    temporal,
    stack,
  } = surroundings;
  const cluster = kubeconfigFile === undefined ? {} : { DURABLE_OPERATOR_KUBECONFIG: kubeconfigFile };
  if (config.local.temporalGiven) return { ...process.env, ...cluster };
  // The default file may hold a profile with credentials; without any file named, it would be read.
  const profiles = join(stack.dir, 'temporal.toml');
  await writeFile(profiles, '[profile.default]\n');
  const server = { TEMPORAL_ADDRESS: temporal.address, TEMPORAL_CONFIG_FILE: profiles };
  return { ...withoutTemporal(process.env), ...cluster, ...server };
}

/** A person's own profile and credentials are not for a server that we started. */
function withoutTemporal(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

async function operatorReady(port: number, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    signal.throwIfAborted();
    const { isReady, words } = await readiness(port);
    if (isReady) return;
    if (performance.now() > deadline) {
      throw new OperatorFailed(`the operator is not ready after ${READY_WITHIN_MS / 1000} s: ${words}`);
    }
    await pause(INTERVAL_MS, undefined, { signal });
  }
}

async function readiness(port: number): Promise<{ isReady: boolean; words: string }> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(5000) });
    return { isReady: answer.ok, words: (await answer.text()).trim() };
  } catch {
    return { isReady: false, words: 'it does not answer' };
  }
}
