import { describe, expect, it } from '@jest/globals';
import { ConfigurationError } from '../../src/config/configuration-error.ts';
import { proxyFor } from '../../src/config/proxies.ts';

const PROXY = 'http://proxy.example:3128/';

/** Each row is also what golang.org/x/net/http/httpproxy decides. */
describe('NO_PROXY', () => {
  it.each<[noProxy: string, server: string, isProxied: boolean]>([
    ['', 'https://api.example:6443', true],
    ['*', 'https://api.example:6443', false],
    ['other.example, *', 'https://api.example', false],
    ['api.example', 'https://api.example:6443', false],
    [' API.Example ', 'https://api.example:6443', false],
    ['example', 'https://api.example', false],
    ['pi.example', 'https://api.example', true],
    ['.example', 'https://api.example', false],
    ['.api.example', 'https://api.example', true],
    ['*.example', 'https://api.example', false],
    ['*.api.example', 'https://api.example', true],
    ['api.example:6443', 'https://api.example:6443', false],
    ['api.example:6443', 'https://api.example', true],
    ['api.example:443', 'https://api.example', false],
    [':443', 'https://api.example', true],
    ['10.0.0.1', 'https://10.0.0.1', false],
    ['10.0.0.1', 'https://10.0.0.10', true],
    ['0.0.1', 'https://10.0.0.1', true],
    ['10.0.0.1:443', 'https://10.0.0.1:6443', true],
    ['10.96.0.0/12', 'https://10.111.255.255', false],
    ['10.96.0.0/12', 'https://10.112.0.0', true],
    ['10.96.0.0/12', 'https://10.96.0.1.example', true],
    ['0.0.0.0/0', 'https://10.1.2.3', false],
    ['10.0.0.0/33', 'https://10.0.0.0', true],
    ['10.0.0.0/', 'https://10.0.0.0', true],
    ['fd00::/8', 'https://[fd00::1]:6443', false],
    ['fd00::/8', 'https://[fe00::1]:6443', true],
    ['[fd00::1]:6443', 'https://[fd00::1]:6443', false],
    ['fd00:0::1', 'https://[fd00::1]', false],
    ['', 'https://localhost:6443', false],
    ['', 'https://127.0.0.2', false],
    ['', 'https://[::1]', false],
    ['', 'https://localhost.example', true],
  ])('%j on the way to %s', (NO_PROXY, server, isProxied) => {
    const proxy = proxyFor(new URL(server), { HTTPS_PROXY: PROXY, NO_PROXY });
    expect(proxy?.href).toBe(isProxied ? PROXY : undefined);
  });
});

describe('the variables', () => {
  const server = new URL('https://api.example');

  it.each([
    [{ https_proxy: 'http://lower', HTTPS_PROXY: 'http://upper' }, 'http://lower/'],
    [{ https_proxy: '', HTTPS_PROXY: 'http://upper' }, 'http://upper/'],
    [{ HTTPS_PROXY: 'proxy:3128' }, 'http://proxy:3128/'],
    [{ HTTPS_PROXY: 'http://proxy', no_proxy: 'api.example', NO_PROXY: 'other' }, undefined],
    [{ HTTP_PROXY: 'http://proxy', ALL_PROXY: 'http://proxy' }, undefined],
    [{ HTTPS_PROXY: 'socks5://proxy' }, 'socks5://proxy'],
  ])('%j', (env, expected) => {
    expect(proxyFor(server, env)?.href).toBe(expected);
  });

  it('HTTP_PROXY is for servers without TLS', () => {
    const env = { HTTP_PROXY: 'http://plain', HTTPS_PROXY: 'http://secure' };
    expect(proxyFor(new URL('http://api.example'), env)?.href).toBe('http://plain/');
  });

  it.each(['http://', 'ftp://me:s3cret@proxy', 's3cret s3cret'])(
    '%j is refused, and not repeated',
    (proxy) => {
      const find = () => proxyFor(server, { HTTPS_PROXY: proxy });
      expect(find).toThrow(
        new ConfigurationError('HTTPS_PROXY is not the URL of a proxy; write one such as http://HOST:PORT'),
      );
    },
  );
});
