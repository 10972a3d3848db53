import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { ConfigurationError } from '../../src/contract/configuration-error.ts';
import type { Logger } from '../../src/contract/logger.ts';
import { startHealthServer, type Health } from '../../src/observability/health.ts';
import type { ListeningServer } from '../../src/observability/http-server.ts';

const LOOPBACK = { host: '127.0.0.1', port: 0 };

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};

describe('the health server', () => {
  let health: Health;
  let server: ListeningServer;

  beforeEach(async () => {
    health = { live: [], ready: [] };
    server = await startHealthServer({ address: LOOPBACK, health: () => health, log: silent });
  });

  afterEach(() => server.close());

  async function ask(path: string, method = 'GET') {
    const response = await fetch(server.url + path, { method });
    return { status: response.status, body: await response.text() };
  }

  it.each(['/healthz', '/readyz', '/readyz?verbose'])(
    'answers GET %s with ok if there is no problem',
    async (path) => {
      expect(await ask(path)).toEqual({ status: 200, body: 'ok\n' });
    },
  );

  it('answers /readyz with one line per readiness problem', async () => {
    health = {
      live: ['the event loop hangs'],
      ready: ['Temporal is unreachable', 'pods are not listed yet'],
    };
    expect(await ask('/readyz')).toEqual({
      status: 503,
      body: 'Temporal is unreachable\npods are not listed yet\n',
    });
  });

  it('answers /healthz with liveness problems only', async () => {
    health = { live: [], ready: ['Temporal is unreachable'] };
    expect(await ask('/healthz')).toEqual({ status: 200, body: 'ok\n' });
    health = { live: ['the event loop hangs'], ready: [] };
    expect(await ask('/healthz')).toEqual({ status: 503, body: 'the event loop hangs\n' });
  });

  it('closes without waiting for a connection that sends nothing', async () => {
    const silentClient = connect(Number(new URL(server.url).port), '127.0.0.1');
    await once(silentClient, 'connect');
    // Connections are accepted in order: after this answer the silent one is the server's, too.
    await ask('/healthz');
    const dropped = once(silentClient, 'close');
    silentClient.on('error', () => undefined);
    await server.close();
    await dropped;
  });
});

describe('a health address that cannot be listened on', () => {
  let occupant: Server;
  let port: number;

  beforeEach(async () => {
    occupant = createServer();
    await new Promise<void>((resolve) => occupant.listen(0, '127.0.0.1', resolve));
    const address = occupant.address();
    port = typeof address === 'object' && address !== null ? address.port : 0;
  });

  afterEach(() => new Promise((resolve) => occupant.close(resolve)));

  const start = (address: { host: string; port: number }) =>
    startHealthServer({ address, health: () => ({ live: [], ready: [] }), log: silent });

  it('is reported with the reason, the address and the flag', async () => {
    const failure = start({ host: '127.0.0.1', port });
    await expect(failure).rejects.toBeInstanceOf(ConfigurationError);
    await expect(failure).rejects.toThrow(
      `cannot serve health: listen EADDRINUSE: address already in use 127.0.0.1:${port}; set --health-addr to another address`,
    );
  });
});
