import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { freePort, isFree, preferFreePort } from '../../local/ports.ts';

const listening: Server[] = [];

async function listenAt(port: number, host: string): Promise<void> {
  const server = createServer().listen({ port, host });
  listening.push(server);
  await once(server, 'listening');
}

afterEach(() => {
  for (const server of listening.splice(0)) server.close();
});

describe('preferFreePort', () => {
  it('gives the preferred port where it is free', async () => {
    const port = await freePort();
    expect(await preferFreePort(port)).toBe(port);
  });

  it.each(['127.0.0.1', '0.0.0.0'])('gives another, free one where somebody listens at %s', async (host) => {
    const taken = await freePort();
    await listenAt(taken, host);
    const port = await preferFreePort(taken);
    expect(port).not.toBe(taken);
    expect(await isFree(port)).toBe(true);
  });
});

describe('freePort', () => {
  it('never gives this process the same port twice, asked one after the other or at once', async () => {
    const [first, second, third] = [await unusedPort(), await unusedPort(), await unusedPort()];
    const drawn = [first, first, second, second, third];
    const draw = (): number => drawn.shift() ?? 0;
    expect(await freePort(draw)).toBe(first);
    expect(await Promise.all([freePort(draw), freePort(draw)])).toEqual([second, third]);
  });

  it('draws again where somebody listens', async () => {
    const [taken, free] = [await unusedPort(), await unusedPort()];
    await listenAt(taken, '127.0.0.1');
    const drawn = [taken, free];
    expect(await freePort(() => drawn.shift() ?? 0)).toBe(free);
  });
});

/** From the kernel's own range, out of which freePort hands out none by itself. */
async function unusedPort(): Promise<number> {
  const server = createServer().listen({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
