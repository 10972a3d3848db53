import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import { buildPrograms, defaultCacheDir } from '../../local/build.ts';
import {
  IMAGE_PROGRAMS,
  moduleFolder,
  PROGRAM_SOURCES,
  PROGRAMS,
  type ProgramName,
} from '../../local/server-pins.ts';
import { ROOT, run } from './docker.ts';

/** The images that the operator's is made from, without their digests: what is made here has another. */
export async function basesByName(): Promise<Readonly<Record<string, string>>> {
  const dockerfile = await readFile(join(ROOT, 'deploy/Dockerfile'), 'utf8');
  const found = dockerfile.matchAll(/^ARG (\w+_IMAGE)=([^@\s]+)@/gm);
  return Object.fromEntries([...found].map(([, argument = '', name = '']) => [argument, name]));
}

const Compose = z.object({ services: z.record(z.string(), z.object({ image: z.string() })) });

/** A target of tools/images/Dockerfile for each name that nothing is pulled under. */
async function targets(): Promise<Readonly<Record<string, string>>> {
  const { services } = Compose.parse(parse(await readFile(join(ROOT, 'docker-compose.yml'), 'utf8')));
  const bases = await basesByName();
  const imageOf = (service: string): string => services[service]?.image ?? service;
  return {
    postgres: imageOf('postgresql'),
    'temporal-server': imageOf('temporal'),
    'temporal-admin-tools': imageOf('temporal-schema'),
    'temporal-ui': imageOf('temporal-ui'),
    k3s: imageOf('kubernetes'),
    node: bases['NODE_IMAGE'] ?? '',
    'distroless-cc': bases['RUNTIME_IMAGE'] ?? '',
  };
}

/**
 * Makes an image under the name of every published one that `docker compose up` would pull, on a machine with Debian's
 * `mmdebstrap` that reaches package registries and no image registry. Safe to repeat.
 */
export async function makeImages(docker: string): Promise<void> {
  const context = join(defaultCacheDir(), 'images');
  await fill(context);
  for (const [target, name] of Object.entries(await targets())) {
    console.log(`making ${name}`);
    const dockerfile = join(ROOT, 'tools/images/Dockerfile');
    await run([docker, 'build', '--quiet', '--file', dockerfile, '--target', target, '--tag', name, context]);
  }
}

async function fill(context: string): Promise<void> {
  await mkdir(context, { recursive: true });
  await debianIn(context);
  const programs = await buildPrograms([...PROGRAMS, ...IMAGE_PROGRAMS], {});
  for (const [name, path] of Object.entries(programs)) await copyFile(path, join(context, name));
  for (const script of ['postgres.sh', 'k3s.sh']) {
    await copyFile(join(ROOT, 'tools/images', script), join(context, script));
  }
  await copyFile(join(ROOT, 'tools/kwok/stages.yaml'), join(context, 'stages.yaml'));
  await copyFromModule(
    'temporal-server',
    'docker/scripts/sh/entrypoint.sh',
    join(context, 'temporal-entrypoint.sh'),
  );
  await copyFromModule('temporal-ui', 'config/docker.yaml', join(context, 'temporal-ui.yaml'));
  await nodeIn(context);
}

const DEBIAN = 'trixie';
const ROOTS = {
  'debian.tar': {
    variant: 'minbase',
    packages: ['busybox', 'ca-certificates', 'netcat-openbsd', 'openssl', 'postgresql-17'],
  },
  // What distroless takes from Debian for C++ programs.
  'distroless-cc.tar': {
    variant: 'extract',
    packages: ['base-files', 'libgcc-s1', 'libgomp1', 'libssl3t64', 'libstdc++6', 'netbase'],
  },
} as const;
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** The file systems of Debian packages, which take a minute each. */
async function debianIn(context: string): Promise<void> {
  for (const [file, { variant, packages }] of Object.entries(ROOTS)) {
    const target = join(context, file);
    if (existsSync(target)) continue;
    console.log(`making ${file} of Debian's packages`);
    const options = [`--variant=${variant}`, '--format=tar', `--include=${packages.join(',')}`];
    const hooks = [
      'rm -rf "$1"/usr/share/doc "$1"/usr/share/man "$1"/usr/share/locale; mkdir -p "$1"/etc/ssl/certs',
      `copy-in ${CERTIFICATES} /etc/ssl/certs`,
    ].map((hook) => `--customize-hook=${hook}`);
    await run(['mmdebstrap', ...options, ...hooks, DEBIAN, `${target}.unfinished`]);
    await rename(`${target}.unfinished`, target);
  }
}

/** As the published image has it: the file is in the program's Go module. */
async function copyFromModule(name: ProgramName, file: string, target: string): Promise<void> {
  const source = PROGRAM_SOURCES[name];
  const { stdout } = await promisify(execFile)('go', ['list', '-m', '-f', '{{.Dir}}', source.goModule], {
    cwd: moduleFolder(source),
  });
  await rm(target, { force: true }); // Go's module cache is read-only, and so would be the copy
  await copyFile(join(stdout.trim(), file), target);
}

async function nodeIn(context: string): Promise<void> {
  await copyFile(join(ROOT, 'node_modules/node/bin/node'), join(context, 'node'));
  await run(['npm', 'install', '--silent', '--global', '--prefix', join(context, 'npm'), 'npm@11']);
  await copyFile(CERTIFICATES, join(context, 'certificates.crt'));
}
