import { z } from 'zod';
import { durationMs } from '../api/duration.ts';
import { controllerSections, type WithOptions } from './controller-options.ts';
import { option, section } from './option.ts';
import * as values from './values.ts';

/** A timer of Node cannot be longer than 24.8 days. */
const LONGEST = '24d';

/** A Lease counts whole seconds. */
const LEASE_RANGE = { from: '1s', to: '1h' };
const ELECTION_RANGE = { from: '100ms', to: '1h' };

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** What of a program its options depend on. */
export interface ProgramNames {
  readonly name: string;
  readonly controllers: readonly WithOptions[];
}

const CLUSTER = section('Cluster', {
  kubeconfig: option('kubeconfig <file>', values.readableFiles, {
    help: 'kubeconfig file of the cluster to connect to',
    unset: 'in a Pod its service account, else `~/.kube/config`',
    docs: 'It may name several files, separated as in `KUBECONFIG`.',
    alsoFrom: 'KUBECONFIG',
  }),
  runOutsideCluster: option('run-outside-cluster', values.boolean, {
    default: 'false',
    help: "use your kubeconfig, never the Pod's service account",
  }),
  credentialsTimeoutMs: option('credentials-timeout <duration>', values.credentialsTimeout, {
    default: '30s',
    help: 'how long the exec plugin or the OIDC server of the kubeconfig may take',
    docs: 'See [Exec plugins](#exec-plugins).',
  }),
  name: option('cluster-name <name>', values.clusterName, {
    published: true,
    help: 'name of this cluster among those that share a Temporal namespace',
    unset: 'the UID of the Namespace `kube-system`',
    docs: 'Watcher and workers need the same value. See [Several clusters](#several-clusters).',
  }),
});

function reconciliationOptions(controllerNames: readonly string[]) {
  return section('Reconciliation', {
    controllers: option('controllers <names>', values.someOf(controllerNames), {
      published: true,
      default: controllerNames.join(','),
      help: 'run only these controllers',
      docs: 'It limits what is watched; a worker runs everything on its task queue.',
    }),
    namespaces: option('namespaces <names>', values.listCodec(values.namespaceName), {
      published: true,
      default: '',
      unset: 'all',
      help: 'watch only these namespaces',
      docs: 'A Role in each of them is then enough. Namespaces are read by name every 15 s.',
    }),
    resyncMs: option('resync <duration>', durationMs({ from: '100ms', to: LONGEST }), {
      published: true,
      default: '3m',
      help: 're-evaluate every known resource this often',
      docs: 'It reads the cache of the watches, not the cluster.',
    }),
    minPollIntervalMs: option('min-poll-interval <duration>', durationMs({ from: '10s', to: LONGEST }), {
      published: true,
      default: '1m',
      help: 'the shortest interval that an annotation `durable-operator.dev/poll-interval` may ask for',
      docs: 'A shorter one counts as this.',
    }),
    requireApprovalOver: option('require-approval-over <count>', values.count, {
      published: true,
      help: 'ask for approval before more objects than this are deleted at once',
      unset: 'only where the annotation `durable-operator.dev/approval` asks for it',
      docs: 'Watcher and workers need the same value.',
    }),
    areApproversChecked: option('approvers-checked', values.boolean, {
      published: true,
      default: 'false',
      help: 'the API server checks the names of people who approve, by the admission policy of the chart or of `install.yaml`',
      docs: 'These set it. Without it, nobody is told a name as if it were checked.',
    }),
  });
}

const HEALTH = section('Operation', {
  address: option('health-addr <address>', values.listenAddress, {
    default: ':9098',
    localDefault: '127.0.0.1:9098',
    help: 'serve `/healthz` and `/readyz` here; `0` disables them',
    docs: 'Written as `:PORT`, `HOST:PORT` or `[IPV6]:PORT`.',
  }),
});

const LOG = section('Operation', {
  level: option('log-level <level>', values.oneOf(LOG_LEVELS), {
    default: 'info',
    help: '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`',
    docs: 'At `debug`, the watcher also logs changed resources that need no run, and errors have their stack trace.',
  }),
  format: option('log-format <format>', values.oneOf(['auto', 'json', 'pretty']), {
    default: 'auto',
    help: '`json`, `pretty`, or `auto`: pretty on a terminal, JSON elsewhere',
    docs: 'Logs go to stdout.',
  }),
});

function leaderElectionOptions(program: string) {
  return section('Leader election', {
    enabled: option('enable-leader-election', values.boolean, {
      default: 'false',
      help: 'let only the replica that holds a Lease start and signal runs; all replicas execute them',
    }),
    namespace: option('leader-election-namespace <name>', values.namespaceName, {
      help: 'namespace of the Lease',
      unset: "the Pod's own",
    }),
    name: option('leader-election-name <name>', values.leaseName, {
      default: program,
      help: 'name of the Lease',
      docs: 'Two operators in the same namespace need different names.',
    }),
    leaseDurationMs: option('leader-election-lease-duration <duration>', durationMs(LEASE_RANGE), {
      default: '15s',
      help: 'how long after its last renewal a leader may be replaced',
    }),
    renewDeadlineMs: option('leader-election-renew-deadline <duration>', durationMs(ELECTION_RANGE), {
      default: '10s',
      help: 'how long the leader tries to renew the Lease before it gives up',
    }),
    retryPeriodMs: option('leader-election-retry-period <duration>', durationMs(ELECTION_RANGE), {
      default: '2s',
      help: 'time between two attempts to acquire or renew the Lease',
    }),
  }).superRefine(electionTimes);
}

const METRICS = section('Metrics', {
  address: option('metrics-addr <address>', values.listenAddress, {
    default: ':9097',
    localDefault: '127.0.0.1:9097',
    help: 'serve Prometheus metrics on `/metrics` here; `0` disables them',
  }),
  secure: option('metrics-secure', values.boolean, {
    default: 'false',
    help: 'serve metrics over TLS, to clients that the API server allows to `get` the URL `/metrics`',
  }),
  certDir: option('metrics-cert-dir <directory>', values.text, {
    help: 'directory of `tls.crt` and `tls.key`',
    unset: 'a self-signed certificate, generated at startup',
  }),
});

function workerOptions(program: string) {
  return section('Workers', {
    taskQueue: option('task-queue <name>', values.taskQueueName, {
      published: true,
      default: program,
      help: 'Temporal task queue of watcher and workers',
      docs: 'Two operators in the same Temporal namespace need different names.',
    }),
    deploymentName: option('worker-deployment <name>', values.workerDeploymentName, {
      published: true,
      help: 'enable Temporal Worker Versioning, with this deployment name',
      alsoFrom: 'TEMPORAL_DEPLOYMENT_NAME',
      docs: 'Nothing runs before a version is promoted.',
    }),
    buildId: option('worker-build-id <id>', values.workerBuildId, {
      published: true,
      help: 'build ID of this worker in its deployment',
      alsoFrom: 'TEMPORAL_WORKER_BUILD_ID',
      unset: 'the version of the program',
    }),
  }).superRefine(buildIdOfDeployment);
}

const LOAD = section('Load', {
  workflowSlots: option('workflow-slots <count>', values.countUpTo('workflow tasks', { from: 2 }), {
    default: '40',
    help: 'the most workflow tasks that a worker has in progress',
    docs: 'Each runs at most one local activity, which has a second. A worker with more than it can finish in a second repeats some.',
  }),
  activitySlots: option('activity-slots <count>', values.countUpTo('activities'), {
    default: '100',
    help: 'the most activities that a worker has in progress',
  }),
  startsInFlight: option('starts-in-flight <count>', values.countUpTo('starts'), {
    default: '10',
    help: 'the most runs that the watcher starts or signals at the same time',
    docs: 'Keep it well below `--workflow-slots`.',
  }),
});

const TEMPORAL_SERVER = section('Temporal', {
  registersSearchAttributes: option('register-search-attributes', values.boolean, {
    default: 'true',
    help: 'register missing custom search attributes in Temporal at startup',
    docs: 'If that is not allowed, as in [Temporal Cloud](temporal-cloud.md), the operator logs which are missing, and waits.',
  }),
});

const TEMPORAL_UI = section('Temporal', {
  url: option('temporal-ui-url <url>', values.webAddress, {
    published: true,
    help: 'URL of the Temporal UI, for the links that `why` prints',
    unset: 'none, or `http://localhost:8233` if Temporal is at `localhost:7233`',
  }),
});

const ENCRYPTION = section('Encryption', {
  keysFile: option('payload-keys <file>', values.readableFile, {
    help: 'encrypt what Temporal stores with the first key of this file; the other keys are only used to decrypt',
  }),
});

const CODEC_SERVER = section(
  'Codec server',
  {
    address: option('codec-addr <address>', values.listenAddress, {
      default: '127.0.0.1:9096',
      help: 'serve the codec here',
    }),
    allowOrigins: option('codec-allow-origin <origins>', values.listCodec(values.origin), {
      default: 'http://localhost:8233',
      help: 'origins of the Temporal UIs that may use it',
    }),
  },
  'codec-server',
);

function generateOptions(program: string) {
  return section(
    'Generated files',
    {
      check: option('check', values.boolean, {
        default: 'false',
        help: 'write nothing, and exit with status 1 if a file is missing or differs',
      }),
      image: option('image-repository <name>', values.imageName, {
        default: program,
        help: 'name of the image, without its tag, which is the version in package.json',
      }),
      crds: option('crds', values.boolean, {
        default: 'false',
        help: 'only print the custom resource definitions, for `kubectl apply --filename -`',
      }),
      allowNewRights: option('allow-new-rights', values.boolean, {
        default: 'false',
        help: 'give the operator rights that it does not have in the files that are there',
      }),
      allowBreakingChanges: option('allow-breaking-changes', values.boolean, {
        default: 'false',
        help: 'change a kind so that it no longer accepts all resources that it accepted, or leave behind what it owned',
      }),
    },
    'generate',
  );
}

const DEV = section(
  'Local stack',
  {
    dir: option('dir <directory>', values.text, {
      help: 'directory for the files of the local servers',
      unset: '`durable-operator/local` in `$XDG_STATE_HOME` or `~/.local/state`',
    }),
    samples: option('samples <directory>', values.text, {
      default: 'samples',
      help: 'directory of the manifests to apply, if there is one',
    }),
    exitWhenConverged: option('exit-when-converged', values.boolean, {
      default: 'false',
      help: 'exit with status 0 once the samples have converged',
    }),
    inspect: option('inspect', values.boolean, {
      default: 'false',
      help: 'let a debugger attach to the operator at 127.0.0.1:9229',
    }),
  },
  'dev',
);

/**
 * The table of options: name, schema, default and help of each in a row. All else about options follows from it.
 *
 * @throws ConfigurationError where a controller has an option that cannot be one
 */
export function schemaFor({ name: program, controllers }: ProgramNames) {
  const controllerNames = controllers.map(({ name }) => name);
  // Their types are known to the controllers alone.
  const ofControllers: object = controllerSections(controllers);
  return z.object({
    cluster: CLUSTER,
    reconciliation: reconciliationOptions(controllerNames),
    ...ofControllers,
    health: HEALTH,
    log: LOG,
    leaderElection: leaderElectionOptions(program),
    metrics: METRICS,
    worker: workerOptions(program),
    load: LOAD,
    temporalServer: TEMPORAL_SERVER,
    temporalUi: TEMPORAL_UI,
    encryption: ENCRYPTION,
    codecServer: CODEC_SERVER,
    generate: generateOptions(program),
    dev: DEV,
  });
}

interface ElectionTimes {
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

/** As client-go requires: leaderelection.NewLeaderElector, whose jitter is 1.2. */
function electionTimes(times: ElectionTimes, context: z.RefinementCtx): void {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = times;
  if (leaseDurationMs <= renewDeadlineMs) {
    const message =
      'must be shorter than --leader-election-lease-duration, otherwise two replicas could lead';
    context.addIssue({ code: 'custom', path: ['renewDeadlineMs'], message });
  }
  if (renewDeadlineMs <= retryPeriodMs * 1.2) {
    const message = 'must be much shorter than --leader-election-renew-deadline, such as 2s for 10s';
    context.addIssue({ code: 'custom', path: ['retryPeriodMs'], message });
  }
}

interface WorkerVersion {
  readonly deploymentName?: string | undefined;
  readonly buildId?: string | undefined;
}

function buildIdOfDeployment({ deploymentName, buildId }: WorkerVersion, context: z.RefinementCtx): void {
  if (buildId === undefined || deploymentName !== undefined) return;
  const message = 'needs a worker deployment; set --worker-deployment';
  context.addIssue({ code: 'custom', path: ['buildId'], message });
}
