import { join } from 'node:path';
import { COMPONENT_USERS } from './cluster-files.ts';
import { ROOT } from './root.ts';
import type { ServerName } from './server-pins.ts';
import { etcdUrl, LOOPBACK, type StackLayout, type StackPorts } from './stack-folder.ts';

/** Nodes with this annotation are simulated; any other is left to its kubelet. */
export const SIMULATED_NODE = { 'kwok.x-k8s.io/node': 'fake' } as const;

export interface CommandContext {
  readonly layout: StackLayout;
  readonly ports: StackPorts;
  readonly audit: boolean;
}

/** The arguments with which each server is started. */
export const SERVER_ARGUMENTS: Readonly<Record<ServerName, (context: CommandContext) => string[]>> = {
  etcd: etcdArguments,
  'kube-apiserver': apiServerArguments,
  'kube-controller-manager': controllerManagerArguments,
  'kube-scheduler': schedulerArguments,
  kwok: kwokArguments,
  temporal: temporalArguments,
};

function etcdArguments({ layout, ports }: CommandContext): string[] {
  const peer = `http://${LOOPBACK}:${ports.etcdPeer}`;
  return [
    `--data-dir=${layout.etcdData}`,
    // The state of a local stack need not survive a power cut.
    '--unsafe-no-fsync',
    '--log-level=warn',
    `--listen-client-urls=${etcdUrl(ports)}`,
    `--advertise-client-urls=${etcdUrl(ports)}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ];
}

function apiServerArguments(context: CommandContext): string[] {
  const { layout, ports, audit } = context;
  return [
    `--etcd-servers=${etcdUrl(ports)}`,
    `--bind-address=${LOOPBACK}`,
    // Without it, the API server needs a default route, and does not start on a machine without a network.
    // Nobody calls this address (TEST-NET-1, RFC 5737), because simulated Pods run nothing.
    '--advertise-address=192.0.2.1',
    `--secure-port=${ports.apiServer}`,
    `--cert-dir=${layout.certificates}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${layout.serviceAccountKey}`,
    `--service-account-signing-key-file=${layout.serviceAccountKey}`,
    `--token-auth-file=${layout.tokens}`,
    '--authorization-mode=RBAC',
    '--service-cluster-ip-range=10.96.0.0/16',
    ...(audit ? auditArguments(layout) : []),
  ];
}

function auditArguments(layout: StackLayout): string[] {
  return [
    `--audit-policy-file=${layout.auditPolicy}`,
    `--audit-log-path=${layout.auditLog}`,
    '--audit-log-maxsize=2000', // MB: one file, so that readers need not follow a rotation
  ];
}

/** 20 requests a second, the default, makes Jobs crawl. */
const UNTHROTTLED = ['--kube-api-qps=1000', '--kube-api-burst=2000'];
/** One replica, without a health endpoint. */
const ALONE = ['--leader-elect=false', '--secure-port=0'];

function controllerManagerArguments({ layout }: CommandContext): string[] {
  return [
    `--kubeconfig=${layout.kubeconfig(COMPONENT_USERS['kube-controller-manager'])}`,
    `--service-account-private-key-file=${layout.serviceAccountKey}`,
    // Else no namespace gets its kube-root-ca.crt.
    `--root-ca-file=${layout.authority}`,
    '--concurrent-job-syncs=50',
    ...UNTHROTTLED,
    ...ALONE,
  ];
}

function schedulerArguments({ layout }: CommandContext): string[] {
  return [`--kubeconfig=${layout.kubeconfig(COMPONENT_USERS['kube-scheduler'])}`, ...UNTHROTTLED, ...ALONE];
}

function kwokArguments({ layout }: CommandContext): string[] {
  const [annotation] = Object.entries(SIMULATED_NODE).map(([key, value]) => `${key}=${value}`);
  return [
    `--kubeconfig=${layout.kubeconfig(COMPONENT_USERS.kwok)}`,
    '--manage-all-nodes=false',
    `--manage-nodes-with-annotation-selector=${annotation ?? ''}`,
    '--node-lease-duration-seconds=40',
    '--node-ip=192.0.2.2',
    '--cidr=10.128.0.1/12',
    `--config=${join(ROOT, 'tools/kwok/stages.yaml')}`,
  ];
}

function temporalArguments({ layout, ports }: CommandContext): string[] {
  return [
    ...['server', 'start-dev', '--log-level', 'warn'],
    ...['--ip', LOOPBACK, '--ui-ip', LOOPBACK],
    ...['--port', String(ports.temporal), '--ui-port', String(ports.temporalUi)],
    ...['--metrics-port', String(ports.temporalMetrics)],
    ...['--db-filename', layout.temporalData],
    // Faster than the in-memory default, and it survives a restart of the server.
    ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=OFF'],
    ...Object.entries(DYNAMIC_CONFIG).flatMap(([key, value]) => [
      '--dynamic-config-value',
      `${key}=${value}`,
    ]),
  ];
}

const DYNAMIC_CONFIG: Readonly<Record<string, string>> = {
  // 20 polls a second, the default, make every step wait for a tick of 50 ms.
  'history.transferProcessorMaxPollRPS': '200',
  // With the default of four partitions some tasks wait 2 s for a poller of theirs.
  'matching.numTaskqueueReadPartitions': '1',
  'matching.numTaskqueueWritePartitions': '1',
  // An activity's first attempt goes back to the worker with the answer that scheduled it.
  'system.enableActivityEagerExecution': 'true',
  // Visibility writes cost most of the server's CPU; the UI's list may lag half a second.
  'history.visibilityProcessorMaxPollRPS': '2',
};
