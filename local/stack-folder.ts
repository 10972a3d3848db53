import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, isListening } from './ports.ts';

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

/** The folder of `npm start`. Source: the XDG Base Directory Specification, `XDG_STATE_HOME`. */
export function defaultDir(env: NodeJS.ProcessEnv = process.env): string {
  const home = env['XDG_STATE_HOME'] ?? '';
  return join(home === '' ? join(homedir(), '.local', 'state') : home, 'durable-operator', 'local');
}

export type StackLayout = ReturnType<typeof layoutOf>;

/** The paths in a stack's folder. */
export function layoutOf(dir: string) {
  const certificates = join(dir, 'certificates');
  const logs = join(dir, 'logs');
  const pids = join(dir, 'pids');
  return {
    dir,
    /** The socket of the process that uses the folder. */
    lock: join(dir, 'lock'),
    logs,
    pids,
    pidFile: (server: string) => join(pids, server),
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

/** Makes the folder empty, and locks it against other stacks. @returns a function that removes it */
export async function claimFolder(layout: StackLayout): Promise<() => Promise<void>> {
  const { dir, lock, logs, pids } = layout;
  await removeLeftovers(layout);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  // The system closes the socket when this process ends, however it ends.
  const server = createServer((socket) => socket.destroy()).listen(lock);
  await once(server, 'listening');
  server.unref();
  await mkdir(logs);
  await mkdir(pids);
  return async () => {
    server.close();
    await remove(dir);
  };
}

/** @throws Error if the folder is used by a running stack, or is not a stack's */
async function removeLeftovers({ dir, lock }: StackLayout): Promise<void> {
  const contents = await readdir(dir).catch((): string[] => []);
  if (contents.length === 0) return;
  if (!contents.includes('lock')) {
    throw new Error(`${dir} contains something other than a local stack; choose an empty or new folder`);
  }
  if (await isListening({ path: lock })) {
    throw new Error(`a local stack is running in ${dir}; stop it with Ctrl-C, or choose another folder`);
  }
  await remove(dir);
}

function remove(dir: string): Promise<void> {
  return rm(dir, { recursive: true, force: true, maxRetries: 5 });
}

/** The process IDs of a stack's servers, by name. */
export async function pidsIn({ pids, pidFile }: StackLayout): Promise<Readonly<Record<string, number>>> {
  const found: Record<string, number> = {};
  for (const name of await readdir(pids)) {
    // Its server may end meanwhile.
    const pid = await readFile(pidFile(name), 'utf8').catch(() => '');
    if (pid !== '') found[name] = Number(pid);
  }
  return found;
}

/** Free ports, except those that are given. */
export async function choosePorts(given: Partial<StackPorts>): Promise<StackPorts> {
  return {
    apiServer: await freePort(),
    etcdClient: await freePort(),
    etcdPeer: await freePort(),
    temporal: await freePort(),
    temporalUi: await freePort(),
    temporalMetrics: await freePort(),
    ...given,
  };
}

/** Copies the logs, before the folder is removed. @returns the path of the copies */
export async function saveLogs(layout: StackLayout): Promise<string> {
  const saved = await mkdtemp(join(tmpdir(), 'durable-operator-logs-'));
  await cp(layout.logs, saved, { recursive: true });
  return saved;
}
