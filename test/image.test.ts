import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import packageJson from '../package.json' with { type: 'json' };
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
  it('says its version, which is that of package.json, and its revision', () => {
    expect(textsOf(image, 'ARG')).toEqual([`VERSION=${packageJson.version}`, 'REVISION=unknown']);
    const [labels] = textsOf(image, 'LABEL');
    expect(labels).toContain('org.opencontainers.image.version="${VERSION}"');
    expect(labels).toContain('org.opencontainers.image.revision="${REVISION}"');
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

  it('lets no package run an install script', () => {
    const installs = textsOf(everyInstruction, 'RUN').filter((text) => /npm (ci|install)/.test(text));
    expect(installs).toHaveLength(2);
    expect(installs.filter((text) => !text.includes('npm ci --ignore-scripts'))).toEqual([]);
  });
});

describe('the local stack', () => {
  it('is not copied into the image, where the command `dev` says in one line what to do', async () => {
    const copy = await mkdtemp(join(tmpdir(), 'durable-operator-image-'));
    try {
      for (const path of copiedFrom(everyInstruction)) {
        await cp(join(ROOT, path), join(copy, path), { recursive: true });
      }
      await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
      const dev = promisify(execFile)(process.execPath, [join(copy, 'src/main.ts'), 'dev'], { env: {} });
      await expect(dev).rejects.toMatchObject({
        code: 2,
        stdout: '',
        stderr:
          'durable-operator: the command dev is part of the source checkout and of the npm package; run it there\n',
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
