import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  createKubernetesClient,
  type ClientOptions,
  type KubernetesClient,
} from '../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../src/kubernetes/config.ts';
import { Lifecycle } from '../../src/program/lifecycle.ts';
import { reportingCredentials } from '../../src/program/reporting-credentials.ts';
import { eventually } from '../../testing/eventually.ts';
import { aCertificateAuthority } from '../support/certificate-authority.ts';
import { FakeApiServer } from '../support/fake-api-server.ts';
import { isRunning } from '../support/processes.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

let directory: string;
let server: FakeApiServer;
const clients: KubernetesClient[] = [];

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'exec-plugin-'));
  server = await FakeApiServer.start();
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close(0)));
  await server.stop();
  await rm(directory, { recursive: true });
});

/** Of a user with a plugin that is a program of Node. */
function aClient(script: string, options: ClientOptions = {}, exec: object = {}): KubernetesClient {
  const user = { exec: { command: process.execPath, args: ['-e', script], ...exec } };
  return opened(createKubernetesClient(server.kubeConfig(user), options));
}

function opened(client: KubernetesClient): KubernetesClient {
  clients.push(client);
  return client;
}

function get(client: KubernetesClient, signal?: AbortSignal): Promise<unknown> {
  return client.request({ method: 'GET', path: '/version', ...(signal && { signal }) });
}

const printing = (token: string) =>
  `console.log(JSON.stringify({ kind: 'ExecCredential', status: { token: ${token} } }));`;

/** Never ends by itself, and has started a process that would outlive it. */
function hanging(pidFile: string): string {
  return `
    const { pid } = require('node:child_process').spawn('sleep', ['1000'], { stdio: 'inherit' });
    require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(pid));
    setInterval(() => undefined, 1000);`;
}

async function started(pidFile: string): Promise<number> {
  return eventually(async () => Number(await readFile(pidFile, 'utf8')) || undefined, 20_000);
}

describe('a plugin', () => {
  it('that asks a question finds no input', async () => {
    await get(aClient(`process.stdin.resume().on('end', () => { ${printing("'asked'")} });`));
    expect(server.lastRequest.headers.authorization).toBe('Bearer asked');
  });

  it('that hangs is ended with all that it has started, and the requests fail', async () => {
    const pidFile = path.join(directory, 'pid');
    const problems: (string | undefined)[] = [];
    const client = aClient(hanging(pidFile), {
      credentialsTimeoutMs: 3_000,
      onCredentials: (problem) => problems.push(problem),
    });
    const failure = `cannot get credentials: the exec plugin ${process.execPath} took longer than 3 s (--credentials-timeout); check the user in the kubeconfig`;
    await expect(Promise.all([get(client), get(client)])).rejects.toMatchObject({
      classification: 'access-denied',
      words: failure,
    });
    expect(problems).toEqual([failure]);
    const pid = await started(pidFile);
    await eventually(() => !isRunning(pid));
    expect(server.requests).toEqual([]);
  });

  it('is ended by close; a request that its caller breaks off does not wait for it', async () => {
    const pidFile = path.join(directory, 'pid');
    const client = aClient(hanging(pidFile));
    const caller = new AbortController();
    const [brokenOff, other] = [get(client, caller.signal), get(client)];
    const pid = await started(pidFile);
    caller.abort();
    await expect(brokenOff).rejects.toMatchObject({ message: 'GET /version: aborted' });
    expect(isRunning(pid)).toBe(true);
    await Promise.all([client.close(0), expect(other).rejects.toThrow('aborted')]);
    await eventually(() => !isRunning(pid));
  });

  it('that fails is a problem until it works again; what it prints is only in its output', async () => {
    const problems: (string | undefined)[] = [];
    const output: string[] = [];
    const works = path.join(directory, 'works');
    const client = aClient(
      `if (require('node:fs').existsSync(${JSON.stringify(works)})) { ${printing("'t'")} }
       else { process.stdout.write('half-a-s3cret'); process.stderr.write('one\\ns3cret: '); process.exitCode = 3; }`,
      { onPluginOutput: (line) => output.push(line), onCredentials: (problem) => problems.push(problem) },
    );
    const failure: unknown = await get(client).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      classification: 'access-denied',
      words: `cannot get credentials: the exec plugin ${process.execPath} ended with status 3; check the user in the kubeconfig`,
    });
    expect(failure).not.toHaveProperty('cause', expect.anything());
    expect(output).toEqual(['one', 's3cret: ']);
    await writeFile(works, '');
    await get(client);
    expect(problems).toEqual([expect.stringContaining('ended with status 3'), undefined]);
  });

  it.each([
    ['console.log("{ s3cret")', {}, 'did not print an ExecCredential'],
    ['console.log(`{"status":{}}`)', {}, 'did not print an ExecCredential'],
    ['', { command: '/nowhere/plugin' }, 'cannot be run: Error: spawn /nowhere/plugin ENOENT'],
    ['', { command: 'yes', args: ['s3cret'] }, 'was ended'],
  ])('%j of %j fails, and is not quoted', async (script, exec, says) => {
    const failure = get(aClient(script, {}, exec));
    await expect(failure).rejects.toThrow(says);
    await expect(failure).rejects.not.toThrow('s3cret');
  });

  it.each([
    [{ command: 7 }, 'exec of the user is invalid: '],
    [{ interactiveMode: 'Always' }, 'needs a terminal (interactiveMode: Always)'],
  ])('with %j is refused at once', (exec, says) => {
    expect(() => aClient('', {}, exec)).toThrow(says);
  });

  it('is not run for a user who has a token', async () => {
    const config = server.kubeConfig({ token: 'own', exec: { command: '/nowhere/plugin' } });
    await get(opened(createKubernetesClient(config)));
    expect(server.lastRequest.headers.authorization).toBe('Bearer own');
  });

  it('may give a client certificate', async () => {
    const authority = await aCertificateAuthority('ours');
    const ofServer = await authority.issue('server', { type: 'ip', value: '127.0.0.1' });
    const tls = { ...ofServer, requestCert: true, rejectUnauthorized: true, ca: authority.cert };
    const tlsServer = await FakeApiServer.start(undefined, tls);
    const { cert, key } = await authority.issue('plugged');
    const status = { clientCertificateData: cert, clientKeyData: key };
    const exec = {
      command: process.execPath,
      args: ['-e', `console.log(${JSON.stringify(JSON.stringify({ status }))})`],
    };
    const caData = Buffer.from(authority.cert).toString('base64');
    const client = opened(createKubernetesClient(tlsServer.kubeConfig({ exec }, { caData })));
    await get(client);
    expect(tlsServer.lastRequest.clientName).toBe('plugged');
    await client.close(0);
    await tlsServer.stop();
  });
});

describe('the operator', () => {
  it('is not ready without credentials; what the plugin prints is only in its log, redacted', async () => {
    const [log, lifecycle] = [aRecordingLogger(), new Lifecycle()];
    lifecycle.connected();
    const works = path.join(directory, 'works');
    const client = aClient(
      `if (require('node:fs').existsSync(${JSON.stringify(works)})) { ${printing("'t'")} }
       else { console.error('get https://me:s3cret@sso.example/?token=s3cret'); process.exitCode = 1; }`,
      reportingCredentials(lifecycle, log),
    );
    const problem = `API server: cannot get credentials: the exec plugin ${process.execPath} ended with status 1; check the user in the kubeconfig`;
    for (const again of [get(client), get(client)])
      await expect(again).rejects.toThrow('ended with status 1');
    await expect(get(client)).rejects.toThrow('ended with status 1');
    expect(lifecycle.health().ready).toEqual([problem, expect.stringContaining('not started yet')]);
    const said = 'exec plugin: get https://sso.example/?[redacted]';
    expect(log.lines.map(({ message }) => message)).toEqual([said, `${problem}; retrying`, said]);
    await writeFile(works, '');
    await get(client);
    expect(lifecycle.health().ready).toEqual([expect.stringContaining('not started yet')]);
    expect(log.lines.at(-1)).toMatchObject({ message: 'there are credentials for the API server again' });
  });
});

describe('from the file of a kubeconfig', () => {
  async function fromFile(user: string): Promise<KubernetesClient> {
    const kubeconfig = path.join(directory, 'config');
    const extension = '{ name: client.authentication.k8s.io/exec, extension: { audience: ours } }';
    await writeFile(
      kubeconfig,
      `
clusters: [{ name: c, cluster: { server: "${server.url}", insecure-skip-tls-verify: true, tls-server-name: sni, certificate-authority-data: Y2E=, extensions: [${extension}] } }]
users: [{ name: u, user: ${user} }]
contexts: [{ name: x, context: { cluster: c, user: u } }]
current-context: x
`,
    );
    return opened(createKubernetesClient(loadKubeConfig({ kubeconfig, env: {} })));
  }

  /** Its token is what KUBERNETES_EXEC_INFO says, and a variable of its own. */
  async function aPlugin(): Promise<void> {
    const token = `Buffer.from(process.env.KUBERNETES_EXEC_INFO + process.env.EXTRA).toString('base64url')`;
    const file = path.join(directory, 'plugin');
    await writeFile(file, `#!${process.execPath}\n${printing(token)}`, { mode: 0o700 });
  }

  function told(): string {
    const [, token = ''] = (server.lastRequest.headers.authorization ?? '').split(' ');
    return Buffer.from(token, 'base64url').toString();
  }

  it.each([
    ['', {}],
    [
      ', provideClusterInfo: true',
      {
        cluster: {
          'tls-server-name': 'sni',
          'insecure-skip-tls-verify': true,
          'certificate-authority-data': 'Y2E=',
          config: { audience: 'ours' },
        },
      },
    ],
  ])('a plugin beside it is told what it is for%s', async (more, spec) => {
    await aPlugin();
    const apiVersion = 'client.authentication.k8s.io/v1beta1';
    const env = '[{ name: EXTRA, value: "!" }]';
    await get(
      await fromFile(`{ exec: { apiVersion: ${apiVersion}, command: ./plugin, env: ${env}${more} } }`),
    );
    const [info = '', extra] = told().split(/(!)$/);
    expect(extra).toBe('!');
    const cluster = 'cluster' in spec && { cluster: { ...spec.cluster, server: server.url } };
    expect(JSON.parse(info)).toEqual({
      kind: 'ExecCredential',
      apiVersion,
      spec: { interactive: false, ...cluster },
    });
  });

  it('impersonation is sent as kubectl sends it: a header for each group', async () => {
    const extra = 'as-user-extra: { example.org/reason: [support, "2"] }';
    await get(await fromFile(`{ token: t, as: jane, as-uid: "7", as-groups: [dev, "a, b"], ${extra} }`));
    expect(server.lastRequest.headersDistinct).toMatchObject({
      authorization: ['Bearer t'],
      'impersonate-user': ['jane'],
      'impersonate-uid': ['7'],
      'impersonate-group': ['dev', 'a, b'],
      'impersonate-extra-example.org%2freason': ['support', '2'],
    });
  });

  it('groups without a user to be are not sent', async () => {
    await get(await fromFile('{ token: t, as-groups: [dev] }'));
    expect(server.lastRequest.headersDistinct).not.toHaveProperty('impersonate-group');
  });
});
