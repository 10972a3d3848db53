import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { freePort, isFree, preferFreePort } from '../../src/local/ports.ts';

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
  it('never gives this process the same port twice', async () => {
    const ports = await Promise.all(Array.from({ length: 50 }, () => freePort()));
    expect(new Set(ports).size).toBe(50);
  });
});
