import type { ConnectOptions, DispatcherOptions } from '@kubernetes/client-node';
import { Pool, ProxyAgent, type Dispatcher } from 'undici';

export interface ConnectionsOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Most connections of one pool. */
  readonly connections: number;
}

/** The connections that are made with the same certificates, through the same proxy. */
export class Connections {
  /** Apart, so that a hundred watches never keep a request waiting. */
  readonly watches: Dispatcher;
  readonly #pools = new Map<string, Dispatcher>();
  readonly #options: ConnectionsOptions;
  readonly #dispatcher: DispatcherOptions;
  #isClosed = false;

  constructor(options: ConnectionsOptions, dispatcher: DispatcherOptions) {
    this.#options = options;
    this.#dispatcher = dispatcher;
    this.watches = openDispatcher(options.origin, dispatcher, null);
  }

  /** For requests: they wait for those of their own pool alone. @throws Error where they are closed */
  pool(name: string): Dispatcher {
    const open = this.#pools.get(name);
    if (open !== undefined) return open;
    if (this.#isClosed) throw new Error('the connections are closed');
    const { origin, connections } = this.#options;
    const pool = openDispatcher(origin, this.#dispatcher, connections);
    this.#pools.set(name, pool);
    return pool;
  }

  /** Ends open watches, and open requests after graceMs; without it, they take as long as they take. */
  async close(graceMs?: number): Promise<void> {
    this.#isClosed = true;
    const pools = [...this.#pools.values()];
    const cutOff = () => void Promise.all(pools.map((pool) => pool.destroy()));
    const grace = graceMs === undefined ? undefined : setTimeout(cutOff, graceMs);
    await Promise.all([this.watches.destroy(), ...pools.map((pool) => pool.close())]);
    clearTimeout(grace);
  }
}

/**
 * Below the 60 s after which common load balancers drop an idle connection, and the API server's own 90 s;
 * a request on a connection that is just being dropped would fail.
 */
const KEEP_ALIVE_MS = 45_000;

function openDispatcher(origin: string, options: DispatcherOptions, connections: number | null): Dispatcher {
  const pool = { connections, allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS };
  switch (options.type) {
    case 'none':
      return new Pool(origin, pool);
    case 'agent':
      return new Pool(origin, { ...pool, connect: forUndici(options.connect) });
    case 'proxy':
    case 'socks': {
      // undici knows `socks5:` alone, and always lets the proxy resolve names, as `socks5h:` asks.
      const uri = options.uri.replace(/^socks5h:/, 'socks5:');
      return new ProxyAgent({ ...pool, uri, requestTls: forUndici(options.requestTls) });
    }
  }
}

/** client-node sets neither, and its type lets them be undefined where undici's does not. */
function forUndici(connect: ConnectOptions): Omit<ConnectOptions, 'port' | 'timeout'> {
  return connect;
}
