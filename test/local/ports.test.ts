import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { freePort, isFree, preferFreePort } from '../../local/ports.ts';

it.each(['127.0.0.1', '0.0.0.0'])('a port is not preferred where a server listens at %s', async (host) => {
  const preferred = await freePort();
  expect(await preferFreePort(preferred)).toBe(preferred);
  const server = createServer().listen({ port: preferred, host });
  await once(server, 'listening');
  const port = await preferFreePort(preferred);
  server.close();
  expect(port).not.toBe(preferred);
  expect(await isFree(port)).toBe(true);
});
