/** One option, under one name in all its sources: `--resync`, `DURABLE_OPERATOR_RESYNC`, `resync:` in a file. */
export interface OptionDescription {
  readonly group: string;
  /** What follows the flag, for the help; a flag without it is true or false. */
  readonly argument?: string;
  readonly help: string;
  /** Written as somebody would write it, and read the same way. */
  readonly fallback?: string;
  /** A variable besides our own that is read, because everybody has it set already. */
  readonly knownAs?: string;
  /** The only command that has it; every command has the others. */
  readonly onlyFor?: 'local' | 'promote' | 'codec-server';
}

const CLUSTER = 'Cluster:';
const WORK = 'What it works on:';
const ROLE_BINDING = 'Controller namespace-role-binding:';
const BUILD = 'Controller build:';
const OPERATION = 'Operation:';
const ELECTION = 'Leader election:';
const METRICS = 'Metrics and traces:';
const VERSIONS = 'Worker versions:';
const PROMOTE = 'Promotion:';
const ENCRYPTION = 'Encryption:';
const CODEC_SERVER = 'Codec server:';
const LOCAL = 'Local stack:';

export const OPTIONS = {
  kubeconfig: {
    group: CLUSTER,
    argument: 'file',
    help: 'which cluster; without it, KUBECONFIG, and in a pod its own service account',
    knownAs: 'KUBECONFIG',
  },
  'run-outside-cluster': {
    group: CLUSTER,
    help: 'use the kubeconfig of the person running it',
    fallback: 'false',
  },
  controllers: {
    group: WORK,
    argument: 'names',
    help: 'run only these controllers',
  },
  namespaces: {
    group: WORK,
    argument: 'names',
    help: 'watch only these namespaces (default: all)',
    fallback: '',
  },
  resync: {
    group: WORK,
    argument: 'duration',
    help: 're-evaluate every known resource this often',
    fallback: '3m',
  },
  'task-queue': {
    group: WORK,
    argument: 'name',
    help: 'the Temporal task queue that watcher and workers share',
    fallback: 'durable-operator',
  },
  'namespace-selector': {
    group: ROLE_BINDING,
    argument: 'selector',
    help: 'bind only in namespaces with these labels, such as team=a,env in (dev,test) (default: all)',
    fallback: '',
  },
  'exclude-namespaces': {
    group: ROLE_BINDING,
    argument: 'names',
    help: 'never bind in these namespaces',
    fallback: 'kube-system,kube-public,kube-node-lease',
  },
  'role-binding-cluster-role': {
    group: ROLE_BINDING,
    argument: 'name',
    help: 'the ClusterRole to bind; the operator must be allowed to bind it',
    fallback: 'edit',
  },
  'role-binding-prefix': {
    group: ROLE_BINDING,
    argument: 'text',
    help: 'what the names of the RoleBinding and of the group have before the namespace',
    fallback: 'ad-kubernetes-',
  },
  'build-image': {
    group: BUILD,
    argument: 'image',
    help: 'the image of the Jobs that build and clean up; it needs bash, git and coreutils',
    fallback: 'golang:1.13',
  },
  'build-host-dir': {
    group: BUILD,
    argument: 'directory',
    help: 'the directory of the nodes that binaries are copied to',
    fallback: '/opt',
  },
  'build-deadline': {
    group: BUILD,
    argument: 'duration',
    help: 'how long a Job may take',
    fallback: '1h',
  },
  'build-git-transports': {
    group: BUILD,
    argument: 'names',
    help: 'how sources may be cloned: https, ssh (with git@host:path), http, git',
    fallback: 'https,ssh',
  },
  'health-addr': {
    group: OPERATION,
    argument: 'address',
    help: 'serve /healthz and /readyz here; 0 for not at all',
    fallback: ':9098',
  },
  'log-level': {
    group: OPERATION,
    argument: 'level',
    help: 'trace, debug, info, warn, error, fatal or silent',
    fallback: 'info',
  },
  'log-format': {
    group: OPERATION,
    argument: 'format',
    help: 'json, pretty, or auto: pretty on a terminal',
    fallback: 'auto',
  },
  'enable-leader-election': {
    group: ELECTION,
    help: 'of several replicas, let one at a time watch; all of them work',
    fallback: 'false',
  },
  'leader-election-namespace': {
    group: ELECTION,
    argument: 'name',
    help: 'where the Lease is (default: the namespace of the Pod)',
  },
  'leader-election-name': {
    group: ELECTION,
    argument: 'name',
    help: 'the name of the Lease',
    fallback: 'durable-operator',
  },
  'leader-election-lease-duration': {
    group: ELECTION,
    argument: 'duration',
    help: 'how long others wait after the leader was last heard of',
    fallback: '15s',
  },
  'leader-election-renew-deadline': {
    group: ELECTION,
    argument: 'duration',
    help: 'how long the leader tries to renew before it gives up',
    fallback: '10s',
  },
  'leader-election-retry-period': {
    group: ELECTION,
    argument: 'duration',
    help: 'how long to wait between two tries',
    fallback: '2s',
  },
  'metrics-addr': {
    group: METRICS,
    argument: 'address',
    help: 'serve Prometheus metrics on /metrics here; 0 for not at all',
    fallback: ':9097',
  },
  'metrics-secure': {
    group: METRICS,
    help: 'serve metrics by TLS, and only to whom the API server allows to get /metrics',
    fallback: 'false',
  },
  'metrics-cert-dir': {
    group: METRICS,
    argument: 'directory',
    help: 'where tls.crt and tls.key are (default: a certificate of its own, made at start)',
  },
  tracing: {
    group: METRICS,
    help: 'send OpenTelemetry traces; OTEL_EXPORTER_OTLP_ENDPOINT says where',
    fallback: 'false',
  },
  'worker-deployment': {
    group: VERSIONS,
    argument: 'name',
    help: 'use Temporal Worker Versioning, under this deployment name',
  },
  'worker-build-id': {
    group: VERSIONS,
    argument: 'id',
    help: 'the version of this worker (default: that of the program)',
  },
  'wait-for-drain': {
    group: PROMOTE,
    argument: 'duration',
    help: 'wait so long for the runs of older versions to end; 0s for not at all',
    fallback: '0s',
    onlyFor: 'promote',
  },
  'move-open-runs': {
    group: PROMOTE,
    help: 'start what is still open on other versions afresh on this one',
    fallback: 'false',
    onlyFor: 'promote',
  },
  'payload-keys': {
    group: ENCRYPTION,
    argument: 'file',
    help: 'encrypt what Temporal keeps with the first key of this file; the others still decrypt',
  },
  'codec-addr': {
    group: CODEC_SERVER,
    argument: 'address',
    help: 'where the codec server listens',
    fallback: '127.0.0.1:9096',
    onlyFor: 'codec-server',
  },
  'codec-allow-origin': {
    group: CODEC_SERVER,
    argument: 'origins',
    help: 'the Temporal UIs whose pages may ask',
    fallback: 'http://localhost:8233',
    onlyFor: 'codec-server',
  },
  dir: {
    group: LOCAL,
    argument: 'directory',
    help: 'where the local servers keep their files',
    onlyFor: 'local',
  },
  'exit-when-converged': {
    group: LOCAL,
    help: 'stop with status 0 as soon as the samples are as wanted',
    fallback: 'false',
    onlyFor: 'local',
  },
} as const satisfies Record<string, OptionDescription>;

export type OptionName = keyof typeof OPTIONS;

export const OPTION_NAMES: readonly OptionName[] = Object.keys(OPTIONS).filter(isOptionName);

export function isOptionName(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name);
}

export function describe(name: OptionName): OptionDescription {
  return OPTIONS[name];
}

/** `health-addr` → `DURABLE_OPERATOR_HEALTH_ADDR` */
export function variableFor(name: string): string {
  return `DURABLE_OPERATOR_${name.replaceAll('-', '_').toUpperCase()}`;
}
