import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import packageJson from '../package.json' with { type: 'json' };
import { defaultOptions } from '../src/config/config.ts';
import { MEMORY_FLAGS, MEMORY_VARIABLES } from '../local/operator.ts';

const ROOT = join(import.meta.dirname, '..');

interface Instruction {
  readonly keyword: string;
  readonly text: string;
}

/** The Dockerfile's instructions, line continuations joined, by the stage that they are in. */
const dockerfile = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');
const stages = stagesOf(dockerfile);
const everyInstruction = stages.flat();
const image = stages.at(-1) ?? [];

function stagesOf(dockerfile: string): Instruction[][] {
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter(Boolean);
  const stages: Instruction[][] = [];
  for (const line of lines) {
    const [keyword = '', ...words] = line.split(' ');
    if (keyword === 'FROM') stages.push([]);
    stages.at(-1)?.push({ keyword, text: words.join(' ') });
  }
  return stages;
}

function textsOf(instructions: readonly Instruction[], keyword: string): string[] {
  return instructions.filter((instruction) => instruction.keyword === keyword).map(({ text }) => text);
}

/** What a stage takes from the work tree. */
function copiedFrom(instructions: readonly Instruction[]): string[] {
  return textsOf(instructions, 'COPY')
    .filter((text) => !text.startsWith('--from='))
    .flatMap((text) => text.split(' ').slice(0, -1))
    .filter((word) => !word.startsWith('--'));
}

describe('the image', () => {
  it('has the Node that everything here is tested with', () => {
    const [base = ''] = /(?<=^ARG NODE_IMAGE=)[^@]+/m.exec(dockerfile) ?? [];
    expect(base).toBe(`node:${packageJson.devDependencies.node}-trixie-slim`);
    const compiled = stages.slice(0, -1).flatMap((stage) => textsOf(stage, 'FROM'));
    expect(compiled.filter((text) => !text.includes('${NODE_IMAGE} AS '))).toEqual([]);
    expect(textsOf(image, 'COPY')).toContain('--from=node /usr/local/bin/node /usr/local/bin/');
  });

  it('is made of images that are named by their digests, and that an argument may replace', () => {
    const given = [...dockerfile.matchAll(/^ARG (\w+)=\S+@sha256:[0-9a-f]{64}$/gm)].map(([, name]) => name);
    const used = everyInstruction.filter(({ keyword }) => keyword === 'FROM').map(({ text }) => text);
    expect(used.map((text) => /\$\{(\w+)\}/.exec(text)?.[1]).filter((name) => !given.includes(name))).toEqual(
      [],
    );
  });

  it('has a last stage without commands: it deletes nothing of a layer below, and needs no shell', () => {
    expect(textsOf(image, 'RUN')).toEqual([]);
  });

  it('can be read by any user, whatever the umask of the checkout was', () => {
    const fromCheckout = textsOf(image, 'COPY').filter((text) => !text.startsWith('--from='));
    expect(fromCheckout).toEqual(['--chmod=0644 package.json ./']);
  });

  it('says its version, which is that of package.json, and its revision', () => {
    expect(textsOf(image, 'ARG')).toEqual([`VERSION=${packageJson.version}`, 'REVISION=unknown']);
    const [labels] = textsOf(image, 'LABEL');
    expect(labels).toContain('org.opencontainers.image.version="${VERSION}"');
    expect(labels).toContain('org.opencontainers.image.revision="${REVISION}"');
    expect(labels).toContain(`org.opencontainers.image.licenses="${packageJson.license}"`);
    expect(labels).toContain(`org.opencontainers.image.description="${packageJson.description}"`);
  });

  it('does not run as root, and says so by number', () => {
    expect(textsOf(image, 'USER')).toEqual(['1000:1000']);
  });

  it('runs the program that the build makes, with the memory that is tested', () => {
    const [entrypoint = ''] = textsOf(image, 'ENTRYPOINT');
    expect(z.array(z.string()).parse(JSON.parse(entrypoint))).toEqual([
      'node',
      ...MEMORY_FLAGS,
      packageJson.bin['durable-operator'],
    ]);
    expect(textsOf(image, 'CMD')).toEqual(['["run"]']);
    for (const [name, value] of Object.entries(MEMORY_VARIABLES)) {
      expect(textsOf(image, 'ENV').join(' ').split(' ')).toContain(`${name}=${value}`);
    }
  });

  it('exposes the ports of metrics and health', () => {
    const { metrics, health } = defaultOptions();
    const ports = [metrics, health].map(({ address }) => (address === 'off' ? '' : address.port));
    expect(textsOf(image, 'EXPOSE')).toEqual([ports.join(' ')]);
  });

  it('lets no package run an install script', () => {
    const installs = textsOf(everyInstruction, 'RUN').filter((text) => /npm (ci|install)/.test(text));
    expect(installs).toHaveLength(2);
    expect(installs.filter((text) => !text.includes('npm ci --ignore-scripts'))).toEqual([]);
  });
});

describe('the local stack', () => {
  it('is not compiled by the build, which reads only what is copied into the image', async () => {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const args = [tsc, '-p', 'tsconfig.build.json', '--listFilesOnly'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
    const files = stdout
      .trim()
      .split('\n')
      .map((file) => relative(ROOT, file));
    expect(files).toContain(join('src', 'main.ts'));
    const readable = ['node_modules', ...copiedFrom(everyInstruction)];
    expect(files.filter((file) => !readable.includes(file.split('/')[0] ?? ''))).toEqual([]);
  });

  it('is not copied into the image, where the command `local` says in one line what to do', async () => {
    const copy = await mkdtemp(join(tmpdir(), 'durable-operator-image-'));
    try {
      for (const path of copiedFrom(everyInstruction)) {
        await cp(join(ROOT, path), join(copy, path), { recursive: true });
      }
      await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
      const local = promisify(execFile)(process.execPath, [join(copy, 'src/main.ts'), 'local'], { env: {} });
      await expect(local).rejects.toMatchObject({
        code: 2,
        stdout: '',
        stderr:
          'durable-operator: the command local is part of the source checkout and of the npm package; run it there\n',
      });
    } finally {
      await rm(copy, { recursive: true });
    }
  });
});

describe('.dockerignore', () => {
  const allowed = readFileSync(join(ROOT, '.dockerignore'), 'utf8').trim().split('\n');

  it('lets through what the Dockerfile copies, and nothing else', () => {
    const copied = [...new Set(copiedFrom(everyInstruction).map((path) => path.replace('./', '')))];
    expect(allowed).toEqual(['*', ...copied.map((path) => `!${path}`)]);
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});
