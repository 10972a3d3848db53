import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { msToTs } from '@temporalio/common/lib/time.js';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { unreachable } from '../src/api/unreachable.ts';
import { createKubernetesClient, type KubernetesClient } from '../src/kubernetes/client.ts';
import { loadKubeConfig } from '../src/kubernetes/config.ts';
import { GRPC, grpcStatusOf } from '../src/temporal/grpc-status.ts';
import { ADMIN } from './cluster-files.ts';
import { isListening } from './ports.ts';
import type { ServerName } from './server-pins.ts';
import { ServerFailed, type Servers } from './servers.ts';
import { apiServerUrl, etcdUrl, LOOPBACK, type StackLayout, type StackPorts } from './stack-folder.ts';

export interface StartingStack {
  readonly layout: StackLayout;
  readonly ports: StackPorts;
  readonly servers: Servers;
}

/**
 * Resolves when others can use the server.
 *
 * @throws ServerFailed after 60 s, or as soon as any server of the stack has ended
 */
export async function serverReady(name: ServerName, starting: StartingStack): Promise<void> {
  const { layout, ports, servers } = starting;
  const until = (probe: Probe) => waitUntil({ name, servers }, probe);
  switch (name) {
    case 'etcd':
      return until(() => etcdIsHealthy(ports));
    case 'kube-apiserver':
      return until(() => apiServerIsReady(layout, ports));
    case 'kube-controller-manager':
      return asAdmin(layout, (client) => until(() => defaultServiceAccountExists(client)));
    case 'kube-scheduler':
      return; // nothing shows that it works before there are Pods
    case 'kwok':
      return asAdmin(layout, (client) => until(() => nodesAcceptPods(client)));
    case 'temporal':
      // gRPC waits for more than a second after a refused connection.
      await until(() => isListening({ port: ports.temporal, host: LOOPBACK }));
      return temporalServes(ports, until);
    default:
      unreachable(name);
  }
}

/** Calls with a client of the user who may do everything. */
export async function asAdmin<T>(
  layout: StackLayout,
  use: (client: KubernetesClient) => Promise<T>,
): Promise<T> {
  const client = createKubernetesClient(loadKubeConfig({ kubeconfig: layout.kubeconfig(ADMIN), env: {} }));
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

const TIMEOUT_MS = 60_000;
const REQUEST_MS = 2000;
const INTERVAL_MS = 50;

/** A rejection means: not yet. */
type Probe = () => Promise<boolean>;

async function waitUntil(
  { name, servers }: { readonly name: ServerName; readonly servers: Servers },
  probe: Probe,
): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!(await probe().catch(() => false))) {
    servers.over.throwIfAborted();
    if (performance.now() > deadline) {
      throw new ServerFailed(name, `was not ready within ${TIMEOUT_MS / 1000} s`);
    }
    await pause(INTERVAL_MS);
  }
}

const EtcdHealth = z.object({ health: z.literal('true') });

async function etcdIsHealthy(ports: StackPorts): Promise<boolean> {
  const answer = await fetch(`${etcdUrl(ports)}/health`, { signal: AbortSignal.timeout(REQUEST_MS) });
  return EtcdHealth.safeParse(await answer.json()).success;
}

/** Needs no credentials. */
async function apiServerIsReady(layout: StackLayout, ports: StackPorts): Promise<boolean> {
  const ca = await readFile(layout.authority, 'utf8');
  const dispatcher = new Agent({ connect: { ca } });
  try {
    const answer = await request(`${apiServerUrl(ports)}/readyz`, { dispatcher, headersTimeout: REQUEST_MS });
    return answer.statusCode === 200;
  } finally {
    await dispatcher.destroy();
  }
}

/** Pods are refused until the controller manager has created their service account. */
async function defaultServiceAccountExists(client: KubernetesClient): Promise<boolean> {
  await client.request({ method: 'GET', path: '/api/v1/namespaces/default/serviceaccounts/default' });
  return true;
}

const Nodes = z.object({
  items: z.array(
    z.object({
      spec: z.object({ taints: z.array(z.unknown()).default([]) }),
      status: z.object({
        conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
      }),
    }),
  ),
});

/** The controller manager removes the taints of a Node after it has become ready. */
async function nodesAcceptPods(client: KubernetesClient): Promise<boolean> {
  const { items } = Nodes.parse(await client.request({ method: 'GET', path: '/api/v1/nodes' }));
  return items.every(
    ({ spec, status }) =>
      spec.taints.length === 0 &&
      status.conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
  );
}

const FRONTEND = 'temporal.api.workflowservice.v1.WorkflowService';
// grpc.health.v1.HealthCheckResponse.ServingStatus
const SERVING = 1;

/** Resolves when Temporal's frontend serves, and has the namespace `default`. */
async function temporalServes(ports: StackPorts, until: (probe: Probe) => Promise<void>): Promise<void> {
  const { Connection } = await import('@temporalio/client');
  const connection = Connection.lazy({ address: `${LOOPBACK}:${ports.temporal}` });
  const { healthService, workflowService } = connection;
  // The development server creates the namespace; the other server, with which tests can run, does not.
  const registerNamespace = (error: unknown) => {
    if (grpcStatusOf(error)?.code !== GRPC.notFound) throw error;
    const workflowExecutionRetentionPeriod = msToTs('1 day');
    return workflowService.registerNamespace({ namespace: 'default', workflowExecutionRetentionPeriod });
  };
  const serves = async () => {
    const status: number = (await healthService.check({ service: FRONTEND })).status;
    await workflowService.describeNamespace({ namespace: 'default' }).catch(registerNamespace);
    return status === SERVING;
  };
  try {
    await until(() => connection.withDeadline(Date.now() + REQUEST_MS, serves));
  } finally {
    await connection.close();
  }
}
