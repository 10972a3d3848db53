import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';
import { buildPrograms } from '../local/build.ts';
import packageJson from '../package.json' with { type: 'json' };
import { fieldsOf, listOf } from '../src/api/fields.ts';
import { testStack } from './support/stack.ts';

jest.setTimeout(600_000);

const ROOT = join(import.meta.dirname, '..');
const RELEASE = join(ROOT, 'dist/release');
const { version } = packageJson;
const REPOSITORY = 'registry.example.com/durable-operator';
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;
const IMAGE = `${REPOSITORY}@${DIGEST}`;
const run = promisify(execFile);

describe("GitHub's workflows", () => {
  it('are accepted by actionlint', async () => {
    const { actionlint } = await buildPrograms(['actionlint'], {});
    const folder = join(ROOT, '.github/workflows');
    const files = (await readdir(folder)).map((name) => join(folder, name));
    // The checkers of scripts would be asked only where they are installed.
    const { stdout } = await run(actionlint, ['-shellcheck=', '-pyflakes=', ...files]);
    expect(stdout).toBe('');
  });
});

describe('a release', () => {
  /** Where archives are unpacked; the packages that they depend on are beside them. */
  let unpacked: string;

  beforeAll(async () => {
    const github = ['--github', 'example/durable-operator'];
    await run(process.execPath, [join(ROOT, 'deploy/release.ts'), '--image', IMAGE, ...github]);
    unpacked = await mkdtemp(join(tmpdir(), 'durable-operator-release-'));
  });

  afterAll(async () => {
    await rm(unpacked, { recursive: true });
  });

  async function unpack(archive: string): Promise<string> {
    const folder = join(unpacked, archive);
    await mkdir(folder);
    await run('tar', ['-xzf', join(RELEASE, archive), '-C', folder]);
    return folder;
  }

  it('consists of what the workflow publishes', async () => {
    expect((await readdir(RELEASE)).sort()).toEqual([
      'checksums.txt',
      `create-durable-operator-${version}.tgz`,
      `durable-operator-chart-${version}.tgz`,
      `durable-operator-npm-${version}.tgz`,
      'durable.yaml',
      'install.yaml',
      'kubectl-durable.tar.gz',
      'notes.md',
      'sbom.cdx.json',
    ]);
  });

  it('has a checksum of every file', async () => {
    await run('sha256sum', ['--check', '--strict', 'checksums.txt'], { cwd: RELEASE });
    const sums = await readFile(join(RELEASE, 'checksums.txt'), 'utf8');
    const files = (await readdir(RELEASE)).filter((name) => name !== 'checksums.txt').sort();
    expect(
      sums
        .trim()
        .split('\n')
        .map((line) => line.split('  ')[1]),
    ).toEqual(files);
  });

  it('is installed by its digest, by the manifest as by the chart', async () => {
    const { helm } = await buildPrograms(['helm'], {});
    const chart = join(RELEASE, `durable-operator-chart-${version}.tgz`);
    const args = ['template', 'durable-operator', chart, '--set', 'controllers={pod-label}'];
    const { stdout } = await run(helm, args, { maxBuffer: 2 ** 26 });
    const images = [`${REPOSITORY}:${version}@${DIGEST}`];
    expect(imagesIn(stdout)).toEqual(images);
    const manifest = await readFile(join(RELEASE, 'install.yaml'), 'utf8');
    expect(imagesIn(manifest)).toEqual(images);
    expect(manifest).toContain(`oci://ghcr.io/example/charts/durable-operator --version ${version}`);
  });

  function imagesIn(manifests: string): unknown[] {
    const objects = parseAllDocuments(manifests).map((document) => fieldsOf(document.toJS()));
    const deployments = objects.filter(({ kind }) => kind === 'Deployment');
    return deployments.flatMap(({ spec }) => {
      const template = fieldsOf(fieldsOf(fieldsOf(spec)['template'])['spec']);
      return listOf(template['containers']).map(({ image }) => image);
    });
  }

  it('has a kubectl plugin that needs nothing but Node, with its place and its checksum for krew', async () => {
    const folder = await unpack('kubectl-durable.tar.gz');
    const program = join(folder, packageJson.bin['kubectl-durable']);
    const { kubeconfig, temporalAddress } = testStack();
    const env = { HOME: unpacked, KUBECONFIG: kubeconfig, TEMPORAL_ADDRESS: temporalAddress };
    const asked = run(process.execPath, [program, 'get', 'podsets', '-n', 'kube-public'], { env });
    // No operator runs, so it exits with 1.
    const stderr = await asked.then(
      (said) => said.stderr,
      (error: unknown) => String(fieldsOf(error)['stderr']),
    );
    expect(stderr).toMatch(/^No resources found$/m);
    const manifest: unknown = parse(await readFile(join(RELEASE, 'durable.yaml'), 'utf8'));
    const sums = await readFile(join(RELEASE, 'checksums.txt'), 'utf8');
    const [, sum = ''] = /^(\w+) {2}kubectl-durable\.tar\.gz$/m.exec(sums) ?? [];
    const place = `example/durable-operator/releases/download/v${version}/kubectl-durable.tar.gz`;
    const archive = { sha256: sum, uri: expect.stringContaining(place) };
    const { [`kubectl-durable`]: bin } = packageJson.bin;
    expect(manifest).toMatchObject({ spec: { version: `v${version}`, platforms: [{ ...archive, bin }] } });
  });

  it('has programs in the archive of the plugin that can be executed as they are', async () => {
    const { stdout } = await run('tar', ['-tvzf', join(RELEASE, 'kubectl-durable.tar.gz')]);
    const executable = stdout.split('\n').filter((line) => line.startsWith('-rwxr-xr-x'));
    const programs = [packageJson.bin['kubectl-durable'], packageJson.bin['kubectl_complete-durable']];
    expect(executable.map((line) => line.split(' ').at(-1)).sort()).toEqual(
      programs.map((program) => `./${program}`).sort(),
    );
  });

  describe('as an npm package', () => {
    let installed: string;

    beforeAll(async () => {
      installed = join(await unpack(`durable-operator-npm-${version}.tgz`), 'package');
      await symlink(join(ROOT, 'node_modules'), join(installed, '../node_modules'));
    });

    it('has every program of its package.json', async () => {
      for (const program of Object.values(packageJson.bin)) {
        const { stdout } = await run(process.execPath, [join(installed, program), '--help']);
        expect(stdout).not.toBe('');
      }
    });

    it('has neither sources nor tests', async () => {
      const all = await readdir(installed, { recursive: true });
      const files = all.filter((file) => !file.startsWith('create/template'));
      expect(files.filter((file) => /(?<!\.d)\.ts$|\.map$|^(src|test|bench)$/.test(file))).toEqual([]);
    });

    it('runs the local stack until the samples have converged', async () => {
      const program = join(installed, packageJson.bin['durable-operator']);
      const args = [
        'dev',
        '--dir',
        join(unpacked, 'stack'),
        '--exit-when-converged',
        '--samples',
        join(installed, 'deploy/samples'),
      ];
      const { stdout } = await run(process.execPath, [program, ...args], {
        env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
      });
      expect(stdout).toContain('stopped everything');
    });
  });
});
