import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporalTarget } from '../../src/ask/session.ts';
import { parseConfig } from '../../src/config/config.ts';
import { clientConnection } from '../../src/config/temporal.ts';
import { SEARCH_ATTRIBUTES } from '../../src/runs/search-attributes.ts';
import { ConfigurationError } from '../../src/config/configuration-error.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import { connectToTemporal } from '../../src/temporal/connection.ts';
import { registerSearchAttributes } from '../../src/temporal/registration.ts';
import { aCertificateAuthority } from '../support/certificate-authority.ts';
import { aConnectProxy, type ConnectProxy } from '../support/connect-proxy.ts';
import { eventually } from '../../testing/eventually.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';
import { testStack } from '../support/stack.ts';
import { startTemporalGate, type TemporalGate } from '../support/temporal-gate.ts';
import { aTemporalNamespace } from '../support/temporal-namespace.ts';

jest.setTimeout(60_000);

const API_KEY = 'the-key-that-it-wants';
const { temporalAddress } = testStack();

let dir: string;
/** TLS with a client certificate, and TLS with an API key. */
let mutual: TemporalGate;
let keyed: TemporalGate;

const file = (name: string) => join(dir, name);

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'temporal-tls-'));
  const ours = await aCertificateAuthority('ours');
  const theirs = await aCertificateAuthority('theirs');
  const [server, client, stranger] = [
    await ours.issue('temporal'),
    await ours.issue('operator'),
    await theirs.issue('operator'),
  ];
  const files = {
    'ca.crt': ours.cert,
    'other-ca.crt': theirs.cert,
    'client.crt': client.cert,
    'client.key': client.key,
    'stranger.crt': stranger.cert,
    'stranger.key': stranger.key,
  };
  for (const [name, content] of Object.entries(files)) await writeFile(file(name), content);
  const wantsCertificate = { requestCert: true, rejectUnauthorized: true, ca: ours.cert };
  mutual = await startTemporalGate({ temporalAddress, tls: { ...server, ...wantsCertificate } });
  keyed = await startTemporalGate({ temporalAddress, tls: server, apiKey: API_KEY });
});

afterAll(async () => {
  await mutual.close();
  await keyed.close();
  await rm(dir, { recursive: true });
});

type Environment = Readonly<Record<string, string>>;

const at = ({ address }: TemporalGate): Environment => ({ TEMPORAL_ADDRESS: address });
const trusting = (ca: string): Environment => ({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: file(ca) });
const presenting = (crt: string, key: string): Environment => ({
  TEMPORAL_TLS_CLIENT_CERT_PATH: file(crt),
  TEMPORAL_TLS_CLIENT_KEY_PATH: file(key),
});

/** As the program connects that has these variables, until the signal. */
async function connecting(env: Environment, log = aRecordingLogger(), signal = new AbortController().signal) {
  const parsed = await parseConfig(durableOperator, [], { ...env });
  if (parsed.kind === 'exit') throw new Error(parsed.output);
  const { connect, address, namespace } = parsed.config.temporal;
  const where = { address, namespace, ...parsed.config.temporalServer };
  return connectToTemporal({ ...where, options: connect.connectionOptions, log, signal });
}

/** What a person reads while it waits. */
async function firstWarning(env: Environment): Promise<string> {
  const log = aRecordingLogger();
  const ending = new AbortController();
  const connected = connecting(env, log, ending.signal);
  const ended = expect(connected).rejects.toThrow('aborted');
  await eventually(() => Promise.resolve(log.lines.length > 0), 30_000);
  ending.abort();
  await ended;
  return log.lines[0]?.message ?? '';
}

async function connects(env: Environment): Promise<void> {
  const log = aRecordingLogger();
  const connection = await connecting(env, log);
  await connection.close();
  expect(log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
}

describe('Temporal behind TLS', () => {
  it('is reached with the certificate that it wants', async () => {
    await connects({ ...at(mutual), ...trusting('ca.crt'), ...presenting('client.crt', 'client.key') });
  });

  it('is reached with the API key that it wants', async () => {
    await connects({ ...at(keyed), TEMPORAL_API_KEY: API_KEY, ...trusting('ca.crt') });
  });

  const CLOSED =
    'it closed the connection); retrying; it may require TLS (TEMPORAL_TLS=true), or a client certificate that it trusts (TEMPORAL_TLS_CLIENT_CERT_PATH)';
  const REJECTED = 'it rejects the credentials: invalid API key); retrying; check TEMPORAL_API_KEY';

  it.each<[string, () => Environment, string | RegExp]>([
    [
      'is of an unknown authority',
      () => ({ ...at(mutual), ...trusting('other-ca.crt'), ...presenting('client.crt', 'client.key') }),
      'its certificate is signed by an unknown authority); retrying; set TEMPORAL_TLS_SERVER_CA_CERT_PATH to the certificate of that authority',
    ],
    [
      'is under another name than its own',
      () => ({
        TEMPORAL_ADDRESS: keyed.address.replace('localhost', '127.0.0.1'),
        TEMPORAL_API_KEY: API_KEY,
        ...trusting('ca.crt'),
      }),
      'its certificate is for another host name); retrying; correct TEMPORAL_ADDRESS, or set TEMPORAL_TLS_SERVER_NAME',
    ],
    [
      // Which of the two depends on whether it hangs up before its reason is read.
      'wants a client certificate',
      () => ({ ...at(mutual), ...trusting('ca.crt') }),
      /^it (requires a client certificate|closed the connection)\); retrying; .*TEMPORAL_TLS_CLIENT_CERT_PATH/,
    ],
    [
      'refuses a stranger’s certificate',
      () => ({ ...at(mutual), ...trusting('ca.crt'), ...presenting('stranger.crt', 'stranger.key') }),
      /^it (rejects the client certificate|closed the connection)\); retrying; .*TEMPORAL_TLS_CLIENT_CERT_PATH/,
    ],
    ['is asked without TLS', () => at(mutual), CLOSED],
    [
      'refuses the API key, which is not told,',
      () => ({ ...at(keyed), ...trusting('ca.crt'), TEMPORAL_API_KEY: 'another-key' }),
      REJECTED,
    ],
    ['lacks an API key', () => ({ ...at(keyed), ...trusting('ca.crt'), TEMPORAL_TLS: 'true' }), REJECTED],
  ])('that %s is waited for, and the setting named', async (_what, given, expected) => {
    const env = given();
    const [before, words = ''] = (await firstWarning(env)).split(' cannot be reached (');
    expect(before).toBe(`Temporal at ${env['TEMPORAL_ADDRESS']}`);
    if (typeof expected === 'string') expect(words).toBe(expected);
    else expect(words).toMatch(expected);
  });

  it.each([
    ['of another certificate', 'stranger.key'],
    ['that is no key', 'client.crt'],
  ])('is not waited for with a key %s: that cannot help', async (_, key) => {
    const { address } = mutual;
    const env = { ...at(mutual), ...trusting('ca.crt'), ...presenting('client.crt', key) };
    const failing = connecting(env);
    await expect(failing).rejects.toBeInstanceOf(ConfigurationError);
    await expect(failing).rejects.toThrow(
      `Temporal at ${address} cannot be reached (the client certificate or its key is invalid, or they do not match); correct TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH`,
    );
  });
});

describe('Temporal behind a proxy', () => {
  let gate: TemporalGate;
  let proxy: ConnectProxy;

  beforeAll(async () => {
    const ours = await aCertificateAuthority('ours');
    const server = await ours.issue('temporal', { type: 'dns', value: 'temporal.example' });
    await writeFile(file('proxied-ca.crt'), ours.cert);
    gate = await startTemporalGate({ temporalAddress, tls: server, apiKey: API_KEY });
    proxy = await aConnectProxy(Number(gate.address.split(':')[1]));
  });

  afterAll(async () => {
    await proxy.close();
    await gate.close();
  });

  /** Only the proxy knows the host. */
  const throughProxy = (): Environment => ({
    TEMPORAL_ADDRESS: 'temporal.example:7233',
    TEMPORAL_API_KEY: API_KEY,
    HTTPS_PROXY: proxy.url.replace('//', '//me:pa%3Ass@'),
    ...trusting('proxied-ca.crt'),
  });
  const tunnel = () => ({ to: 'temporal.example:7233', authorization: `Basic ${btoa('me:pa:ss')}` });

  it('is reached by the operator', async () => {
    proxy.tunnels.length = 0;
    await connects(throughProxy());
    expect(proxy.tunnels).toContainEqual(tunnel());
  });

  it('is reached by the commands', async () => {
    proxy.tunnels.length = 0;
    const { connectionOptions } = temporalTarget({ ...throughProxy() }).connect;
    const connection = await Connection.connect(clientConnection(connectionOptions));
    await connection.workflowService.getSystemInfo({});
    await connection.close();
    expect(proxy.tunnels).toContainEqual(tunnel());
  });

  it('on loopback is reached by the commands without it, whatever the variables of gRPC say', async () => {
    proxy.tunnels.length = 0;
    process.env['grpc_proxy'] = 'http://127.0.0.1:1';
    const { connectionOptions } = temporalTarget({ TEMPORAL_ADDRESS: temporalAddress }).connect;
    const connection = await Connection.connect(clientConnection(connectionOptions)).finally(() => {
      delete process.env['grpc_proxy'];
    });
    await connection.close();
  });
});

describe('a Temporal namespace', () => {
  let denying: TemporalGate;
  let direct: NativeConnection;

  beforeAll(async () => {
    const ours = await aCertificateAuthority('ours');
    const server = await ours.issue('temporal');
    await writeFile(file('denying-ca.crt'), ours.cert);
    denying = await startTemporalGate({ temporalAddress, tls: server, deniesRegistration: true });
    direct = await NativeConnection.connect({ address: temporalAddress });
  });

  afterAll(async () => {
    await direct.close();
    await denying.close();
  });

  const ALL = Object.values(SEARCH_ATTRIBUTES);
  const COMMAND = (namespace: string) =>
    `temporal operator search-attribute create --namespace ${namespace} ${ALL.map((each) => `--name ${each} --type Keyword`).join(' ')}`;

  const throughDenying = (namespace: string): Environment => ({
    TEMPORAL_ADDRESS: denying.address,
    TEMPORAL_TLS: 'true',
    TEMPORAL_NAMESPACE: namespace,
    ...trusting('denying-ca.crt'),
  });

  it('in which search attributes cannot be registered is waited for, and the missing ones and a command are named', async () => {
    const namespace = await aTemporalNamespace(direct);
    expect(await firstWarning(throughDenying(namespace))).toBe(
      `namespace "${namespace}" of Temporal at ${denying.address} is not ready: the search attributes ${ALL.join(', ')} are missing, and they cannot be registered by the operator: Request unauthorized.; register them: ${COMMAND(namespace)}`,
    );
  });

  it.each(['true', 'false'])(
    'where an attribute has another type, it is named with both (%s)',
    async (registers) => {
      const namespace = await aTemporalNamespace(direct);
      const searchAttributes = { ...Object.fromEntries(ALL.map((each) => [each, 2])), Cluster: 3 };
      await direct.operatorService.addSearchAttributes({ namespace, searchAttributes });
      const env = {
        TEMPORAL_ADDRESS: temporalAddress,
        TEMPORAL_NAMESPACE: namespace,
        DURABLE_OPERATOR_REGISTER_SEARCH_ATTRIBUTES: registers,
      };
      await eventually(async () => {
        const { customAttributes } = await direct.operatorService.listSearchAttributes({ namespace });
        return 'Cluster' in customAttributes;
      }, 30_000);
      expect(await firstWarning(env)).toContain(
        `is not ready: the search attribute Cluster is of type Int, and the operator needs type Keyword; use another Temporal namespace, or, if nothing else uses the attribute, remove it: temporal operator search-attribute remove --namespace ${namespace} --name Cluster`,
      );
    },
  );

  it('whose search attributes are not to be registered is used as soon as somebody else has registered them', async () => {
    const namespace = await aTemporalNamespace(direct);
    const env = {
      TEMPORAL_ADDRESS: temporalAddress,
      TEMPORAL_NAMESPACE: namespace,
      DURABLE_OPERATOR_REGISTER_SEARCH_ATTRIBUTES: 'false',
    };
    const log = aRecordingLogger();
    const waiting = connecting(env, log);
    await eventually(() => Promise.resolve(log.lines.length > 0), 30_000);
    expect(log.lines[0]?.message).toContain('--register-search-attributes is off; register them: temporal');
    const { customAttributes } = await direct.operatorService.listSearchAttributes({ namespace });
    expect(Object.keys(customAttributes)).not.toContain('ResourceUid');
    await registerSearchAttributes(direct, namespace);
    await (await waiting).close();
    // Then nobody is asked whether they may be registered.
    await connects(throughDenying(namespace));
  });
});
