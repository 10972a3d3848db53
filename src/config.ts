import { delimiter } from 'node:path';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import { parseCommandLine, type CommandName } from './config/command-line.ts';
import { readConfigFile, type FileContents } from './config/file.ts';
import { Settings } from './config/settings.ts';
import { LOCAL_TEMPORAL, temporalFrom, temporalIsGiven, whyNotReadable } from './config/temporal.ts';
import { GIT_TRANSPORTS, type BuildOptions } from './controllers/build/options.ts';
import {
  bindingNamePrefix,
  clusterRoleName,
  deploymentNameOfWorkers,
  duration,
  flag,
  hostDirectory,
  imageName,
  labelSelector,
  leaseName,
  listenAddress,
  listOf,
  namespaceName,
  oneOf,
  origin,
  taskQueueName,
  text,
  workerBuildId,
} from './config/values.ts';
import { VERSION } from './version.ts';

export type { CommandName };

/** Where to listen; an empty host is every interface. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Everything the program can be told, validated. The only place that reads argv and environment is this module. */
export interface Config {
  readonly command: CommandName;
  readonly cluster: {
    /** A path, or several as in `KUBECONFIG` (separated by the platform's path delimiter). */
    readonly kubeconfig?: string;
    /** Use the kubeconfig of the person running the program, not the pod's service account. */
    readonly runOutsideCluster: boolean;
  };
  readonly temporal: {
    /** What to give to `NativeConnection.connect` or `Connection.connect`. */
    readonly connect: ClientConnectConfig;
    /** `host:port`, for messages. */
    readonly address: string;
    readonly namespace: string;
  };
  readonly taskQueue: string;
  readonly healthAddress: ListenAddress | 'off';
  readonly metrics: {
    readonly address: ListenAddress | 'off';
    /** By TLS, and with authentication and authorization by the API server. */
    readonly secure: boolean;
    /** Where `tls.crt` and `tls.key` are; none: a certificate is made at start. */
    readonly certDir?: string;
  };
  /** Whether spans are exported; where to, OpenTelemetry's own variables say. */
  readonly tracing: boolean;
  readonly leaderElection: LeaderElectionConfig;
  /** Undefined: without Worker Versioning. */
  readonly workerVersion?: { readonly deploymentName: string; readonly buildId: string };
  /** The file of the keys that payloads are encrypted with; none: they are not. */
  readonly payloadKeys?: string;
  readonly promote: {
    /** 0: not at all. */
    readonly waitForDrainMs: number;
    /** Whether runs that are then still open on other versions are started afresh. */
    readonly moveOpenRuns: boolean;
  };
  readonly codecServer: {
    readonly address: ListenAddress | 'off';
    /** Origins as browsers send them, such as `http://localhost:8233`. */
    readonly allowOrigins: readonly string[];
  };
  /** The names of the controllers to run: some of those given to `parseConfig`, in their order. */
  readonly controllers: readonly string[];
  /** The namespaces to watch; none means all. */
  readonly namespaces: readonly string[];
  readonly resyncMs: number;
  readonly log: { readonly level: string; readonly format: 'auto' | 'json' | 'pretty' };
  readonly roleBinding: {
    readonly clusterRole: string;
    /** Before the namespace, in the RoleBinding's and the group's name. */
    readonly prefix: string;
    /** A label selector that `parseLabelSelector` accepts; empty selects all. */
    readonly namespaceSelector: string;
    readonly excludeNamespaces: readonly string[];
  };
  readonly build: BuildOptions;
  readonly local: {
    readonly exitWhenConverged: boolean;
    /** Where the local stack keeps its files. */
    readonly dir?: string;
    /** Whether somebody named a cluster: then no Kubernetes servers are started. */
    readonly kubernetesGiven: boolean;
    /** Whether somebody named a Temporal server: then none is started. */
    readonly temporalGiven: boolean;
  };
}

export interface LeaderElectionConfig {
  readonly enabled: boolean;
  /** Where the Lease is; none: in the Pod's own namespace. */
  readonly namespace?: string;
  /** The Lease's name. */
  readonly name: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

export type Parsed =
  | { readonly kind: 'config'; readonly config: Config }
  /** Nothing is to be run: print `output` and exit (`--help`, `--version`, or what is wrong). */
  | {
      readonly kind: 'exit';
      readonly code: number;
      readonly output: string;
      readonly to: 'stdout' | 'stderr';
    };

/** A timer of Node cannot be longer than 24.8 days. */
const RESYNC_RANGE = { from: '100ms', to: '24d' };

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/**
 * Reads what the program is to do: flags win over environment, environment over the file that `--config`
 * names, and that over defaults. Everything that is wrong is reported at once, a line each, and never thrown.
 *
 * @param args what follows the program's name, `process.argv.slice(2)`
 * @param controllerNames what `--controllers` may name
 */
export async function parseConfig(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  controllerNames: readonly string[],
): Promise<Parsed> {
  const line = parseCommandLine(args);
  if (line.kind === 'help') return { kind: 'exit', code: 0, output: line.output, to: 'stdout' };
  if (line.kind === 'wrong') return refusal([line.problem]);
  const path = line.configFile ?? env[CONFIG_VARIABLE] ?? '';
  const namedBy = line.configFile === undefined ? CONFIG_VARIABLE : '--config';
  const file = path === '' ? NO_FILE : await readConfigFile(path, namedBy);
  const settings = new Settings({ flags: line.flags, env, file: { path, entries: file.entries } });
  settings.problems.push(...file.problems);
  const config = configFrom({ command: line.command, settings, env, controllerNames });
  return settings.problems.length > 0 ? refusal(settings.problems) : { kind: 'config', config };
}

const CONFIG_VARIABLE = 'DURABLE_OPERATOR_CONFIG';

const NO_FILE: FileContents = { entries: new Map(), problems: [] };

function refusal(problems: readonly string[]): Parsed {
  const output = problems.map((problem) => `durable-operator: ${problem}\n`).join('');
  return { kind: 'exit', code: 2, output, to: 'stderr' };
}

interface Situation {
  readonly command: CommandName;
  readonly settings: Settings;
  readonly env: NodeJS.ProcessEnv;
  readonly controllerNames: readonly string[];
}

function configFrom({ command, settings, env, controllerNames }: Situation): Config {
  const cluster = clusterFrom(settings);
  const chosen = settings.read('controllers', controllerList(controllerNames), controllerNames.join(','));
  return {
    command,
    cluster,
    temporal: temporalFor(command, settings, env),
    taskQueue: settings.read('task-queue', taskQueueName),
    healthAddress: settings.read(
      'health-addr',
      listenAddress,
      command === 'local' ? LOCAL_HEALTH_ADDRESS : undefined,
    ),
    metrics: metricsFrom(command, settings),
    tracing: settings.read('tracing', flag),
    leaderElection: leaderElectionFrom(settings),
    ...workerVersionFrom(command, settings),
    ...payloadKeysFrom(settings),
    promote: {
      waitForDrainMs: settings.read('wait-for-drain', duration(DRAIN_RANGE)),
      moveOpenRuns: settings.read('move-open-runs', flag),
    },
    codecServer: {
      address: settings.read('codec-addr', listenAddress),
      allowOrigins: settings.read('codec-allow-origin', listOf(origin)),
    },
    controllers: controllerNames.filter((name) => chosen.includes(name)),
    namespaces: settings.read('namespaces', listOf(namespaceName)),
    resyncMs: settings.read('resync', duration(RESYNC_RANGE)),
    log: {
      level: settings.read('log-level', oneOf(LOG_LEVELS)),
      format: settings.read('log-format', oneOf(['auto', 'json', 'pretty'] as const)),
    },
    roleBinding: roleBindingFrom(settings),
    build: buildFrom(settings),
    local: localFrom(settings, cluster, env),
  };
}

function controllerList(names: readonly string[]) {
  const advice = `names no controller; write one or more of ${names.join(', ')}`;
  return listOf(oneOf(names)).refine((chosen) => chosen.length > 0, advice);
}

/** What the local stack serves is for this machine alone. */
const LOCAL_HEALTH_ADDRESS = '127.0.0.1:9098';

const DRAIN_RANGE = { from: '0s', to: '24d' };

const LOCAL_METRICS_ADDRESS = '127.0.0.1:9097';

function metricsFrom(command: CommandName, settings: Settings): Config['metrics'] {
  const certDir = settings.readIfGiven('metrics-cert-dir', text);
  const fallback = command === 'local' ? LOCAL_METRICS_ADDRESS : undefined;
  return {
    address: settings.read('metrics-addr', listenAddress, fallback),
    secure: settings.read('metrics-secure', flag),
    ...(certDir === undefined ? {} : { certDir }),
  };
}

/** A Lease counts whole seconds. */
const LEASE_RANGE = { from: '1s', to: '1h' };
const LEASE_STEP_RANGE = { from: '100ms', to: '1h' };

function leaderElectionFrom(settings: Settings): LeaderElectionConfig {
  const namespace = settings.readIfGiven('leader-election-namespace', namespaceName);
  const election = {
    enabled: settings.read('enable-leader-election', flag),
    ...(namespace === undefined ? {} : { namespace }),
    name: settings.read('leader-election-name', leaseName),
    leaseDurationMs: settings.read('leader-election-lease-duration', duration(LEASE_RANGE)),
    renewDeadlineMs: settings.read('leader-election-renew-deadline', duration(LEASE_STEP_RANGE)),
    retryPeriodMs: settings.read('leader-election-retry-period', duration(LEASE_STEP_RANGE)),
  };
  // client-go's own conditions: leaderelection.NewLeaderElector.
  if (election.leaseDurationMs <= election.renewDeadlineMs) {
    settings.problems.push(
      '--leader-election-renew-deadline must be shorter than --leader-election-lease-duration, else two lead at once',
    );
  }
  if (election.renewDeadlineMs <= election.retryPeriodMs * RETRY_JITTER) {
    settings.problems.push(
      '--leader-election-retry-period must be much shorter than --leader-election-renew-deadline, as 2s is than 10s',
    );
  }
  return election;
}

const RETRY_JITTER = 1.2;

function workerVersionFrom(command: CommandName, settings: Settings): Pick<Config, 'workerVersion'> {
  const deploymentName = settings.readIfGiven('worker-deployment', deploymentNameOfWorkers);
  const buildId = settings.readIfGiven('worker-build-id', workerBuildId);
  if (deploymentName !== undefined) return { workerVersion: { deploymentName, buildId: buildId ?? VERSION } };
  if (buildId !== undefined) {
    settings.problems.push('--worker-build-id needs a deployment; name one by --worker-deployment');
  } else if (command === 'promote') {
    settings.problems.push('promote needs a deployment; name one by --worker-deployment');
  }
  return {};
}

function payloadKeysFrom(settings: Settings): Pick<Config, 'payloadKeys'> {
  const payloadKeys = settings.readIfGiven('payload-keys', text);
  if (payloadKeys === undefined) return {};
  const why = whyNotReadable(payloadKeys);
  if (why !== undefined) {
    const from = settings.sourceOf('payload-keys') ?? '';
    settings.problems.push(`${from} "${payloadKeys}": ${why}; name a readable file of keys`);
  }
  return { payloadKeys };
}

function clusterFrom(settings: Settings): Config['cluster'] {
  const kubeconfig = settings.readIfGiven('kubeconfig', text);
  const runOutsideCluster = settings.read('run-outside-cluster', flag);
  if (kubeconfig === undefined) return { runOutsideCluster };
  // KUBECONFIG may name several files, of which kubectl, too, wants only one to be there.
  const reasons = kubeconfig.split(delimiter).map(whyNotReadable);
  const why = reasons.includes(undefined) ? undefined : reasons[0];
  if (why !== undefined) {
    const from = settings.sourceOf('kubeconfig') ?? '';
    settings.problems.push(`${from} "${kubeconfig}": ${why}; name a readable kubeconfig`);
  }
  return { kubeconfig, runOutsideCluster };
}

/** A local stack that was given no Temporal starts its own, whatever this person's profiles say. */
function temporalFor(command: CommandName, settings: Settings, env: NodeJS.ProcessEnv): Config['temporal'] {
  if (command === 'local' && !temporalIsGiven(env)) return LOCAL_TEMPORAL;
  return temporalFrom(env, (problem) => settings.problems.push(problem));
}

function roleBindingFrom(settings: Settings): Config['roleBinding'] {
  return {
    clusterRole: settings.read('role-binding-cluster-role', clusterRoleName),
    prefix: settings.read('role-binding-prefix', bindingNamePrefix),
    namespaceSelector: settings.read('namespace-selector', labelSelector),
    excludeNamespaces: settings.read('exclude-namespaces', listOf(namespaceName)),
  };
}

/** A Job's deadline is a whole number of seconds. */
const DEADLINE_RANGE = { from: '1s', to: '24d' };

function buildFrom(settings: Settings): BuildOptions {
  const transports = listOf(oneOf(GIT_TRANSPORTS));
  const advice = `names no transport; write one or more of ${GIT_TRANSPORTS.join(', ')}`;
  return {
    image: settings.read('build-image', imageName),
    hostDir: settings.read('build-host-dir', hostDirectory),
    deadlineMs: settings.read('build-deadline', duration(DEADLINE_RANGE)),
    gitTransports: settings.read(
      'build-git-transports',
      transports.refine((chosen) => chosen.length > 0, advice),
    ),
  };
}

function localFrom(settings: Settings, cluster: Config['cluster'], env: NodeJS.ProcessEnv): Config['local'] {
  const dir = settings.readIfGiven('dir', text);
  return {
    exitWhenConverged: settings.read('exit-when-converged', flag),
    ...(dir === undefined ? {} : { dir }),
    kubernetesGiven: cluster.kubeconfig !== undefined || cluster.runOutsideCluster,
    temporalGiven: temporalIsGiven(env),
  };
}
