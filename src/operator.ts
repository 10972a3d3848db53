import type { NativeConnection, Worker } from '@temporalio/worker';
import { eventRecorder, type Recorder } from '../activities/events.ts';
import { activitiesFor } from '../activities/index.ts';
import type { Config } from './config.ts';
import { chosenControllers, controllerOptions } from './config/controllers.ts';
import type { Logger } from './contract/logger.ts';
import type { ResourceRef } from './contract/resource.ts';
import type { Outcome, Pass } from './contract/run.ts';
import { startHealthServer, type HealthServer } from './health.ts';
import { createKubernetesClient, type KubernetesClient } from './kubernetes/client.ts';
import { loadKubeConfig } from './kubernetes/config.ts';
import { connectToTemporal } from './temporal/connection.ts';
import { temporalRuns } from './temporal/runs.ts';
import { createWorker, installRuntime, STARTS_UNDER_WAY } from './temporal/worker.ts';
import { workflowThreadProblem } from './temporal/workflow-threads.ts';
import { VERSION } from './version.ts';
import { Watcher } from './watcher/watcher.ts';

/** Runs watcher, worker or both, until the signal; then ends what is in hand and returns. */
export async function runOperator(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  installRuntime(log);
  const client = createKubernetesClient(kubeConfigOf(config), { version: VERSION });
  const recorder = eventRecorder(client, log);
  const parts: Parts = { watcher: undefined, problems: ['Temporal: not connected yet'] };
  const health = await openHealth(config, log, parts);
  try {
    const { connect, address, namespace } = config.temporal;
    const options = connect.connectionOptions;
    const connection = await connectToTemporal({ options, address, namespace, log, signal });
    try {
      await serve({ config, log, signal, client, recorder, connection, parts });
    } finally {
      await connection.close();
    }
  } finally {
    await recorder.close();
    await client.close();
    await health?.close();
  }
}

/** What `/readyz` asks; filled in as the parts come up. */
interface Parts {
  watcher: Watcher | undefined;
  problems: readonly string[];
}

interface Serving {
  readonly config: Config;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly client: KubernetesClient;
  readonly recorder: Recorder;
  readonly connection: NativeConnection;
  readonly parts: Parts;
}

async function serve(serving: Serving): Promise<void> {
  const { config, log, signal, parts } = serving;
  const worker = config.command === 'watch' ? undefined : await workerOf(serving);
  const working = worker?.run();
  parts.watcher = config.command === 'work' ? undefined : watcherOf(serving);
  parts.watcher?.start();
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
    await parts.watcher?.stop();
    if (worker?.getState() === 'RUNNING') worker.shutdown();
    await working;
  }
  log.info({}, 'stopped');
}

async function workerOf({ config, log, client, recorder, connection, parts }: Serving): Promise<Worker> {
  const activities = tellingEnds(
    activitiesFor({ client, log, recorder, options: controllerOptions(config) }),
    (ref) => parts.watcher?.runEnded(ref),
  );
  const { namespace } = config.temporal;
  return createWorker({ connection, namespace, taskQueue: config.taskQueue, activities });
}

type Activities = Readonly<Record<string, (pass: Pass<never>) => Promise<Outcome>>>;

/** Where watcher and worker share a process, the watcher need not ask Temporal whether a run has ended. */
function tellingEnds(activities: Activities, onEnd: (ref: ResourceRef) => void): Activities {
  return Object.fromEntries(
    Object.entries(activities).map(([name, act]) => [
      name,
      async (pass: Pass<never>) => {
        const outcome = await act(pass);
        if (outcome.result === 'converged') onEnd(pass.ref);
        return outcome;
      },
    ]),
  );
}

function watcherOf({ config, log, client, connection }: Serving): Watcher {
  const { taskQueue, namespaces, resyncMs } = config;
  const { namespace } = config.temporal;
  return new Watcher({
    controllers: chosenControllers(config),
    client,
    runs: temporalRuns({ connection, namespace, taskQueue, eager: config.command === 'run' }),
    namespaces,
    resyncMs,
    concurrency: STARTS_UNDER_WAY,
    log,
  });
}

async function openHealth(config: Config, log: Logger, parts: Parts): Promise<HealthServer | undefined> {
  if (config.healthAddress === 'off') return undefined;
  const checks = () => ({
    live: problems(workflowThreadProblem()),
    ready: [...parts.problems, ...(parts.watcher?.problems ?? [])],
  });
  return startHealthServer({ address: config.healthAddress, checks, log });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function kubeConfigOf({ cluster }: Config) {
  const { kubeconfig, runOutsideCluster } = cluster;
  return loadKubeConfig({ kubeconfig, outsideCluster: runOutsideCluster, env: process.env });
}

function problems(problem: string | undefined): string[] {
  return problem === undefined ? [] : [problem];
}
