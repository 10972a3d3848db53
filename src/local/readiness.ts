import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { askCluster, type ClusterAccess } from './cluster-requests.ts';
import { ADMIN, tokenOf } from './cluster-users.ts';
import type { GuardedServers } from './guarded-servers.ts';
import { apiServerUrl, etcdUrl } from './server-commands.ts';
import type { StackLayout, StackPorts } from './stack-layout.ts';

/** A server ended early or was not ready in time. */
export class ServerFailed extends Error {
  readonly server: string;

  constructor(server: string, why: string) {
    super(`${server} ${why}`);
    this.name = 'ServerFailed';
    this.server = server;
  }
}

const TIMEOUT_MS = 60_000;
const INTERVAL_MS = 50;

/** True when what is waited for is there; a rejection counts as not yet. */
export type Probe = () => Promise<boolean>;

/**
 * Asks the probe until it says yes.
 *
 * @throws ServerFailed after 60 s, or as soon as any server of the stack has ended
 */
export async function waitUntil(
  what: { readonly server: string; readonly is: string; readonly servers: GuardedServers },
  probe: Probe,
): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!(await probe().catch(() => false))) {
    what.servers.signal.throwIfAborted();
    const failure = what.servers.failure();
    if (failure !== undefined) throw new ServerFailed(failure.name, `ended early (${failure.how})`);
    if (performance.now() > deadline) {
      throw new ServerFailed(what.server, `was not ${what.is} within ${TIMEOUT_MS / 1000} s`);
    }
    await pause(INTERVAL_MS);
  }
}

export async function clusterAccess(layout: StackLayout, ports: StackPorts): Promise<ClusterAccess> {
  return {
    url: apiServerUrl(ports),
    token: tokenOf(ADMIN, await readFile(layout.tokens, 'utf8')),
    authority: await readFile(layout.authority, 'utf8'),
  };
}

const EtcdHealth = z.object({ health: z.literal('true') });

export async function etcdIsHealthy(ports: StackPorts): Promise<boolean> {
  const answer = await fetch(`${etcdUrl(ports)}/health`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  return EtcdHealth.safeParse(await answer.json()).success;
}

export async function apiServerIsReady(layout: StackLayout, ports: StackPorts): Promise<boolean> {
  const { status } = await askCluster(await clusterAccess(layout, ports), '/readyz');
  return status === 200;
}

/** Pods are refused until the controller manager has made the service account that they run as. */
export async function defaultServiceAccountExists(access: ClusterAccess): Promise<boolean> {
  const { status } = await askCluster(access, '/api/v1/namespaces/default/serviceaccounts/default');
  return status === 200;
}

const Nodes = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      spec: z.object({ taints: z.array(z.object({ key: z.string() })).optional() }),
      status: z.object({
        conditions: z.array(z.object({ type: z.string(), status: z.string() })).optional(),
      }),
    }),
  ),
});

/** Ready, and without the taint that keeps pods away until the controller manager has seen that. */
export async function nodesTakePods(access: ClusterAccess, names: readonly string[]): Promise<boolean> {
  const { items } = Nodes.parse(JSON.parse((await askCluster(access, '/api/v1/nodes')).body));
  const fit = items.filter(
    ({ spec, status }) =>
      (spec.taints ?? []).length === 0 &&
      (status.conditions ?? []).some(({ type, status: value }) => type === 'Ready' && value === 'True'),
  );
  return names.every((name) => fit.some(({ metadata }) => metadata.name === name));
}
