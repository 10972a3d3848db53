import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporalConfigRotated } from '../../src/config/temporal-rotation.ts';
import { temporalFrom } from '../../src/config/temporal.ts';
import { eventually } from '../../testing/eventually.ts';

let dir: string;
let env: NodeJS.ProcessEnv;
let ending: AbortController;
/** How often the address was read: each look at the configuration reads it as often as the first. */
let reads: number;
let readsOfALook: number;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'rotation-'));
  await write('first');
  reads = 0;
  env = {
    get TEMPORAL_ADDRESS() {
      reads += 1;
      return 'temporal.example:7233';
    },
    TEMPORAL_TLS_CLIENT_CERT_PATH: join(dir, 'tls.crt'),
    TEMPORAL_TLS_CLIENT_KEY_PATH: join(dir, 'tls.key'),
  };
  ending = new AbortController();
});

afterEach(() => rm(dir, { recursive: true }));

/** At once, as Kubernetes replaces the files of a Secret: one that is being written is empty for a while. */
async function write(what: string): Promise<void> {
  for (const [file, text] of [
    ['tls.crt', `${what} certificate`],
    ['tls.key', `${what} key`],
  ] as const) {
    await writeFile(join(dir, 'new'), text);
    await rename(join(dir, 'new'), join(dir, file));
  }
}

function rotated(): Promise<void> {
  const started = temporalFrom(env, (problem) => expect(problem).toBeUndefined());
  readsOfALook = reads;
  return temporalConfigRotated(started, env, { signal: ending.signal, everyMs: 1 });
}

/** One may be under way, and what is new is settled only at the second look that shows it. */
async function severalLooks(): Promise<void> {
  const before = reads;
  await eventually(() => reads >= before + 4 * readsOfALook);
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
    await severalLooks();
    await rm(join(dir, 'tls.key'));
    await severalLooks();
    ending.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  });
});
