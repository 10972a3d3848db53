import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporalConfigRotated } from '../../src/config/temporal-rotation.ts';
import { temporalFrom } from '../../src/config/temporal.ts';

let dir: string;
let env: NodeJS.ProcessEnv;
let ending: AbortController;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'rotation-'));
  await write('first');
  env = {
    TEMPORAL_ADDRESS: 'temporal.example:7233',
    TEMPORAL_TLS_CLIENT_CERT_PATH: join(dir, 'tls.crt'),
    TEMPORAL_TLS_CLIENT_KEY_PATH: join(dir, 'tls.key'),
  };
  ending = new AbortController();
});

afterEach(() => rm(dir, { recursive: true }));

async function write(what: string): Promise<void> {
  await writeFile(join(dir, 'tls.crt'), `${what} certificate`);
  await writeFile(join(dir, 'tls.key'), `${what} key`);
}

function rotated(): Promise<void> {
  const started = temporalFrom(env, (problem) => expect(problem).toBeUndefined());
  return temporalConfigRotated(started, env, { signal: ending.signal, everyMs: 1 });
}

describe('the configuration of Temporal', () => {
  it('has changed once a certificate was rotated', async () => {
    const waiting = rotated();
    await write('second');
    await expect(waiting).resolves.toBeUndefined();
  });

  it('has not changed while its files are the same, or cannot be read', async () => {
    const waiting = rotated();
    await write('first');
    await rm(join(dir, 'tls.key'));
    for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setTimeout(resolve, 1));
    ending.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  });
});
