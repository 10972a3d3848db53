import { cp, readFile, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { buildServers } from '../local/build.ts';
import { freePort } from '../local/ports.ts';
import { SERVER_ARGUMENTS } from '../local/server-commands.ts';
import { layoutOf, LOOPBACK, type StackPorts } from '../local/stack-folder.ts';
import { TestCluster } from '../test/support/cluster.ts';
import type { InstalledStack } from '../test/support/installed-stack.ts';

/** It waits up to 60 s for watches that hang on it. */
const API_SERVER_GRACE_MS = 90_000;

/** Two API servers behind one address. The second one has an etcd of its own, with the state of an earlier time. */
export class Failover {
  readonly #stack: InstalledStack;
  readonly #door = new Door();
  #kubeconfig = '';

  constructor(stack: InstalledStack) {
    this.#stack = stack;
  }

  /** Of the address: it leads to the first API server until {@link failOver}. */
  get kubeconfig(): string {
    return this.#kubeconfig;
  }

  /** Saves what etcd has now, which stops it for a moment, and starts the first API server. */
  async start(): Promise<void> {
    await this.#stack.stopServer('etcd');
    await cp(layoutOf(this.#stack.dir).etcdData, this.#savedData, { recursive: true });
    await this.#stack.startServer('etcd');
    this.#door.to = await this.#startApiServer('first-api-server', this.#stack.ports);
    this.#kubeconfig = await this.#kubeconfigAt(await this.#door.open());
  }

  /**
   * Starts the second API server. New connections lead to it, and what hangs on the first one stays.
   *
   * @returns a client of the second one
   */
  async failOver(): Promise<TestCluster> {
    const ports = {
      ...this.#stack.ports,
      etcdClient: await freePort(),
      etcdPeer: await freePort(),
    };
    const layout = { ...layoutOf(this.#stack.dir), etcdData: this.#savedData };
    const { etcd: command } = await buildServers({});
    const args = [...SERVER_ARGUMENTS.etcd({ layout, ports, audit: false }), '--force-new-cluster'];
    this.#stack.startCompanion({ name: 'second-etcd', command, args });
    this.#door.to = await this.#startApiServer('second-api-server', ports);
    return new TestCluster(await this.#kubeconfigAt(this.#door.to));
  }

  /** The first API server ends as at a rollout. Resolves when it is gone: its watches ended before. */
  async endFirst(): Promise<void> {
    await this.#stack.stopServer('first-api-server');
  }

  close(): void {
    this.#door.close();
  }

  get #savedData(): string {
    return join(this.#stack.dir, 'etcd.saved');
  }

  async #startApiServer(name: string, ports: StackPorts): Promise<number> {
    const { 'kube-apiserver': command } = await buildServers({});
    const port = await freePort();
    const context = { layout: layoutOf(this.#stack.dir), ports: { ...ports, apiServer: port }, audit: false };
    const args = SERVER_ARGUMENTS['kube-apiserver'](context);
    this.#stack.startCompanion({ name, command, args, graceMs: API_SERVER_GRACE_MS });
    return port;
  }

  async #kubeconfigAt(port: number): Promise<string> {
    const { dir, kubeconfig, ports } = this.#stack;
    const file = join(dir, `kubeconfig-at-${port}`);
    const text = (await readFile(kubeconfig, 'utf8')).replaceAll(`:${ports.apiServer}`, `:${port}`);
    await writeFile(file, text, { mode: 0o600 });
    return file;
  }
}

/** Passes each new connection on to where it leads now. */
class Door {
  to = 0;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((incoming) => {
    const outgoing = connect(this.to, LOOPBACK);
    for (const socket of [incoming, outgoing]) this.#keep(socket);
    incoming.pipe(outgoing).pipe(incoming);
  });

  /** @returns its port */
  async open(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, LOOPBACK, resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
  }
}
