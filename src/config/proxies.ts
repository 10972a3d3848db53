import { BlockList, isIP } from 'node:net';
import { ConfigurationError } from './configuration-error.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy on the way to a server as clients in Go find it: from HTTPS_PROXY or HTTP_PROXY and NO_PROXY, and never to loopback.
 * Source: golang.org/x/net/http/httpproxy.
 *
 * @throws ConfigurationError if the variable is not a URL
 */
export function proxyFor({ protocol, hostname, port }: URL, env: Environment): URL | undefined {
  const isSecure = protocol === 'https:';
  const name = isSecure ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const proxy = valueOf(name, env);
  const host = { name: unbracketed(hostname), port: port || (isSecure ? '443' : '80') };
  if (proxy === '' || isLoopback(host.name)) return undefined;
  const isDirect = valueOf('NO_PROXY', env)
    .split(',')
    .some((entry) => covers(entry.trim().toLowerCase(), host));
  return isDirect ? undefined : parseProxy(proxy, name);
}

/** @param source for the message. @throws ConfigurationError, without the URL: it may hold a password */
export function parseProxy(text: string, source: string): URL {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url !== null && /^(https?|socks5h?):$/.test(url.protocol)) return url;
  throw new ConfigurationError(`${source} is not the URL of a proxy; write one such as http://HOST:PORT`);
}

/** The name in lower case counts more. */
function valueOf(name: string, env: Environment): string {
  return [env[name.toLowerCase()], env[name]].find(Boolean) ?? '';
}

interface Host {
  readonly name: string;
  readonly port: string;
}

/** @param entry of NO_PROXY: an address, a CIDR or a domain, the first and last also with a port; or `*` */
function covers(entry: string, host: Host): boolean {
  if (entry === '*') return true;
  const [, before = entry, port] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
  const name = unbracketed(before);
  if (name === '' || (port !== undefined && port !== host.port)) return false;
  if (isIP(host.name) !== 0) return addressesIn(name)?.check(...address(host.name)) ?? false;
  const domain = name.replace(/^\*\./, '.');
  return domain === host.name || host.name.endsWith(domain.startsWith('.') ? domain : `.${domain}`);
}

/** @param entry `10.0.0.1`, `10.0.0.0/8`; undefined if it is neither */
function addressesIn(entry: string): BlockList | undefined {
  const [ip = '', bits, ...more] = entry.split('/');
  const [, family] = address(ip);
  const most = family === 'ipv6' ? 128 : 32;
  const prefix = bits === undefined ? most : Number(bits || NaN);
  if (isIP(ip) === 0 || more.length > 0 || !Number.isInteger(prefix) || prefix < 0 || prefix > most)
    return undefined;
  const list = new BlockList();
  list.addSubnet(ip, prefix, family);
  return list;
}

function isLoopback(name: string): boolean {
  return name === 'localhost' || (isIP(name) !== 0 && LOOPBACK.check(...address(name)));
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

function address(ip: string): [string, 'ipv4' | 'ipv6'] {
  return [ip, isIP(ip) === 6 ? 'ipv6' : 'ipv4'];
}

function unbracketed(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}
