import { Pool, ProxyAgent, type Dispatcher } from 'undici';
import type { TlsSettings } from './credentials.ts';

/** Open connections to one API server. */
export interface Transport {
  readonly requests: Dispatcher;
  /** Apart, so that a hundred watches never keep a request waiting. */
  readonly watches: Dispatcher;
}

export interface TransportTarget {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly proxyUrl?: string | undefined;
  /** Most connections for requests. */
  readonly connections: number;
}

/**
 * Below the 60 s after which common load balancers drop an idle connection, and the API server's own 90 s;
 * a request on a connection that is just being dropped would fail.
 */
const KEEP_ALIVE_MS = 45_000;

export function openTransport(target: TransportTarget, tls: TlsSettings): Transport {
  return {
    requests: openDispatcher(target, tls, target.connections),
    watches: openDispatcher(target, tls, null),
  };
}

/** Requests under way are finished, watches are broken: they resume on the next transport. */
export async function closeTransport(transport: Transport): Promise<void> {
  await Promise.all([transport.requests.close(), transport.watches.destroy()]);
}

function openDispatcher(target: TransportTarget, tls: TlsSettings, connections: number | null): Dispatcher {
  // TCP keep-alive finds peers that vanished without a word; 30 s as client-go.
  const connect = { ...tls, keepAlive: true, keepAliveInitialDelay: 30_000 };
  const options = { connections, pipelining: 1, allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS };
  if (target.proxyUrl === undefined) return new Pool(target.origin, { ...options, connect });
  return new ProxyAgent({ ...options, uri: proxyUri(target.proxyUrl), requestTls: connect });
}

/** undici knows `socks5:` alone, and always lets the proxy resolve names, as `socks5h:` asks. */
function proxyUri(proxyUrl: string): string {
  return proxyUrl.replace(/^socks5h:/, 'socks5:');
}
