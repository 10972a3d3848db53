import type { DataConverter } from '@temporalio/common';
import type { NativeConnection, Worker } from '@temporalio/worker';
import { eventRecorder, type Recorder } from '../activities/events.ts';
import { activitiesFor } from '../activities/index.ts';
import { aborted } from './aborted.ts';
import type { Config } from './config.ts';
import { chosenControllers, controllerOptions } from './config/controllers.ts';
import type { Logger } from './contract/logger.ts';
import type { Telemetry } from './contract/telemetry.ts';
import { startHealthServer } from './serving/health.ts';
import { createKubernetesClient, type KubernetesClient } from './kubernetes/client.ts';
import { loadKubeConfig } from './kubernetes/config.ts';
import type { Listening } from './serving/listening.ts';
import { observe } from './telemetry/observability.ts';
import type { StateSource } from './telemetry/state-metrics.ts';
import { connectToTemporal } from './temporal/connection.ts';
import { dataConverterFor } from './temporal/data-converter.ts';
import { observed, tellingEnds } from './temporal/passes.ts';
import { noticeRouting } from './temporal/routing-notice.ts';
import { temporalRuns } from './temporal/runs.ts';
import { createWorker, installRuntime, STARTS_UNDER_WAY } from './temporal/worker.ts';
import { workflowThreadProblem } from './temporal/workflow-threads.ts';
import { VERSION } from './version.ts';
import { LeaderElection, leaseNamespace } from './watcher/leader-election.ts';
import { LeaseObject, type LeaseLocation } from './watcher/lease.ts';
import { Watcher } from './watcher/watcher.ts';

/** Runs watcher, worker or both, until the signal; then ends what is in hand and returns. */
export async function runOperator(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  const dataConverter = await dataConverterFor(config.payloadKeys);
  const lease = leaseOf(config);
  const parts: Parts = { watcher: undefined, election: undefined, problems: [NOT_CONNECTED] };
  const observability = await observe({ config, log, source: stateOf(parts, lease) });
  const { telemetry } = observability;
  installRuntime(log, observability.temporalMetricsAddress);
  const client = createKubernetesClient(kubeConfigOf(config), { version: VERSION, telemetry });
  const recorder = eventRecorder(client, log);
  const health = await openHealth(config, log, parts);
  const metrics = await observability.serve(client);
  try {
    const { connect, address, namespace } = config.temporal;
    const options = connect.connectionOptions;
    const connection = await connectToTemporal({ options, address, namespace, log, signal });
    try {
      await serve({
        config,
        lease,
        log,
        signal,
        client,
        recorder,
        telemetry,
        connection,
        dataConverter,
        parts,
      });
    } finally {
      await connection.close();
    }
  } finally {
    await Promise.all([recorder.close(), observability.close()]);
    await client.close();
    await metrics?.close();
    await health?.close();
  }
}

const NOT_CONNECTED = 'Temporal: not connected yet';

/** What `/readyz` and `/metrics` ask; filled in as the parts come up. */
interface Parts {
  watcher: Watcher | undefined;
  election: LeaderElection | undefined;
  problems: readonly string[];
}

interface Serving {
  readonly config: Config;
  /** Undefined: who watches leads. */
  readonly lease: LeaseLocation | undefined;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly client: KubernetesClient;
  readonly recorder: Recorder;
  readonly telemetry: Telemetry;
  readonly connection: NativeConnection;
  readonly dataConverter: DataConverter;
  readonly parts: Parts;
}

async function serve(serving: Serving): Promise<void> {
  const { config, log, signal, parts } = serving;
  const worker = config.command === 'watch' ? undefined : await workerOf(serving);
  const working = worker?.run();
  if (config.command !== 'work') startWatching(serving);
  parts.problems = [];
  log.info(
    { command: config.command, taskQueue: config.taskQueue, temporal: config.temporal.address },
    'started',
  );
  try {
    // A worker ends by itself only where it cannot go on: its error then ends the program.
    await Promise.race([aborted(signal), working ?? aborted(signal)]);
    log.info({}, 'stopping: no new work is taken, what is in hand ends');
  } finally {
    parts.problems = ['stopping'];
    await parts.election?.stop();
    await parts.watcher?.stop();
    if (worker?.getState() === 'RUNNING') worker.shutdown();
    await working;
  }
  log.info({}, 'stopped');
}

async function workerOf(serving: Serving): Promise<Worker> {
  const { config, log, client, recorder, telemetry, connection, dataConverter, parts } = serving;
  const passes = activitiesFor({ client, log, recorder, options: controllerOptions(config) });
  const activities = tellingEnds(observed(passes, telemetry), (ref) => parts.watcher?.runEnded(ref));
  const { namespace } = config.temporal;
  const { taskQueue, workerVersion: version } = config;
  await noticeRouting({ connection, namespace, taskQueue, version, log });
  const target = { connection, namespace, taskQueue, dataConverter };
  return createWorker({ ...target, activities, ...(version && { version }) });
}

function leaseOf({ command, leaderElection: { enabled, namespace, name } }: Config) {
  if (command === 'work' || !enabled) return undefined;
  return { namespace: leaseNamespace(namespace), name };
}

function startWatching(serving: Serving): void {
  const { config, lease, log, client, parts } = serving;
  const watcher = watcherOf(serving);
  parts.watcher = watcher;
  watcher.start();
  if (lease === undefined) {
    watcher.lead(() => true);
    return;
  }
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = config.leaderElection;
  const times = { leaseDurationMs, renewDeadlineMs, retryPeriodMs };
  parts.election = new LeaderElection({
    lease: new LeaseObject(client, lease),
    candidate: watcher,
    ...times,
    log,
  });
  parts.election.start();
}

function watcherOf({ config, log, client, telemetry, connection, dataConverter }: Serving): Watcher {
  const { taskQueue, namespaces, resyncMs } = config;
  const target = { connection, namespace: config.temporal.namespace, taskQueue, dataConverter };
  return new Watcher({
    controllers: chosenControllers(config),
    client,
    runs: temporalRuns({ ...target, eager: startsEagerly(config), telemetry }),
    namespaces,
    resyncMs,
    concurrency: STARTS_UNDER_WAY,
    log,
    telemetry,
  });
}

/** What is asked at each scrape of the metrics. */
function stateOf(parts: Parts, lease: LeaseLocation | undefined): StateSource {
  return {
    watcher: () => parts.watcher?.state,
    isTemporalUnavailable: () =>
      parts.problems.includes(NOT_CONNECTED) || parts.watcher?.state.isTemporalUnavailable === true,
    lease: () => lease && { name: lease.name, isLeading: parts.election?.isLeading ?? false },
  };
}

/**
 * Temporal gives an eager start to the worker of the process whatever its version, so that a leader of an old
 * version would still begin runs on it. Seen with server 1.29.
 */
function startsEagerly({ command, workerVersion }: Config): boolean {
  return command === 'run' && workerVersion === undefined;
}

async function openHealth(config: Config, log: Logger, parts: Parts): Promise<Listening | undefined> {
  if (config.healthAddress === 'off') return undefined;
  const checks = () => ({
    live: problems(workflowThreadProblem()),
    ready: [...parts.problems, ...(parts.watcher?.problems ?? []), ...problems(parts.election?.problem)],
  });
  return startHealthServer({ address: config.healthAddress, checks, log });
}

function kubeConfigOf({ cluster }: Config) {
  const { kubeconfig, runOutsideCluster } = cluster;
  return loadKubeConfig({ kubeconfig, outsideCluster: runOutsideCluster, env: process.env });
}

function problems(problem: string | undefined): string[] {
  return problem === undefined ? [] : [problem];
}
