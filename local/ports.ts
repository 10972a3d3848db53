import { connect, createServer } from 'node:net';
import { randomInt } from 'node:crypto';

const HOST = '127.0.0.1';
// Below the range from which kernels take the ports of outgoing connections (32768 on Linux, 49152 elsewhere):
// one of those could be taken between our look and the server's start.
const FIRST = 20_000;
const LAST = 29_999;
const ATTEMPTS = 200;

const handedOut = new Set<number>();

const anyPort = (): number => randomInt(FIRST, LAST + 1);

/** A port that nobody listens on at loopback now, and that this process has not been given before. */
export async function freePort(draw: () => number = anyPort): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = draw();
    if (handedOut.has(port)) continue;
    handedOut.add(port); // before the look, which takes time: another stack of this process may be choosing too
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port between ${FIRST} and ${LAST}; stop what listens there, or name the ports`);
}

/** The preferred port where it is free, else any free one. */
export async function preferFreePort(preferred: number): Promise<number> {
  return (await isFree(preferred)) ? preferred : freePort();
}

/** Nobody answers at this port of loopback, and a server may listen there. */
export async function isFree(port: number): Promise<boolean> {
  // Elsewhere than on Linux one may listen at loopback although somebody else listens at all addresses.
  return !(await isListening(port)) && (await canListen(port));
}

/** Does anybody listen at this port of loopback? */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: HOST });
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: HOST, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
