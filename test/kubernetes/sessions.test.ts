import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Cluster, User } from '@kubernetes/client-node';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../src/kubernetes/config.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { Sessions } from '../../src/kubernetes/sessions.ts';
import { answerJson, answerText, aStatus, FakeApiServer, type Handler } from '../support/fake-api-server.ts';
import { aCertificateAuthority } from '../support/certificate-authority.ts';
import { aConnectProxy } from '../support/connect-proxy.ts';

let directory: string;
let server: FakeApiServer;
const opened: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'credentials-'));
  server = await FakeApiServer.start();
  opened.push({ close: () => server.stop() });
});

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
  await rm(directory, { recursive: true });
});

function aClient(user: Partial<User>, cluster: Partial<Cluster> = {}, of = server): KubernetesClient {
  return open(createKubernetesClient(of.kubeConfig(user, cluster)));
}

function open(client: KubernetesClient): KubernetesClient {
  opened.push(client);
  return client;
}

function get(client: KubernetesClient): Promise<unknown> {
  return client.request({ method: 'GET', path: '/version' });
}

function inDirectory(name: string): string {
  return path.join(directory, name);
}

/** Accepts one token alone. */
function accepting(token: string): Handler {
  return (request, response) => {
    const isAccepted = request.headers.authorization === `Bearer ${token}`;
    const answer = isAccepted
      ? answerText(200, '{"type":"BOOKMARK"}\n')
      : answerJson(401, aStatus(401, { reason: 'Unauthorized', message: 'Unauthorized' }));
    answer(request, response);
  };
}

function tokensSent(): (string | undefined)[] {
  return server.requests.map(({ headers }) => headers.authorization);
}

async function aTokenFile(token: string): Promise<{ file: string; user: Partial<User> }> {
  const file = inDirectory('token');
  await writeFile(file, `${token}\n`);
  return { file, user: { authProvider: { name: 'tokenFile', config: { tokenFile: file } } } };
}

describe('a token file', () => {
  it('is read again where its token is rejected, and the request is made once more', async () => {
    const { file, user } = await aTokenFile('old');
    const client = aClient(user);
    server.handle(accepting('old'));
    await get(client);
    await writeFile(file, 'new\n');
    server.handle(accepting('new'));
    await get(client);
    await get(client);
    expect(tokensSent()).toEqual(['Bearer old', 'Bearer old', 'Bearer new', 'Bearer new']);
  });

  it('rotated under many requests at once lets each of them through', async () => {
    const { file, user } = await aTokenFile('old');
    const client = aClient(user);
    await get(client);
    await writeFile(file, 'new');
    server.handle(accepting('new'));
    await Promise.all(Array.from({ length: 50 }, () => get(client)));
    expect(tokensSent().filter((token) => token === 'Bearer new')).toHaveLength(50);
  });

  it('that is missing says so, without a request', async () => {
    const tokenFile = inDirectory('absent');
    const failure = get(aClient({ authProvider: { name: 'tokenFile', config: { tokenFile } } }));
    await expect(failure).rejects.toBeInstanceOf(ApiError);
    await expect(failure).rejects.toMatchObject({
      classification: 'access-denied',
      message: expect.stringContaining(tokenFile),
    });
    expect(server.requests).toEqual([]);
  });
});

describe('a session', () => {
  it('stays the same while nothing changes; a new token opens no new connections', async () => {
    const { file, user } = await aTokenFile('old');
    const sessions = new Sessions({
      kubeConfig: server.kubeConfig(user),
      origin: server.url,
      connections: 1,
    });
    opened.push(sessions);
    const first = await sessions.current();
    expect(await sessions.current()).toBe(first);
    expect(await sessions.otherThan(first)).toBeUndefined();
    await writeFile(file, 'new');
    const second = await sessions.otherThan(first);
    expect(second?.headers).toEqual({ authorization: 'Bearer new' });
    expect(second?.connections).toBe(first.connections);
    expect(await sessions.otherThan(first)).toBe(second);
  });
});

describe('other ways to authenticate', () => {
  it('an exec plugin runs once, and once more where its token is rejected', async () => {
    const runs = inDirectory('runs');
    const script = `
      const fs = require('node:fs');
      fs.appendFileSync(${JSON.stringify(runs)}, 'x');
      const token = 'token-' + fs.readFileSync(${JSON.stringify(runs)}, 'utf8').length;
      console.log(JSON.stringify({ kind: 'ExecCredential', status: { token } }));`;
    const client = aClient({ exec: { command: process.execPath, args: ['-e', script] } });
    server.handle(accepting('token-1'));
    await get(client);
    await get(client);
    expect(await readFile(runs, 'utf8')).toBe('x');
    server.handle(accepting('token-2'));
    await Promise.all(Array.from({ length: 20 }, () => get(client)));
    expect(await readFile(runs, 'utf8')).toBe('xx');
  });
});

const authority = await aCertificateAuthority('ours');

describe('TLS', () => {
  const caData = Buffer.from(authority.cert).toString('base64');

  async function aTlsServer(): Promise<FakeApiServer> {
    const ofServer = await authority.issue('server', { type: 'ip', value: '127.0.0.1' });
    const tls = { ...ofServer, requestCert: true, rejectUnauthorized: false, ca: authority.cert };
    const tlsServer = await FakeApiServer.start(undefined, tls);
    opened.push({ close: () => tlsServer.stop() });
    return tlsServer;
  }

  it('trusts the authority of the kubeconfig alone', async () => {
    const tlsServer = await aTlsServer();
    await get(aClient({}, { caData }, tlsServer));
    await expect(get(aClient({}, {}, tlsServer))).rejects.toMatchObject({
      classification: 'unavailable',
      message: expect.stringContaining('self-signed certificate in certificate chain'),
    });
    expect(tlsServer.requests).toHaveLength(1);
  });

  it('shows a client certificate, and after its rotation the new one on new connections', async () => {
    const [one, two] = [await authority.issue('client-one'), await authority.issue('client-two')];
    const tlsServer = await aTlsServer();
    const [certFile, keyFile] = [inDirectory('tls.crt'), inDirectory('tls.key')];
    await Promise.all([writeFile(certFile, one.cert), writeFile(keyFile, one.key)]);
    const client = aClient({ certFile, keyFile }, { caData }, tlsServer);
    await get(client);
    await Promise.all([writeFile(certFile, two.cert), writeFile(keyFile, two.key)]);
    tlsServer.handle((request, response) => {
      const status = request.clientName === 'client-two' ? 200 : 401;
      answerJson(status, {})(request, response);
    });
    await get(client);
    expect(tlsServer.requests.map(({ clientName }) => clientName)).toEqual([
      'client-one',
      'client-one',
      'client-two',
    ]);
  });

  it('goes through the proxy of the kubeconfig', async () => {
    const tlsServer = await aTlsServer();
    const proxy = await aConnectProxy(tlsServer.port);
    opened.push(proxy);
    await get(aClient({}, { caData, proxyUrl: proxy.url }, tlsServer));
    expect(proxy.tunnels).toEqual([{ to: `127.0.0.1:${tlsServer.port}` }]);
    expect(tlsServer.requests).toHaveLength(1);
  });

  it('goes through the proxy of the environment: requests and watches, with the credentials of a plugin', async () => {
    const ofServer = await authority.issue('server', { type: 'dns', value: 'api.example' });
    const tlsServer = await FakeApiServer.start(accepting('plugged'), ofServer);
    const proxy = await aConnectProxy(tlsServer.port);
    opened.push({ close: () => tlsServer.stop() }, proxy);
    const kubeconfig = inDirectory('config');
    const status = JSON.stringify(JSON.stringify({ status: { token: 'plugged' } }));
    await writeFile(
      kubeconfig,
      JSON.stringify({
        clusters: [
          {
            name: 'c',
            cluster: { server: 'https://api.example:6443', 'certificate-authority-data': caData },
          },
        ],
        users: [
          {
            name: 'u',
            user: { exec: { command: process.execPath, args: ['-e', `console.log(${status})`] } },
          },
        ],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        'current-context': 'x',
      }),
    );
    const env = { HTTPS_PROXY: proxy.url.replace('//', '//me:pa%3Ass@'), NO_PROXY: 'svc,10.0.0.0/8' };
    const client = open(createKubernetesClient(loadKubeConfig({ kubeconfig, env })));
    await get(client);
    const seen: unknown[] = [];
    for await (const event of client.watch({ path: '/api/v1/pods' })) seen.push(event);
    expect(seen).toEqual([{ type: 'BOOKMARK' }]);
    const authorization = `Basic ${Buffer.from('me:pa:ss').toString('base64')}`;
    const tunnel = { to: 'api.example:6443', authorization };
    expect(proxy.tunnels).toEqual([tunnel, tunnel]);
  });
});
