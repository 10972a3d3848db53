import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type NetConnectOpts } from 'node:net';

const HOST = '127.0.0.1';
// Below the range from which kernels take the ports of outgoing connections (32768 on Linux, 49152 elsewhere):
// such a port could be taken before the server starts.
const FIRST = 20_000;
const LAST = 29_999;
const ATTEMPTS = 200;

const handedOut = new Set<number>();

/** A port of loopback that is free now, and that this function has not returned before in this process. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(FIRST, LAST + 1);
    if (handedOut.has(port)) continue;
    handedOut.add(port); // before the check, because concurrent calls may draw the same port
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port between ${FIRST} and ${LAST}; stop what listens there`);
}

/** The preferred port if it is free, else any free one. */
export async function preferFreePort(preferred: number): Promise<number> {
  return (await isFree(preferred)) ? preferred : freePort();
}

/** Nobody listens at this port of loopback, and a server can. */
export async function isFree(port: number): Promise<boolean> {
  // macOS allows listening at loopback while another process listens at all addresses.
  if (await isListening({ port, host: HOST })) return false;
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: HOST, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Whether a server listens at a port or a socket file. */
export async function isListening(address: NetConnectOpts): Promise<boolean> {
  const socket = connect(address);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
