import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildPrograms } from '../local/build.ts';
import { documentedCommands } from './support/documented.ts';

const BUILD_TIMEOUT_MS = 600_000;
const PROGRAMS = ['kubectl', 'helm', 'temporal'] as const;

/** `kubectl durable` is a program of ours: test/docs.test.ts. */
const commands = documentedCommands().filter(
  ({ words: [program, plugin] }) => PROGRAMS.some((name) => name === program) && plugin !== 'durable',
);

describe('the documentation', () => {
  let bin: string;

  beforeAll(async () => {
    bin = await mkdtemp(join(tmpdir(), 'documented-'));
    const programs = await buildPrograms(PROGRAMS, {});
    for (const name of PROGRAMS) await symlink(programs[name], join(bin, name));
  }, BUILD_TIMEOUT_MS);

  afterAll(async () => {
    await rm(bin, { recursive: true });
  });

  // With --help, a command does nothing. But it first reads its flags, and refuses those that it does not have.
  it.each(commands)('calls with flags that exist, $page: $line', async ({ line }) => {
    const env = { ...process.env, PATH: `${bin}:${process.env['PATH'] ?? ''}` };
    const [command = ''] = line.split(/ [|>] /);
    await promisify(execFile)('bash', ['-c', `${command} --help`], { env });
  });

  it('is seen to be wrong where a flag does not exist', async () => {
    const wrong = promisify(execFile)(join(bin, 'kubectl'), ['get', 'pods', '--no-such-flag', '--help']);
    await expect(wrong).rejects.toMatchObject({ stderr: expect.stringContaining('no-such-flag') });
  });
});
