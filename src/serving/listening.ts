import type { Server } from 'node:http';
import { isIPv6 } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { ListenAddress } from '../config.ts';
import { ConfigurationError } from '../contract/configuration-error.ts';
import type { Logger } from '../contract/logger.ts';

/** A server that listens. */
export interface Listening {
  /** Where it answers, with the real port: `http://127.0.0.1:9098`. */
  readonly url: string;
  /** Stops listening and drops open connections. Safe to repeat. */
  close(): Promise<void>;
}

export interface ListenOptions {
  /** Port 0 is any free port. */
  readonly address: ListenAddress;
  /** For people: `health`, `metrics`. */
  readonly serves: string;
  /** The option that says where to listen, for people. */
  readonly flag: string;
  readonly log: Logger;
}

/** @throws ConfigurationError where the address cannot be listened on; it says which and what to do */
export async function listen(server: Server, options: ListenOptions): Promise<Listening> {
  const { serves, log } = options;
  await bind(server, options);
  server.on('error', (err) => log.error({ err }, `the server of ${serves} failed`));
  const url = urlOf(server, options.address.host);
  log.debug({ url }, `serving ${serves}`);
  return { url, close: () => close(server) };
}

function bind(server: Server, options: ListenOptions): Promise<void> {
  const { host, port } = options.address;
  return new Promise((resolve, reject) => {
    const fail = (err: NodeJS.ErrnoException) => reject(cannotListen(options, err));
    server.once('error', fail);
    // Without a host, Node listens on every interface, IPv6 and IPv4 where both exist.
    server.listen({ port, ...(host === '' ? {} : { host }) }, () => {
      server.off('error', fail);
      resolve();
    });
  });
}

function cannotListen(
  { address, serves, flag }: ListenOptions,
  err: NodeJS.ErrnoException,
): ConfigurationError {
  const advice = `set ${flag} to another address, or to 0 to do without`;
  const where = `${address.host}:${address.port}`;
  return new ConfigurationError(`cannot serve ${serves} on ${where}: ${whyNot(err)}; ${advice}`, {
    cause: err,
  });
}

function whyNot(err: NodeJS.ErrnoException): string {
  switch (err.code) {
    case 'EADDRINUSE':
      return 'the port is in use';
    case 'EACCES':
      return 'this user may not listen on that port';
    case 'EADDRNOTAVAIL':
      return 'this machine has no such address';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the host name is unknown';
    case undefined:
    default:
      return err.message;
  }
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // An error here means that it was not running any more, which is what is wanted.
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function urlOf(server: Server, host: string): string {
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  const reachable = host === '' ? 'localhost' : host;
  const scheme = server instanceof TlsServer ? 'https' : 'http';
  return `${scheme}://${isIPv6(reachable) ? `[${reachable}]` : reachable}:${port}`;
}
