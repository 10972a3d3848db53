import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildPrograms } from '../local/build.ts';
import { NAMESPACES, TestCluster } from './support/cluster.ts';
import { documentedCommands, PAGES } from './support/documented.ts';
import { testStack } from './support/stack.ts';

jest.setTimeout(120_000);

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

  it('installs the operator for Temporal Cloud into a cluster that has nothing of it', async () => {
    const { kubeconfig } = testStack();
    const page = PAGES.get('docs/temporal-cloud.md') ?? '';
    const [, block = ''] = /^```sh\n(kubectl create [^]*?)^```/m.exec(page) ?? [];
    const dir = await mkdtemp(join(bin, 'install-'));
    await symlink(join(import.meta.dirname, '../deploy'), join(dir, 'deploy'));
    await writeFile(join(dir, 'api-key'), 'key');
    const env = { ...process.env, KUBECONFIG: kubeconfig, PATH: `${bin}:${process.env['PATH'] ?? ''}` };
    const cluster = new TestCluster(kubeconfig);
    try {
      // The stack has cluster-wide objects of the operator already, and its nodes could not run the image.
      const script = `set -e\n${block.trim()} --dry-run=server --set crds=false,fullnameOverride=fresh`;
      const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: dir, env });
      expect(stdout).toMatch(/^secret\/temporal-api-key created$/m);
      expect(stdout).toMatch(/^STATUS: pending-install$/m);
    } finally {
      await cluster.delete({ type: NAMESPACES, name: 'durable-operator-system' });
      await cluster.close();
    }
  });

  it('is seen to be wrong where a flag does not exist', async () => {
    const wrong = promisify(execFile)(join(bin, 'kubectl'), ['get', 'pods', '--no-such-flag', '--help']);
    await expect(wrong).rejects.toMatchObject({ stderr: expect.stringContaining('no-such-flag') });
  });
});
