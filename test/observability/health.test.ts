import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { startHealthServer, type Health } from '../../src/observability/health.ts';
import type { ListeningServer } from '../../src/observability/http-server.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

const LOOPBACK = { host: '127.0.0.1', port: 0 };

describe('the health server', () => {
  let health: Health;
  let server: ListeningServer;

  beforeEach(async () => {
    health = { live: [], ready: [] };
    server = await startHealthServer({ address: LOOPBACK, health: () => health, log: aRecordingLogger() });
  });

  afterEach(() => server.close());

  async function ask(path: string) {
    const response = await fetch(server.url + path);
    return { status: response.status, body: await response.text() };
  }

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
    expect(await ask('/healthz?verbose')).toEqual({ status: 200, body: 'ok\n' });
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
