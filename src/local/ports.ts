import { createServer } from 'node:net';
import { randomInt } from 'node:crypto';

const HOST = '127.0.0.1';
// Below the range from which kernels take the ports of outgoing connections (32768 on Linux, 49152 elsewhere):
// one of those could be taken between our look and the server's start.
const FIRST = 20_000;
const LAST = 29_999;
const ATTEMPTS = 200;

const handedOut = new Set<number>();

/** A port that nobody listens on at loopback now, and that this process has not been given before. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(FIRST, LAST + 1);
    if (!handedOut.has(port) && (await isFree(port))) {
      handedOut.add(port);
      return port;
    }
  }
  throw new Error(`no free port between ${FIRST} and ${LAST}; stop what listens there, or name the ports`);
}

/** The preferred port where it is free, else any free one. */
export async function preferFreePort(preferred: number): Promise<number> {
  return (await isFree(preferred)) ? preferred : freePort();
}

/** Nobody listens on this port, neither at loopback nor at all addresses. */
export async function isFree(port: number): Promise<boolean> {
  return (await canListen(port, HOST)) && (await canListen(port, '0.0.0.0'));
}

function canListen(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
