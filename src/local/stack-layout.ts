import { join } from 'node:path';
import type { StackProgramName } from './server-pins.ts';

/** The servers of a stack, in the order in which they depend on each other. */
export type ServerName = Exclude<StackProgramName, 'kubectl'>;

/** All at 127.0.0.1. */
export interface StackPorts {
  apiServer: number;
  etcdClient: number;
  etcdPeer: number;
  temporal: number;
  temporalUi: number;
  /** Temporal's own metrics, for Prometheus. */
  temporalMetrics: number;
}

/** The paths in a stack's folder. */
export interface StackLayout {
  readonly dir: string;
  /** Marks the folder as a stack's, and remembers its ports. */
  readonly marker: string;
  readonly logs: string;
  readonly processes: string;
  readonly etcdData: string;
  readonly certificates: string;
  /** The API server's certificate and the authority that signed it; the API server writes it. */
  readonly authority: string;
  readonly serviceAccountKey: string;
  readonly tokens: string;
  readonly auditPolicy: string;
  readonly auditLog: string;
  readonly temporalData: string;
  kubeconfig(user: string): string;
  log(server: string): string;
}

export function layoutOf(dir: string): StackLayout {
  return {
    dir,
    marker: join(dir, 'stack.json'),
    logs: join(dir, 'logs'),
    processes: join(dir, 'processes'),
    etcdData: join(dir, 'etcd'),
    certificates: join(dir, 'certificates'),
    authority: join(dir, 'certificates', 'apiserver.crt'),
    serviceAccountKey: join(dir, 'service-account.key'),
    tokens: join(dir, 'tokens.csv'),
    auditPolicy: join(dir, 'audit-policy.yaml'),
    auditLog: join(dir, 'audit.log'),
    temporalData: join(dir, 'temporal.db'),
    kubeconfig: (user) => join(dir, `${fileNameOf(user)}.kubeconfig`),
    log: (server) => join(dir, 'logs', `${server}.log`),
  };
}

function fileNameOf(user: string): string {
  return user.replace(/[^\w.-]/g, '-');
}
