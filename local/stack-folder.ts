import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort, isFree } from './ports.ts';
import { end, GUARDIAN, runningIn } from './recorded-process.ts';

export const LOOPBACK = '127.0.0.1';

/** All at 127.0.0.1. */
export interface StackPorts {
  readonly apiServer: number;
  readonly etcdClient: number;
  readonly etcdPeer: number;
  readonly temporal: number;
  readonly temporalUi: number;
  /** Temporal's own metrics, for Prometheus. */
  readonly temporalMetrics: number;
}

export function apiServerUrl({ apiServer }: StackPorts): string {
  return `https://${LOOPBACK}:${apiServer}`;
}

export function etcdUrl({ etcdClient }: StackPorts): string {
  return `http://${LOOPBACK}:${etcdClient}`;
}

export type StackLayout = ReturnType<typeof layoutOf>;

/** The paths in a stack's folder. */
export function layoutOf(dir: string) {
  const certificates = join(dir, 'certificates');
  const logs = join(dir, 'logs');
  return {
    dir,
    /** Marks the folder as a stack's. */
    marker: join(dir, '.durable-operator-stack'),
    logs,
    processes: join(dir, 'processes'),
    etcdData: join(dir, 'etcd'),
    certificates,
    /** The API server's certificate and the authority that signed it; the API server writes it. */
    authority: join(certificates, 'apiserver.crt'),
    serviceAccountKey: join(dir, 'service-account.key'),
    tokens: join(dir, 'tokens.csv'),
    auditPolicy: join(dir, 'audit-policy.yaml'),
    auditLog: join(dir, 'audit.log'),
    temporalData: join(dir, 'temporal.db'),
    kubeconfig: (user: string) => join(dir, `${fileNameOf(user)}.kubeconfig`),
    log: (server: string) => join(logs, `${server}.log`),
  };
}

function fileNameOf(user: string): string {
  return user.replace(/[^\w.-]/g, '-');
}

/**
 * Makes the folder, empty. What an earlier stack left there is removed, and its servers are ended.
 *
 * @throws Error where it holds other things, or a stack that is still used
 */
export async function makeFolder(layout: StackLayout): Promise<void> {
  const contents = await readdir(layout.dir).catch(() => []);
  if (contents.length > 0) {
    if (!existsSync(layout.marker)) {
      throw new Error(
        `${layout.dir} contains something other than a local stack; choose an empty or new folder`,
      );
    }
    await endLeftovers(layout);
    await rm(layout.dir, { recursive: true, maxRetries: 5 });
  }
  await mkdir(layout.dir, { recursive: true, mode: 0o700 });
  await writeFile(layout.marker, ''); // before anything else is in it
  await mkdir(layout.logs);
  await mkdir(layout.processes);
}

const GUARDIAN_ENDS_WITHIN_MS = 5000;

/** A guardian alone has nobody to serve and is about to end; one that stays serves a stack in use. */
async function endLeftovers({ dir, processes }: StackLayout): Promise<void> {
  const deadline = performance.now() + GUARDIAN_ENDS_WITHIN_MS;
  for (;;) {
    const guardian = (await runningIn(processes)).find(({ name }) => name === GUARDIAN);
    if (guardian === undefined) break;
    if (performance.now() > deadline) {
      throw new Error(
        `a local stack is running in ${dir} (process ${guardian.pid}); stop it, or choose another folder`,
      );
    }
    await pause(100);
  }
  await Promise.all((await runningIn(processes)).map(end));
}

/**
 * Those asked for; else any free ones.
 *
 * @throws Error that names a port which was asked for and is taken
 */
export async function choosePorts(asked: Partial<StackPorts>): Promise<StackPorts> {
  const choose = (name: keyof StackPorts): Promise<number> => {
    const wanted = asked[name];
    return wanted === undefined ? freePort() : requireFree(name, wanted);
  };
  return {
    apiServer: await choose('apiServer'),
    etcdClient: await choose('etcdClient'),
    etcdPeer: await choose('etcdPeer'),
    temporal: await choose('temporal'),
    temporalUi: await choose('temporalUi'),
    temporalMetrics: await choose('temporalMetrics'),
  };
}

async function requireFree(name: keyof StackPorts, port: number): Promise<number> {
  if (await isFree(port)) return port;
  throw new Error(
    `port ${port}, which was asked for (${name}), is taken; stop what listens there, or choose another`,
  );
}

/** Copies the logs out of the folder, which is about to be removed. @returns where they are */
export async function saveLogs(layout: StackLayout): Promise<string> {
  const saved = await mkdtemp(join(tmpdir(), 'durable-operator-logs-'));
  await cp(layout.logs, saved, { recursive: true });
  return saved;
}
