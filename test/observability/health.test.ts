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

  it('checks again on every request', async () => {
    health = { live: [], ready: ['not yet'] };
    expect((await ask('/readyz')).status).toBe(503);
    health = { live: [], ready: [] };
    expect((await ask('/readyz')).status).toBe(200);
  });

  it('puts a problem of several lines on one line', async () => {
    health = { live: [], ready: ['first\r\n  second', 'third'] };
    expect((await ask('/readyz')).body).toBe('first second\nthird\n');
  });

  it('answers HEAD with the same status and length, without a body', async () => {
    health = { live: [], ready: ['not yet'] };
    const response = await fetch(`${server.url}/readyz`, { method: 'HEAD' });
    expect(response.status).toBe(503);
    expect(response.headers.get('content-length')).toBe(String('not yet\n'.length));
    expect(await response.text()).toBe('');
  });

  it.each(['/', '/metrics', '/healthz/', '/healthzz'])('answers %s with 404', async (path) => {
    expect((await ask(path)).status).toBe(404);
  });

  it('rejects other methods, and names those that it allows', async () => {
    const response = await fetch(`${server.url}/healthz`, { method: 'POST' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('forbids caching', async () => {
    const response = await fetch(`${server.url}/healthz`);
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  it('counts a check that throws as a problem', async () => {
    const throwing = await startHealthServer({
      address: LOOPBACK,
      log: silent,
      health: () => {
        throw new Error('no such watch');
      },
    });
    const response = await fetch(`${throwing.url}/healthz`);
    expect([response.status, await response.text()]).toEqual([503, 'a health check failed: no such watch\n']);
    await throwing.close();
  });

  it('stops answering once closed, and can be closed twice', async () => {
    await ask('/healthz');
    await server.close();
    await server.close();
    await expect(ask('/healthz')).rejects.toThrow();
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

  it('is reported if the machine has no such address', async () => {
    await expect(start({ host: '192.0.2.1', port: 0 })).rejects.toThrow(
      'cannot serve health: listen EADDRNOTAVAIL',
    );
  });
});
