import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ConfigurationError } from '../../src/config/configuration-error.ts';
import { loadKubeConfig } from '../../src/kubernetes/config.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'kubeconfig-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

function kubeconfig(name: string, server = `https://${name}.example`): string {
  return `
apiVersion: v1
kind: Config
clusters: [{ name: ${name}, cluster: { server: "${server}" } }]
users: [{ name: ${name}, user: { token: secret } }]
contexts: [{ name: ${name}, context: { cluster: ${name}, user: ${name} } }]
current-context: ${name}
`;
}

async function write(name: string, content: string): Promise<string> {
  const file = path.join(directory, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, content);
  return file;
}

describe('which cluster', () => {
  it("the flag's file wins over KUBECONFIG, which wins over the home directory", async () => {
    const flag = await write('flag', kubeconfig('flag'));
    const fromEnvironment = await write('environment', kubeconfig('environment'));
    await write('.kube/config', kubeconfig('home'));
    const env = { HOME: directory, KUBECONFIG: fromEnvironment };
    expect(loadKubeConfig({ kubeconfig: flag, env }).getCurrentContext()).toBe('flag');
    expect(loadKubeConfig({ env }).getCurrentContext()).toBe('environment');
    expect(loadKubeConfig({ env: { HOME: directory } }).getCurrentContext()).toBe('home');
  });

  it('of the files in KUBECONFIG the first wins, and missing ones are passed over', async () => {
    const one = await write('one', kubeconfig('one'));
    const two = await write('two', kubeconfig('two'));
    const KUBECONFIG = [path.join(directory, 'absent'), one, two].join(path.delimiter);
    const config = loadKubeConfig({ env: { KUBECONFIG } });
    expect(config.getCurrentContext()).toBe('one');
    expect(config.getCluster('two')?.server).toBe('https://two.example');
  });

  it('in a pod, outside is meant only where told so', async () => {
    await write('.kube/config', kubeconfig('home'));
    const env = { HOME: directory, KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
    expect(loadKubeConfig({ outsideCluster: true, env }).getCurrentContext()).toBe('home');
    expect(() => loadKubeConfig({ env })).toThrow('this Pod has no service account token');
  });
});

describe('the proxy', () => {
  const proxyOf = async (content: string, env: Record<string, string>) =>
    loadKubeConfig({ kubeconfig: await write('config', content), env }).getCurrentCluster()?.proxyUrl;
  const withProxyUrl = (url: string) => kubeconfig('a').replace('server:', `proxy-url: "${url}", server:`);

  it('is that of the kubeconfig, else that of the environment, unless NO_PROXY names the server', async () => {
    const env = { HTTPS_PROXY: 'http://environment' };
    expect(await proxyOf(withProxyUrl('socks5://own'), env)).toBe('socks5://own');
    expect(await proxyOf(kubeconfig('a'), env)).toBe('http://environment/');
    expect(await proxyOf(kubeconfig('a'), { ...env, NO_PROXY: '.example' })).toBeUndefined();
    expect(await proxyOf(kubeconfig('a', 'https://127.0.0.1:6443'), env)).toBeUndefined();
  });

  it('that is no URL is refused', async () => {
    await expect(proxyOf(withProxyUrl('ftp://x'), {})).rejects.toThrow(
      'proxy-url of the cluster is not the URL of a proxy',
    );
    await expect(proxyOf(kubeconfig('a'), { HTTPS_PROXY: ':' })).rejects.toThrow(
      'HTTPS_PROXY is not the URL of a proxy',
    );
  });
});

describe('what is wrong is said in one line', () => {
  it.each([
    ['no: kubeconfig: at: all', 'is not a kubeconfig'],
    [kubeconfig('a').replace('current-context: a', ''), 'it has no current-context'],
    [kubeconfig('a').replace('current-context: a', 'current-context: b'), 'the context "b" does not exist'],
    [kubeconfig('a').replace('cluster: a,', 'cluster: b,'), 'the cluster "b" of context "a" does not exist'],
    [kubeconfig('a').replace('user: a }', 'user: b }'), 'the user "b" of context "a" does not exist'],
    [kubeconfig('a', 'nonsense'), 'the server "nonsense" is not a URL'],
    [kubeconfig('a', 'ftp://a'), 'is neither https nor http'],
    [kubeconfig('a', 'http://a'), 'is not https'],
    [
      kubeconfig('a').replace('token: secret', 'auth-provider: { name: gcp, config: { cmd-path: secret } }'),
      'the user "a" has the auth-provider "gcp", which Kubernetes no longer has; use an exec plugin',
    ],
  ])('%j', async (content, trouble) => {
    const file = await write('config', content);
    const message = messageOf(() => loadKubeConfig({ kubeconfig: file, env: {} }));
    expect(message).toContain(`kubeconfig ${file}: `);
    expect(message).toContain(trouble);
    expect(message).not.toMatch(/\n|secret/);
  });

  it('a missing file', () => {
    const file = path.join(directory, 'absent');
    expect(messageOf(() => loadKubeConfig({ env: { KUBECONFIG: file } }))).toBe(
      `KUBECONFIG=${file}: ${file} does not exist`,
    );
  });

  it('no configuration at all', () => {
    expect(messageOf(() => loadKubeConfig({ env: { HOME: directory } }))).toContain('set --kubeconfig FILE');
  });
});

function messageOf(load: () => unknown): string {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
  throw new Error('it was loaded');
}
