import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../local/ports.ts';
import { parseConfig } from '../src/config/config.ts';
import { durableOperator as program } from '../src/controllers/index.ts';
import { runOperator } from '../src/program/running.ts';
import { eventually } from '../testing/eventually.ts';
import { aRecordingLogger } from './support/recording-logger.ts';
import { testStack } from './support/stack.ts';

let dir: string;
const env = process.env;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'rotation-'));
});

afterAll(async () => {
  process.env = env;
  await rm(dir, { recursive: true });
});

it('an operator that still waits for Temporal ends, too, once what it connects with has changed', async () => {
  const file = join(dir, 'temporal.toml');
  const profileOf = (key: string) => writeFile(file, `[profile.default]\napi_key = "${key}"\n`);
  await profileOf('old');
  const nobody = `127.0.0.1:${await freePort()}`;
  process.env = { ...env, TEMPORAL_CONFIG_FILE: file, TEMPORAL_ADDRESS: nobody, TEMPORAL_TLS: 'false' };
  const args = ['watch', '--kubeconfig', testStack().kubeconfig, '--health-addr', '0', '--metrics-addr', '0'];
  const parsed = await parseConfig(program, args, process.env);
  if (parsed.kind === 'exit') throw new Error(parsed.output);
  const log = aRecordingLogger();
  const ending = new AbortController();
  const running = runOperator({
    ...{ program, config: parsed.config, log, signal: ending.signal, lookEveryMs: 20 },
  }).catch((error: unknown) => error);
  await eventually(() => log.lines.some(({ message }) => message.includes('cannot be reached')));
  await profileOf('new');
  const tooLate = setTimeout(() => ending.abort(), 4000);
  expect(await running).toMatchObject({ name: 'AbortError' });
  clearTimeout(tooLate);
  expect(ending.signal.aborted).toBe(false);
});
