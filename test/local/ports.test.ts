import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { freePort, isFree, preferFreePort } from '../../local/ports.ts';

const listening: Server[] = [];

afterEach(() => {
  for (const server of listening.splice(0)) server.close();
});

describe('preferFreePort', () => {
  it('returns the preferred port if it is free', async () => {
    const port = await freePort();
    expect(await preferFreePort(port)).toBe(port);
  });

  it.each(['127.0.0.1', '0.0.0.0'])('returns another, free one if a server listens at %s', async (host) => {
    const taken = await freePort();
    const server = createServer().listen({ port: taken, host });
    listening.push(server);
    await once(server, 'listening');
    const port = await preferFreePort(taken);
    expect(port).not.toBe(taken);
    expect(await isFree(port)).toBe(true);
  });
});

describe('freePort', () => {
  it('never returns the same port twice', async () => {
    const ports = await Promise.all(Array.from({ length: 100 }, () => freePort()));
    expect(new Set(ports).size).toBe(100);
  });
});
