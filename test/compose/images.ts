import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { buildServers, defaultCacheDir } from '../../local/build.ts';
import { ROOT, run } from './docker.ts';

/** The images that the operator's is made from, without their digests: what is made here has another. */
export async function basesByName(): Promise<Readonly<Record<string, string>>> {
  const dockerfile = await readFile(join(ROOT, 'deploy/Dockerfile'), 'utf8');
  const found = dockerfile.matchAll(/^ARG (\w+_IMAGE)=([^@\s]+)@/gm);
  return Object.fromEntries([...found].map(([, argument = '', name = '']) => [argument, name]));
}

const Compose = z.object({ services: z.record(z.string(), z.object({ image: z.string() })) });

/** For each target of tools/images/Dockerfile, the name of the published image. */
async function imagesByTarget(): Promise<Readonly<Record<string, string>>> {
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
 * Makes an image under the name of every published one that `docker compose up` would pull, on a machine with Go and
 * Debian's `mmdebstrap` that reaches package registries and no image registry. Safe to repeat.
 */
export async function makeImages(docker: string): Promise<void> {
  const context = join(defaultCacheDir(), 'images');
  await fill(context);
  for (const [target, name] of Object.entries(await imagesByTarget())) {
    console.log(`making ${name}`);
    const dockerfile = join(ROOT, 'tools/images/Dockerfile');
    await run([docker, 'build', '--quiet', '--file', dockerfile, '--target', target, '--tag', name, context]);
  }
}

async function fill(context: string): Promise<void> {
  await mkdir(context, { recursive: true });
  await debianIn(context);
  await mkdir(join(context, 'local'), { recursive: true });
  const servers = Object.entries(await buildServers({}));
  for (const [name, path] of servers) await copyFile(path, join(context, 'local', name));
  await temporalIn(context);
  await nodeIn(context);
  for (const file of ['images/postgres.sh', 'images/k3s.sh', 'kwok/stages.yaml']) {
    await copyFile(join(ROOT, 'tools', file), join(context, file.replace(/^.*\//, '')));
  }
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

interface GoImage {
  /** Where its go.mod is, in tools/. */
  readonly pinned: string;
  /** Where the Dockerfile looks for it. */
  readonly folder: string;
  readonly goModule: string;
  readonly goPackages: readonly string[];
  /** A file of the module that the published image has, too, and its name here. */
  readonly file: readonly [from: string, to: string];
}

const TEMPORAL: readonly GoImage[] = [
  {
    pinned: 'temporal-server',
    folder: 'temporal',
    goModule: 'go.temporal.io/server',
    goPackages: ['go.temporal.io/server/cmd/server', 'go.temporal.io/server/cmd/tools/sql'],
    file: ['docker/scripts/sh/entrypoint.sh', 'entrypoint.sh'],
  },
  {
    pinned: 'images/temporal-ui',
    folder: 'temporal-ui',
    goModule: 'github.com/temporalio/ui-server/v2',
    goPackages: ['github.com/temporalio/ui-server/v2/cmd/server'],
    file: ['config/docker.yaml', 'docker.yaml'],
  },
];

async function temporalIn(context: string): Promise<void> {
  for (const { pinned, folder, goModule, goPackages, file } of TEMPORAL) {
    const cwd = join(ROOT, 'tools', pinned);
    const target = join(context, folder, '/');
    console.log(`building ${goModule}; only the first time, this takes minutes`);
    await run(
      ['go', 'build', '-mod=readonly', '-buildvcs=false', '-ldflags=-s -w', '-o', target, ...goPackages],
      { cwd },
    );
    const [from, to] = file;
    const moduleFolder = (await run(['go', 'list', '-m', '-f', '{{.Dir}}', goModule], { cwd })).trim();
    await rm(join(target, to), { force: true }); // a copy out of Go's module cache is read-only
    await copyFile(join(moduleFolder, from), join(target, to));
  }
}

async function nodeIn(context: string): Promise<void> {
  await copyFile(join(ROOT, 'node_modules/node/bin/node'), join(context, 'node'));
  await run(['npm', 'install', '--silent', '--global', '--prefix', join(context, 'npm'), 'npm@11']);
  await copyFile(CERTIFICATES, join(context, 'certificates.crt'));
}
