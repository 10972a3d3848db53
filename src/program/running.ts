import { Client } from '@temporalio/client';
import { GracefulShutdownPeriodExpiredError, type NativeConnection, type Worker } from '@temporalio/worker';
import { eventRecorder, type EventRecorder } from '../../activities/events/events.ts';
import { activitiesFor } from '../../activities/index.ts';
import { Memory, Superseding } from '../../activities/run-memory.ts';
import { pausedNamespaces } from '../../activities/objects/paused-namespaces.ts';
import { Turns, type Turn } from '../../activities/turns.ts';
import { aborted } from '../temporal/aborted.ts';
import { workerVersionOf, type Config } from '../config/config.ts';
import { temporalConfigRotated } from '../config/temporal-rotation.ts';
import { labelOfCluster } from '../runs/cluster.ts';
import type { Logger } from '../api/logger.ts';
import type { NextStep } from '../runs/decision.ts';
import { workflowIdFor, type ResourceRef } from '../api/resource-ref.ts';
import type { Telemetry } from '../runs/telemetry.ts';
import { createKubernetesClient, type KubernetesClient } from '../kubernetes/client.ts';
import { loadKubeConfig } from '../kubernetes/config.ts';
import { LeaseObject, type LeaseLocation } from '../kubernetes/lease.ts';
import { Lifecycle, type Watching } from './lifecycle.ts';
import { createObservability } from '../observability/observability.ts';
import { connectToTemporal } from '../temporal/connection.ts';
import { dataConverterFor } from '../temporal/data-converter.ts';
import { look, type LookingOptions } from './looking.ts';
import { ownCluster } from './own-cluster.ts';
import { chosenControllers, type Program } from './program.ts';
import { reconcilersOf, type Reconcilers } from './reconcilers.ts';
import { Pushed } from '../watcher/pushed.ts';
import { checkTaskQueue, publishUntilDone } from './publishing.ts';
import { reportingCredentials } from './reporting-credentials.ts';
import { measuredPollers, noticeRouting, TaskQueueWatch } from '../temporal/task-queue.ts';
import { leftRuns } from '../temporal/moved-runs.ts';
import { RunReader, type TemporalCalls } from '../temporal/run-reader.ts';
import { temporalRuns } from '../temporal/runs.ts';
import { observed, ofOwnCluster, reportingEnds } from '../temporal/steps.ts';
import { createWorker, installRuntime, untilItEnds } from '../temporal/worker.ts';
import { VERSION } from '../config/version.ts';
import { LeaderElection, leaseNamespace, type Candidate } from '../watcher/leader-election.ts';
import type { Runs } from '../watcher/runs.ts';
import type { PollReader } from '../watcher/polls.ts';
import { Watcher } from '../watcher/watcher.ts';

export interface OperatorRequest {
  readonly program: Program;
  readonly config: Config;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Default: 30 s, between two looks at the files of Temporal's configuration. */
  readonly lookEveryMs?: number;
  /** Called once it has begun, and with nothing once it stops. */
  readonly onRunning?: (pushed: Pushed | undefined) => void;
}

/** Runs watcher, worker or both, until the signal; then completes work in progress and returns. */
export async function runOperator({
  program,
  config,
  log,
  signal,
  lookEveryMs,
  onRunning,
}: OperatorRequest): Promise<void> {
  const lifecycle = new Lifecycle();
  const observability = await createObservability({
    program: program.name,
    settings: config,
    controllers: chosenControllers(program, config),
    leaseName: config.leaderElection.name,
    version: VERSION,
    command: config.command,
    source: lifecycle,
    log,
  });
  const { telemetry, temporalMetricsAddress } = observability;
  installRuntime(log, temporalMetricsAddress);
  const client = createKubernetesClient(kubeConfigOf(config), {
    ...{ program: program.name, version: VERSION },
    telemetry,
    ...{ credentialsTimeoutMs: config.cluster.credentialsTimeoutMs, ...reportingCredentials(lifecycle, log) },
  });
  const recorder = eventRecorder(client, log, { program: program.name });
  const ended = new AbortController();
  try {
    await observability.serve(client);
    const onWait = (words: string) => lifecycle.waits(words);
    const rotated = untilRotated({
      config,
      log,
      signal: AbortSignal.any([signal, ended.signal]),
      lookEveryMs,
    });
    await connectAndRun({
      ...{ program, config, log, signal: AbortSignal.any([signal, rotated]) },
      ...{ client, recorder, telemetry, lifecycle, onWait, ...(onRunning && { onRunning }) },
    });
  } finally {
    ended.abort();
    await Promise.all([recorder.close(), observability.close()]);
    await client.close();
  }
  log.info({}, 'stopped');
}

/** What the parts are made of. */
interface Parts extends OperatorRequest {
  readonly client: KubernetesClient;
  readonly recorder: EventRecorder;
  readonly telemetry: Telemetry;
  readonly lifecycle: Lifecycle;
  readonly onWait: (words: string) => void;
}

async function connectAndRun(parts: Parts): Promise<void> {
  const { config, log } = parts;
  const { connect, address, namespace } = config.temporal;
  const { registersSearchAttributes } = config.temporalServer;
  const where = { address, namespace, registersSearchAttributes };
  const options = connect.connectionOptions;
  const connection = await connectToTemporal({ ...parts, ...where, options });
  try {
    parts.lifecycle.connected();
    const target = await targetOf(parts, connection);
    await checkTaskQueue({ ...parts, ...target });
    await watchAndWork(parts, target);
  } finally {
    // A worker that has failed may still hold it. What it failed of is to be told.
    await connection
      .close()
      .catch((err: unknown) => log.warn({ err }, 'the connection to Temporal stays open'));
  }
}

/** Where runs are kept, and of which cluster they are. */
async function targetOf(parts: Parts, connection: NativeConnection) {
  const { temporal, worker, encryption } = parts.config;
  const dataConverter = await dataConverterFor(encryption.keysFile);
  const cluster = await ownCluster(parts);
  return { connection, namespace: temporal.namespace, taskQueue: worker.taskQueue, cluster, dataConverter };
}

type Target = Awaited<ReturnType<typeof targetOf>>;

async function watchAndWork(parts: Parts, target: Target): Promise<void> {
  const { config, log, signal, lifecycle, onRunning } = parts;
  const memory = new Memory();
  const runs = runsOf(parts, target);
  const own = new Own(parts);
  const watching = config.command === 'work' ? undefined : watchingOf(parts, target, { memory, runs, own });
  if (watching !== undefined) own.watcher = watching.watcher;
  const worker =
    config.command === 'watch' ? undefined : await workerOf({ parts, target, memory, watching, own });
  const working = worker && untilItEnds(worker);
  if (watching !== undefined) start(watching);
  lifecycle.started(watching);
  onRunning?.(pushedIn(parts, runs, watching, own));
  const { command, temporal } = config;
  const ended = new AbortController();
  const publishing =
    watching === undefined
      ? aborted(signal)
      : publishUntilDone({ ...parts, ...target, lease: leaseOf(config), signal: ended.signal });
  const { taskQueue, cluster } = target;
  log.info({ command, taskQueue, cluster: labelOfCluster(cluster), temporal: temporal.address }, 'started');
  try {
    // A worker ends by itself only where it cannot go on: its error then ends the program.
    const worked = working ?? aborted(signal);
    await Promise.race([aborted(signal), worked, publishing]);
    log.info({}, 'stopping: accepting no new work, finishing work in progress');
  } finally {
    ended.abort();
    onRunning?.(undefined);
    lifecycle.stopping();
    if (worker?.getState() === 'RUNNING') worker.shutdown();
    await stop(parts, watching, working);
  }
}

type Looking = Pick<OperatorRequest, 'config' | 'log' | 'signal'> & {
  readonly lookEveryMs: number | undefined;
};

/**
 * Aborted once Temporal's configuration has changed, also while the process still waits for Temporal: what is new may be what it
 * waits for. Whoever started it, such as Kubernetes, starts it again.
 */
function untilRotated({ config, log, signal, lookEveryMs }: Looking): AbortSignal {
  const rotated = new AbortController();
  const looks = { signal, ...(lookEveryMs !== undefined && { everyMs: lookEveryMs }) };
  temporalConfigRotated(config.temporal, process.env, looks).then(
    () => {
      log.warn({}, "Temporal's certificate or API key has changed: ending, so that a new process uses it");
      rotated.abort();
    },
    () => undefined, // The process ends.
  );
  return rotated.signal;
}

/** Under the grace that the worker gives to steps in progress. */
const CUT_OFF_MS = 5_000;

/** Side by side: where the API server does not answer, each part would wait for as long as its requests may take. */
async function stop(
  { client, log }: Parts,
  watching: Watching | undefined,
  working: Promise<void> | undefined,
): Promise<void> {
  // What is cut off, Temporal has tried again by another worker.
  const cuttingOff = setTimeout(() => void client.close(0), CUT_OFF_MS);
  const stopWatching = async () => {
    await watching?.election?.stop();
    watching?.taskQueue?.standBy();
    await watching?.watcher.stop();
  };
  const stopWorking = async () => {
    try {
      await working;
    } catch (error) {
      if (!(error instanceof GracefulShutdownPeriodExpiredError)) throw error;
      log.warn({}, 'stopped before all work in progress was finished; Temporal retries it');
    }
  };
  // Both to their end: where one fails, the other still needs its connections.
  const ends = await Promise.allSettled([stopWatching(), stopWorking()]);
  clearTimeout(cuttingOff);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

function start({ watcher, election, taskQueue }: Watching): void {
  watcher.start();
  if (election === undefined) candidateOf(watcher, taskQueue).lead(() => true, -Infinity);
  else election.start();
}

/** What only one process does at a time. */
function candidateOf(watcher: Watcher, taskQueue: TaskQueueWatch | undefined): Candidate {
  return {
    lead(isLeading, ledUntilMs) {
      watcher.lead(isLeading, ledUntilMs);
      taskQueue?.lead();
    },
    standBy() {
      taskQueue?.standBy();
      return watcher.standBy();
    },
  };
}

function runsOf({ config, telemetry, log }: Parts, target: Target): Runs {
  return temporalRuns({
    ...target,
    ...{ address: config.temporal.address, ...config.temporalServer },
    eager: startsEagerly(config),
    ...{ telemetry, log },
  });
}

/** What reads and writes in this process, made once it is needed: a process that only watches does neither. */
class Own implements PollReader {
  readonly #parts: Parts;
  /** Undefined: this process does not watch. */
  watcher: Watcher | undefined;
  #reconcilers: Reconcilers | undefined;
  readonly isNamespacePaused: (namespace: string) => Promise<boolean>;
  readonly turns: Turns;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { program, config, telemetry } = parts;
    this.turns = new Turns({
      ...{ slots: config.load.activitySlots, controllers: program.controllers.length },
      onDenied: (controller) => telemetry.turnDenied(controller),
      onWaited: (controller, ms) => telemetry.turnAwaited(controller, ms / 1_000),
    });
    this.isNamespacePaused = pausedNamespaces(parts.client, (name) => this.watcher?.isNamespacePaused(name));
  }

  get reconcilers(): Reconcilers {
    const { program, config, client } = this.#parts;
    const compared = this.watcher?.comparing(client) ?? client;
    return (this.#reconcilers ??= reconcilersOf(program, { client: compared, options: config }));
  }

  get looking(): LookingOptions {
    return {
      log: this.#parts.log,
      reconciler: (name) => {
        const reconciler = this.reconcilers[name];
        if (reconciler === undefined) throw new Error(`there is no controller ${name}`);
        return reconciler;
      },
      isNamespacePaused: (name) => this.isNamespacePaused(name),
    };
  }

  takeTurn(ref: ResourceRef): Pick<Turn, 'end'> | undefined {
    const { concurrency } = this.reconcilers[ref.controller] ?? {};
    if (concurrency === undefined) return { end: () => undefined };
    const { controller, namespace } = ref;
    const place = { controller, namespace, workflowId: workflowIdFor(ref) };
    return this.turns.takeIfNobodyWaits({ ...place, concurrency, isLocal: true });
  }

  look(ref: ResourceRef, signal: AbortSignal): Promise<NextStep> {
    return look({ ...this.looking, watched: (it) => this.watcher?.observation(it) }, ref, signal);
  }
}

/** What looks at resources when outside systems ask for it. */
function pushedIn(parts: Parts, runs: Runs, watching: Watching | undefined, own: Own): Pushed {
  const { program, config, client } = parts;
  return new Pushed({
    ...{ client, runs, namespaces: config.reconciliation.namespaces },
    controllers: chosenControllers(program, config),
    look: (ref) => look(own.looking, ref),
    watched: (place) => watching?.watcher.named(place),
  });
}

interface WatchingParts {
  readonly memory: Memory;
  readonly runs: Runs;
  readonly own: Own;
}

function watchingOf(parts: Parts, target: Target, { memory, runs, own }: WatchingParts): Watching {
  const { program, config, log, client, telemetry } = parts;
  const watcher = new Watcher({
    controllers: chosenControllers(program, config),
    ...{ client, runs },
    namespaces: config.reconciliation.namespaces,
    resyncMs: config.reconciliation.resyncMs,
    concurrency: config.load.startsInFlight,
    log,
    telemetry,
    ...(config.command === 'run' && { pollReader: own }),
    onRequest: (workflowId, observation) => memory.seed(workflowId, observation),
  });
  const taskQueue = config.metrics.address === 'off' ? undefined : taskQueueWatchOf(parts, target);
  return { watcher, election: electionOf(parts, candidateOf(watcher, taskQueue)), taskQueue };
}

function taskQueueWatchOf({ program, config, log }: Parts, target: Target): TaskQueueWatch {
  const { connection, namespace } = target;
  const client = new Client({ connection, namespace });
  const calls: TemporalCalls = {
    namespace,
    call: (work) => connection.withDeadline(Date.now() + ABOUT_QUEUES_MS, () => work(client)),
  };
  const reader = new RunReader(calls, 'no runs');
  const controllers = chosenControllers(program, config).map(({ name }) => name);
  const ask = async () => {
    const [pollers, left] = await Promise.all([
      measuredPollers(target),
      leftRuns({ ...target, ...calls, reader, controllers, now: Date.now }),
    ]);
    return { pollers, left };
  };
  return new TaskQueueWatch(ask, log);
}

/** Nobody waits for what is asked once a minute. */
const ABOUT_QUEUES_MS = 10_000;

function electionOf({ config, log, client }: Parts, candidate: Candidate): LeaderElection | undefined {
  const location = leaseOf(config);
  if (location === undefined) return undefined;
  const lease = new LeaseObject(client, location);
  return new LeaderElection({ ...config.leaderElection, lease, candidate, log });
}

function leaseOf({ leaderElection: { enabled, namespace, name } }: Config): LeaseLocation | undefined {
  return enabled ? { namespace: leaseNamespace(namespace), name } : undefined;
}

interface Working {
  readonly parts: Parts;
  readonly target: Target;
  readonly memory: Memory;
  readonly watching: Watching | undefined;
  readonly own: Own;
}

async function workerOf({ parts, target, memory, watching, own }: Working): Promise<Worker> {
  const { program, config, telemetry } = parts;
  const version = workerVersionOf(config);
  await noticeRouting({ ...target, version, program: program.name, log: parts.log });
  const watched = (ref: ResourceRef) => watching?.watcher.observation(ref);
  const { reconcilers, isNamespacePaused, turns } = own;
  const superseding = new Superseding();
  const dependencies = { ...parts, memory, superseding, turns, watched, isNamespacePaused };
  const all = activitiesFor(reconcilers, dependencies);
  const steps = observed(ofOwnCluster(all, target.cluster, parts.log), telemetry);
  const activities = reportingEnds(steps, (ref) => watching?.watcher.runEnded(ref));
  const { connection, namespace, taskQueue, dataConverter } = target;
  const where = { connection, namespace, taskQueue, dataConverter };
  const endAttempt = (workflowId: string) => superseding.end(workflowId);
  return createWorker({ ...where, activities, endAttempt, slots: config.load, ...(version && { version }) });
}

/**
 * Temporal gives an eager start to the worker of the process whatever its version, so that a leader of an old
 * version would still begin runs on it. Seen with server 1.29.
 */
function startsEagerly(config: Config): boolean {
  return config.command === 'run' && workerVersionOf(config) === undefined;
}

function kubeConfigOf({ cluster }: Config) {
  const { kubeconfig, runOutsideCluster } = cluster;
  return loadKubeConfig({ kubeconfig, outsideCluster: runOutsideCluster, env: process.env });
}
