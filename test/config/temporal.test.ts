import { describe, expect, it } from '@jest/globals';
import { aFile, aFolder, configOf, problemsOf } from '../support/configs.ts';

describe('Temporal is configured by its own environment', () => {
  it('address, namespace and API key', async () => {
    const env = { TEMPORAL_ADDRESS: 'cloud:7233', TEMPORAL_NAMESPACE: 'ns', TEMPORAL_API_KEY: 'key' };
    expect((await configOf({ env })).temporal).toMatchObject({
      address: 'cloud:7233',
      namespace: 'ns',
      connect: { namespace: 'ns', connectionOptions: { address: 'cloud:7233', apiKey: 'key', tls: true } },
    });
  });

  it('a profile, over which variables win', async () => {
    const TEMPORAL_CONFIG_FILE = aFile('[profile.a]\naddress = "a:1"\nnamespace = "from-profile"\n');
    const env = { TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE: 'a', TEMPORAL_ADDRESS: 'b:2' };
    expect((await configOf({ env })).temporal).toMatchObject({ address: 'b:2', namespace: 'from-profile' });
  });

  it('TLS files', async () => {
    const env = {
      TEMPORAL_TLS_CLIENT_CERT_PATH: aFile('cert'),
      TEMPORAL_TLS_CLIENT_KEY_PATH: aFile('key'),
      TEMPORAL_TLS_SERVER_NAME: 'server',
    };
    const { connectionOptions } = (await configOf({ env })).temporal.connect;
    expect(connectionOptions.tls).toMatchObject({
      serverNameOverride: 'server',
      clientCertPair: { crt: new Uint8Array(Buffer.from('cert')), key: new Uint8Array(Buffer.from('key')) },
    });
  });

  it('a folder with what a mounted Secret has, over which variables win', async () => {
    const TEMPORAL_CREDENTIALS_DIR = aFolder({ 'api-key': 'key\n', 'ca.crt': 'authority', other: 'thing' });
    const optionsFor = async (env: Record<string, string>) =>
      (await configOf({ env: { TEMPORAL_CREDENTIALS_DIR, ...env } })).temporal.connect.connectionOptions;
    const serverRootCACertificate = new Uint8Array(Buffer.from('authority'));
    expect(await optionsFor({})).toMatchObject({ apiKey: 'key', tls: { serverRootCACertificate } });
    expect(await optionsFor({ TEMPORAL_API_KEY: 'given' })).toMatchObject({ apiKey: 'given' });
    const nothing = await optionsFor({ TEMPORAL_CREDENTIALS_DIR: aFolder({}) });
    expect(nothing).toEqual((await configOf({ env: {} })).temporal.connect.connectionOptions);
  });

  it('the proxy on the way to it', async () => {
    const proxied = async (env: Record<string, string>) => {
      const { connect } = (await configOf({ env: { TEMPORAL_ADDRESS: 'cloud:7233', ...env } })).temporal;
      return connect.connectionOptions.proxy;
    };
    expect(await proxied({ HTTPS_PROXY: 'http://me:pa%3Ass@proxy' })).toEqual({
      type: 'http-connect',
      targetHost: 'proxy:80',
      basicAuth: { username: 'me', password: 'pa:ss' },
    });
    expect(await proxied({ HTTPS_PROXY: 'proxy:3128', NO_PROXY: 'cloud:7233' })).toBeUndefined();
    expect(await proxied({ HTTPS_PROXY: 'proxy:3128', TEMPORAL_ADDRESS: 'localhost:7233' })).toBeUndefined();
  });

  it.each<[Record<string, string>, string]>([
    [
      { TEMPORAL_ADDRESS: 'cloud:7233', HTTPS_PROXY: 'socks5://proxy' },
      'Temporal cannot be reached by the socks5: proxy of HTTPS_PROXY, only by an http: proxy; write one, or add cloud to NO_PROXY',
    ],
    [
      { TEMPORAL_ADDRESS: 'cloud:7233', HTTPS_PROXY: 'ftp://proxy' },
      'HTTPS_PROXY is not the URL of a proxy; write one such as http://HOST:PORT',
    ],
    [
      { TEMPORAL_ADDRESS: 'http://x:1' },
      `Temporal address "http://x:1" is not HOST:PORT; correct TEMPORAL_ADDRESS or the profile's address`,
    ],
    [{ TEMPORAL_TLS: 'yes' }, 'TEMPORAL_TLS "yes" is not a boolean; write true or false'],
    [
      { TEMPORAL_PROFILE: 'none' },
      "Temporal's configuration: Profile 'none' not found in config data; correct the TEMPORAL_ variables or the profile",
    ],
    [
      { TEMPORAL_CONFIG_FILE: '/nowhere/t' },
      'TEMPORAL_CONFIG_FILE "/nowhere/t" cannot be read: no such file or directory; specify a readable file',
    ],
    [
      { TEMPORAL_CREDENTIALS_DIR: '/nowhere' },
      'TEMPORAL_CREDENTIALS_DIR "/nowhere" cannot be read: no such file or directory; mount the Secret there',
    ],
    [
      { TEMPORAL_TLS_CLIENT_CERT_DATA: 'cert' },
      'Temporal TLS needs both a client certificate and its key; set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH',
    ],
  ])('%j is refused', async (env, problem) => {
    expect(await problemsOf({ env })).toEqual([problem]);
  });

  it('and a file that cannot be parsed is reported without its text, which may be secret', async () => {
    const TEMPORAL_CONFIG_FILE = aFile('[profile.default]\napi_key = "s3"cr3t"\n');
    const [problem, ...rest] = await problemsOf({ env: { TEMPORAL_CONFIG_FILE } });
    expect(problem).toMatch(/^Temporal's configuration: line 2: Invalid TOML/);
    expect(problem).not.toContain('cr3t');
    expect(rest).toEqual([]);
  });
});
