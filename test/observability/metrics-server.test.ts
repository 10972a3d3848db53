import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { TLSSocket } from 'node:tls';
import { z } from 'zod';
import { ConfigurationError } from '../../src/config/configuration-error.ts';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import type { ListeningServer } from '../../src/observability/http-server.ts';
import { metricsAccess } from '../../src/observability/metrics-access.ts';
import { startMetricsServer, type MetricsServerOptions } from '../../src/observability/metrics-server.ts';
import { answerJson, aStatus, FakeApiServer, reset, type Handler } from '../support/fake-api-server.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';
import { aCertificateAuthority } from '../support/certificate-authority.ts';

const LOOPBACK = { host: '127.0.0.1', port: 0 };
const METRICS = { contentType: 'text/plain; version=0.0.4', body: 'up 1\n' };
const READER = 'Bearer a-token-that-may';

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** The server's certificate, over TLS. */
  readonly certificate: X509Certificate | undefined;
}

let api: FakeApiServer;
let client: KubernetesClient;
let log: ReturnType<typeof aRecordingLogger>;
let server: ListeningServer | undefined;

beforeEach(async () => {
  api = await FakeApiServer.start(reviewing());
  client = createKubernetesClient(api.kubeConfig());
  log = aRecordingLogger();
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  await client.close();
  await api.stop();
});

async function start(options: Partial<MetricsServerOptions> = {}): Promise<ListeningServer> {
  const scrape = () => Promise.resolve(METRICS);
  const started = await startMetricsServer({
    address: LOOPBACK,
    secure: false,
    client,
    scrape,
    log,
    ...options,
  });
  server = started;
  return started;
}

/** Each on a connection of its own. */
async function ask(authorization?: string): Promise<Answer> {
  const url = new URL('/metrics', server?.url);
  const headers = authorization === undefined ? {} : { authorization };
  const options = { headers, agent: false, rejectUnauthorized: false };
  const sent = url.protocol === 'https:' ? tlsRequest(url, options) : httpRequest(url, options);
  const [response] = z.tuple([z.custom<IncomingMessage>()]).parse(await once(sent.end(), 'response'));
  const { socket, headers: answered, statusCode: status = 0 } = response;
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  return { status, headers: answered, body: await text(response), certificate };
}

const Review = z.object({ spec: z.object({ token: z.string().optional(), user: z.string().optional() }) });

/** As the API server answers: it knows three tokens, and lets the owner of one of them read. */
function reviewing(): Handler {
  return (received, response) => {
    const { spec } = Review.parse(JSON.parse(received.body));
    if (received.url.pathname === '/apis/authentication.k8s.io/v1/tokenreviews') {
      const known = ['a-token-that-may', 'another-that-may', 'one-that-may-not'].includes(spec.token ?? '');
      const user = { username: `owner of ${spec.token ?? ''}`, groups: ['g'], extra: { e: ['v'] } };
      const status = known ? { authenticated: true, user } : { error: 'invalid bearer token' };
      answerJson(201, { kind: 'TokenReview', status })(received, response);
    } else {
      const allowed = !(spec.user?.endsWith('may-not') ?? true);
      answerJson(201, { kind: 'SubjectAccessReview', status: { allowed } })(received, response);
    }
  };
}

describe('the metrics server', () => {
  it('answers with the metrics, and names the option if it cannot listen on its address', async () => {
    const { url } = await start();
    const { status, headers, body } = await ask();
    expect([status, headers['content-type'], body]).toEqual([200, METRICS.contentType, METRICS.body]);
    const port = Number(new URL(url).port);
    const second = start({ address: { host: '127.0.0.1', port } });
    await expect(second).rejects.toBeInstanceOf(ConfigurationError);
    await expect(second).rejects.toThrow(
      `address already in use 127.0.0.1:${port}; set --metrics-addr to another address`,
    );
  });
});

describe('the secure metrics server', () => {
  it('serves clients that the API server allows to get /metrics', async () => {
    await start({ secure: true });
    const { status, body } = await ask(READER);
    expect([status, body]).toEqual([200, METRICS.body]);
  });

  it.each([
    ['no token', undefined],
    ['another scheme', 'Basic dXNlcjpwYXNz'],
    ['an empty token', 'Bearer '],
    ['two tokens', 'Bearer a-token-that-may another-that-may'],
    ['a token that nobody has', 'Bearer of-nobody'],
  ])('answers 401 to %s', async (_, authorization) => {
    await start({ secure: true });
    const { status, headers, body } = await ask(authorization);
    expect([status, headers['www-authenticate'], body]).toEqual([401, 'Bearer', 'unauthorized\n']);
  });

  it('answers 403 to a token whose owner may not read metrics', async () => {
    await start({ secure: true });
    expect(await ask('Bearer one-that-may-not')).toMatchObject({ status: 403, body: 'forbidden\n' });
  });

  it.each([
    ['does not answer', reset],
    ['answers something else', answerJson(201, { status: { authenticated: 'yes' } })],
    ['does not let us ask', answerJson(403, aStatus(403, { message: 'forbidden: User "us" cannot create' }))],
  ])('answers 503, and shows nothing, while the API server %s', async (_, handler) => {
    api.handle(handler);
    await start({ secure: true });
    const { status, body } = await ask(READER);
    expect([status, body]).toEqual([503, 'cannot check access with the API server\n']);
  });

  it('logs once why nobody can read and what to do, and never the token', async () => {
    const message = 'forbidden: User "us" cannot create tokenreviews for a-token-that-may';
    api.handle(answerJson(403, aStatus(403, { message, reason: 'Forbidden' })));
    await start({ secure: true });
    await ask(READER);
    await ask(READER);
    const told = log.lines.filter(({ level }) => level === 'warn').map((line) => line.message);
    expect(told).toEqual([expect.stringContaining('bind the ClusterRole metrics-auth-role to the operator')]);
    expect(JSON.stringify(log.lines)).not.toContain('a-token-that-may');
  });

  it('does not answer without TLS', async () => {
    const { url } = await start({ secure: true });
    const sent = httpRequest(url.replace('https:', 'http:'), { path: '/metrics', agent: false });
    await expect(once(sent.end(), 'response')).rejects.toThrow();
  });
});

describe('access to metrics', () => {
  const START_MS = 1_000;

  it.each(['a-token-that-may', 'one-that-may-not', 'of-nobody'])(
    'of %s is reviewed once a minute',
    async (token) => {
      let nowMs = START_MS;
      const asked = metricsAccess({ client, log, now: () => nowMs });
      const first = await asked(token);
      const requests = api.requests.length;
      nowMs = START_MS + 60_000;
      expect(await asked(token)).toEqual(first);
      expect(api.requests).toHaveLength(requests);
      nowMs = START_MS + 60_001;
      expect(await asked(token)).toEqual(first);
      expect(api.requests).toHaveLength(2 * requests);
    },
  );
});

const authority = await aCertificateAuthority('ours');

describe('a certificate from files', () => {
  let certDir: string;
  beforeEach(async () => {
    certDir = await mkdtemp(join(tmpdir(), 'metrics-certificate-'));
    await put(await authority.issue('the first'));
  });
  afterEach(() => rm(certDir, { recursive: true }));

  /** Other inodes, as a Secret's next version has. */
  async function put({ key = '', cert = '' }: { cert?: string; key?: string }): Promise<void> {
    for (const [name, content] of Object.entries({ 'tls.key': key, 'tls.crt': cert })) {
      if (content === '') continue;
      await writeFile(join(certDir, 'next'), content);
      await rename(join(certDir, 'next'), join(certDir, name));
    }
  }
  const presented = async () => (await ask(READER)).certificate?.subject;

  it('is presented, the new one for connections made after the files changed', async () => {
    await start({ secure: true, certDir });
    expect(await presented()).toBe('CN=the first');
    await put(await authority.issue('the second'));
    expect(await presented()).toBe('CN=the second');
  });

  it.each([
    ['is missing', () => rm(join(certDir, 'tls.key')), 'tls.key'],
    ['is not a certificate', () => put({ cert: 'rubbish' }), 'cannot use the metrics certificate'],
    ['has another key', async () => put({ key: (await authority.issue('x')).key }), 'key values mismatch'],
  ])('is rejected at start, with what to do, if it %s', async (_, spoil, words) => {
    await spoil();
    const starting = start({ secure: true, certDir });
    await expect(starting).rejects.toBeInstanceOf(ConfigurationError);
    await expect(starting).rejects.toThrow(words);
    await expect(starting).rejects.toThrow('put tls.crt and tls.key there, or unset --metrics-cert-dir');
  });
});
