import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import type { KubeConfig } from '@kubernetes/client-node';
import {
  createKubernetesClient,
  type ClientOptions,
  type KubernetesClient,
  type WatchEvent,
} from '../../src/kubernetes/client.ts';
import { AnswerTooLong, ApiError } from '../../src/kubernetes/errors.ts';
import { eventually } from '../../testing/eventually.ts';
import { aRecordingTelemetry } from '../support/recording-telemetry.ts';
import {
  answerJson,
  answerText,
  aStatus,
  FakeApiServer,
  neverAnswer,
  reset,
  type Handler,
} from '../support/fake-api-server.ts';

const POD = '/api/v1/namespaces/default/pods/web';
const NOT_FOUND = aStatus(404, {
  reason: 'NotFound',
  message: 'pods "web" not found',
  details: { name: 'web', kind: 'pods' },
});

let server: FakeApiServer;
const clients: KubernetesClient[] = [];

beforeEach(async () => {
  server = await FakeApiServer.start();
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await server.stop();
});

function aClient(options: ClientOptions = {}, config: KubeConfig = server.kubeConfig()): KubernetesClient {
  const client = createKubernetesClient(config, options);
  clients.push(client);
  return client;
}

/** What the promise is rejected with. */
async function failureOf(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ApiError) return error;
  throw new Error(`no ApiError but ${String(error)}`);
}

async function eventsOf(watch: AsyncIterable<WatchEvent>): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  for await (const event of watch) events.push(event);
  return events;
}

function event(name: string): WatchEvent {
  return { type: 'ADDED', object: { metadata: { name, uid: name, resourceVersion: '1' } } };
}

/** Opens a watch and leaves it open. */
const openWatch: Handler = (_, response) => {
  response.writeHead(200);
  response.write(`${JSON.stringify(event('a'))}\n`);
};

describe('request', () => {
  it('sends what was asked, and gives back the parsed body', async () => {
    server.handle(answerJson(201, { metadata: { name: 'web' } }));
    const answer = await aClient({ version: '1.2.3' }).request({
      method: 'POST',
      path: '/api/v1/namespaces/default/pods',
      query: { dryRun: 'All', limit: 5, absent: undefined, labelSelector: 'a in (b, ü)' },
      body: { metadata: { name: 'web' } },
    });
    expect(answer).toEqual({ metadata: { name: 'web' } });
    const { method, url, headers, body } = server.lastRequest;
    expect(method).toBe('POST');
    expect(url.pathname).toBe('/api/v1/namespaces/default/pods');
    expect([...url.searchParams]).toEqual([
      ['dryRun', 'All'],
      ['limit', '5'],
      ['labelSelector', 'a in (b, ü)'],
    ]);
    expect(JSON.parse(body)).toEqual({ metadata: { name: 'web' } });
    expect(headers).toMatchObject({
      accept: 'application/json',
      authorization: 'Bearer secret-token',
      'content-type': 'application/json',
      'user-agent': 'durable-operator/1.2.3',
    });
  });

  it('writes in the name of the program, which the API server takes for the field manager', async () => {
    const own = createKubernetesClient(server.kubeConfig(), { program: 'bucket-operator', version: '1.2.3' });
    server.handle(answerJson(200, {}));
    await own.request({ method: 'GET', path: '/version' });
    expect(server.requests.at(-1)?.headers['user-agent']).toBe('bucket-operator/1.2.3');
    expect(own.fieldManager).toBe('bucket-operator');
    await own.close();
  });

  it('reads an answer that comes in pieces, cut within a character', async () => {
    const body = Buffer.from(JSON.stringify({ name: 'schön 🎉' }));
    server.handle((_, response) => {
      response.writeHead(200);
      for (const byte of body) response.write(Buffer.of(byte));
      response.end();
    });
    expect(await aClient().request({ method: 'GET', path: POD })).toEqual({ name: 'schön 🎉' });
  });

  it('throws what the server said, classified, and never the token', async () => {
    server.handle(answerJson(404, NOT_FOUND));
    const error = await failureOf(aClient().request({ method: 'GET', path: POD }));
    expect(error).toMatchObject({ classification: 'not-found', status: 404, reason: 'NotFound' });
    expect(error.message).toBe(`GET ${POD}: 404 pods "web" not found`);
    expect(`${String(error.stack)} ${JSON.stringify(error)}`).not.toContain('secret-token');
  });

  it.each([
    ['is reset', reset],
    ['is no JSON', answerText(200, '<html>')],
    ['is half', ((_, response) => response.write('{', () => response.destroy())) satisfies Handler],
  ])('does not know the outcome where the answer %s', async (_, handler) => {
    server.handle(handler);
    expect(await failureOf(aClient().request({ method: 'GET', path: POD }))).toMatchObject({
      classification: 'unavailable',
      status: undefined,
    });
  });

  it('gives up after its time limit, and drops the connection', async () => {
    server.handle(neverAnswer);
    const error = await failureOf(aClient().request({ method: 'GET', path: POD, timeoutMs: 20 }));
    expect(error).toMatchObject({ classification: 'unavailable', status: undefined });
    expect(error.message).toBe(`GET ${POD}: no response within 20 ms`);
    await eventually(() => server.openConnections === 0);
  });

  it('reads no more of a body than it may, and drops the connection', async () => {
    server.handle((_, response) => response.writeHead(200).write('x'.repeat(2_000)));
    const asking = aClient().request({ method: 'GET', path: POD, maxBytes: 1_000 });
    await expect(asking).rejects.toThrow(AnswerTooLong);
    await eventually(() => server.openConnections === 0);
  });

  it('is ended by its signal, before and while it runs', async () => {
    server.handle(neverAnswer);
    const client = aClient();
    const abort = new AbortController();
    const running = failureOf(client.request({ method: 'GET', path: POD, signal: abort.signal }));
    await eventually(() => server.requests.length === 1);
    abort.abort();
    expect((await running).message).toContain('aborted');
    const late = await failureOf(client.request({ method: 'GET', path: POD, signal: abort.signal }));
    expect(late.message).toContain('aborted');
    await eventually(() => server.openConnections === 0);
    expect(server.requests).toHaveLength(1);
  });
});

describe('connections', () => {
  // A second one is opened where a request follows in the very moment the first connection is about to be free.
  it('one after the other, requests share two at most', async () => {
    const client = aClient();
    for (let i = 0; i < 50; i += 1) await client.request({ method: 'GET', path: POD });
    expect(server.connectionsEver).toBeLessThanOrEqual(2);
  });

  it('of watches are their own, so that requests never wait for them', async () => {
    const client = aClient({ connections: 1 });
    server.handle(openWatch);
    const abort = new AbortController();
    const watches = Array.from({ length: 5 }, () =>
      eventsOf(client.watch({ path: '/api/v1/pods', signal: abort.signal })),
    );
    await eventually(() => server.requests.length === 5);
    server.handle(answerJson(200, { ok: true }));
    expect(await client.request({ method: 'GET', path: POD })).toEqual({ ok: true });
    abort.abort();
    await Promise.all(watches);
  });

  it('are new where a request asks for one of its own, which is closed afterwards', async () => {
    const client = aClient();
    await client.request({ method: 'GET', path: POD });
    const [open, ever] = [server.openConnections, server.connectionsEver];
    await client.request({ method: 'GET', path: POD, onNewConnection: true });
    expect(server.connectionsEver).toBe(ever + 1);
    await eventually(() => server.openConnections === open);
  });

  it('are new after a reconnect, which ends open watches and no request', async () => {
    const client = aClient();
    server.handle(openWatch);
    const watch = failureOf(eventsOf(client.watch({ path: '/api/v1/pods' })));
    await eventually(() => server.requests.length === 1);
    let answer = (): void => undefined;
    server.handle((request, response) => (answer = () => answerJson(200, { ok: true })(request, response)));
    const asked = client.request({ method: 'GET', path: POD });
    await eventually(() => server.requests.length === 2);
    const ever = server.connectionsEver;
    client.reconnect?.();
    expect((await watch).classification).toBe('unavailable');
    answer();
    expect(await asked).toEqual({ ok: true });
    server.handle(answerJson(200, {}));
    await client.request({ method: 'GET', path: POD });
    expect(server.connectionsEver).toBe(ever + 1);
  });

  it('are all closed by close', async () => {
    const client = aClient();
    await client.request({ method: 'GET', path: POD });
    server.handle(openWatch);
    const watch = failureOf(eventsOf(client.watch({ path: '/api/v1/pods' })));
    await eventually(() => server.requests.length === 2);
    await client.close();
    expect((await watch).classification).toBe('unavailable');
    await eventually(() => server.openConnections === 0);
  });
});

describe('close', () => {
  it('waits for open requests', async () => {
    const client = aClient();
    const answers: (() => void)[] = [];
    server.handle((request, response) =>
      answers.push(() => answerJson(200, { ok: true })(request, response)),
    );
    const request = client.request({ method: 'GET', path: POD });
    await eventually(() => answers.length === 1);
    const closed = client.close();
    answers[0]?.();
    expect(await request).toEqual({ ok: true });
    await closed;
  });

  it('ends open requests after the grace, also those that wait for a connection', async () => {
    const client = aClient({ connections: 1 });
    server.handle(neverAnswer);
    const failures = [POD, POD].map((path) => failureOf(client.request({ method: 'GET', path })));
    await eventually(() => server.requests.length === 1);
    await client.close(0);
    expect((await Promise.all(failures)).map(({ classification }) => classification)).toEqual([
      'unavailable',
      'unavailable',
    ]);
  });
});

describe('watch', () => {
  const EVENTS = [event('a'), event('schön 🎉 \u2028 and \u2029')];
  const BYTES = Buffer.from(EVENTS.map((each) => `${JSON.stringify(each)}\n`).join(''));

  it('gives the events in order until the server ends it', async () => {
    server.handle((_, response) => response.writeHead(200).end(BYTES));
    expect(await eventsOf(aClient().watch({ path: '/api/v1/pods', query: { limit: 1 } }))).toEqual(EVENTS);
    expect(server.lastRequest.url.search).toBe('?limit=1&watch=1');
  });

  it('gives the same events wherever the bytes are cut, within a character too', async () => {
    const client = aClient();
    for (let at = 0; at < BYTES.length; at += 1) {
      let sendRest = (): void => undefined;
      server.handle((_, response) => {
        response.writeHead(200);
        response.write(Buffer.concat([Buffer.from('{"type":"BOOKMARK"}\n'), BYTES.subarray(0, at)]));
        sendRest = () => response.end(BYTES.subarray(at));
      });
      const events: WatchEvent[] = [];
      for await (const each of client.watch({ path: '/api/v1/pods' })) {
        // Only once the first part has been read: else both would come in one piece.
        if (each.type === 'BOOKMARK') sendRest();
        else events.push(each);
      }
      expect(events).toEqual(EVENTS);
    }
  });

  it('throws where a line is not JSON, without quoting it', async () => {
    server.handle(answerText(200, 's3cret\n'));
    const error = await failureOf(eventsOf(aClient().watch({ path: '/api/v1/pods' })));
    expect(error).toMatchObject({
      classification: 'unavailable',
      message: 'WATCH /api/v1/pods: the response is not JSON',
    });
    expect(inspect(error)).not.toContain('s3cret');
  });

  it('throws where an event says so, and counts it like a refusal', async () => {
    const telemetry = aRecordingTelemetry();
    const status = aStatus(410, { reason: 'Expired', message: 'too old resource version' });
    server.handle((_, response) =>
      response
        .writeHead(200)
        .end(`${BYTES.toString()}${JSON.stringify({ type: 'ERROR', object: status })}\n`),
    );
    const seen: unknown[] = [];
    const watch = (async () => {
      for await (const each of aClient({ telemetry }).watch({ path: '/api/v1/pods' })) seen.push(each);
    })();
    const error = await failureOf(watch);
    expect(error).toMatchObject({ classification: 'expired', status: 410 });
    expect(error.message).toBe('WATCH /api/v1/pods: 410 too old resource version');
    expect(seen).toEqual(EVENTS);
    expect(telemetry.told).toContain('error: expired');
  });

  it.each([
    ['is reset', (() => server.resetConnections()) satisfies () => void],
    ['ends in the middle of an event', undefined],
  ])('throws where it %s', async (_, interrupt) => {
    server.handle((_request, response) => {
      response.writeHead(200);
      response.write(BYTES.subarray(0, BYTES.length - 3));
      if (!interrupt) response.end();
    });
    const seen: string[] = [];
    const watch = (async () => {
      for await (const { object } of aClient().watch({ path: '/api/v1/pods' })) {
        seen.push(object.metadata.name);
        interrupt?.();
      }
    })();
    expect(await failureOf(watch)).toMatchObject({ classification: 'unavailable', status: undefined });
    expect(seen).toEqual(['a']);
  });

  it('drops its connection where the reader leaves', async () => {
    server.handle(openWatch);
    for await (const { object } of aClient().watch({ path: '/api/v1/pods' })) {
      expect(object.metadata.name).toBe('a');
      break;
    }
    await eventually(() => server.openConnections === 0);
  });

  it('ends quietly by its signal, and drops its connection', async () => {
    server.handle(openWatch);
    const abort = new AbortController();
    const watch = eventsOf(aClient().watch({ path: '/api/v1/pods', signal: abort.signal }));
    await eventually(() => server.requests.length === 1);
    abort.abort();
    await watch;
    await eventually(() => server.openConnections === 0);
  });
});

describe('who observes', () => {
  it('is told of each request and its answer, without the query', async () => {
    const telemetry = aRecordingTelemetry();
    server.handle(answerJson(409, aStatus(409, { reason: 'Conflict', message: 'changed meanwhile' })));
    await failureOf(aClient({ telemetry }).request({ method: 'PATCH', path: POD, query: { force: true } }));
    expect(telemetry.requests).toEqual([
      { method: 'PATCH', path: POD, host: `127.0.0.1:${server.port}`, isWatch: false },
    ]);
    expect(telemetry.told).toEqual(['answered 409', 'error: conflict']);
  });

  it('is told what the error of a watch means', async () => {
    const telemetry = aRecordingTelemetry();
    server.handle(answerJson(404, aStatus(404, { reason: 'NotFound', message: 'no such API' })));
    await expect(eventsOf(aClient({ telemetry }).watch({ path: '/apis/none/v1/things' }))).rejects.toThrow();
    expect(telemetry.told).toEqual(['answered 404', 'error: api-missing']);
  });
});
