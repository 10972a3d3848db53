import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { buildPrograms, defaultCacheDir } from '../../local/build.ts';
import { ROOT } from '../../local/root.ts';
import { PROGRAMS } from '../../local/server-pins.ts';
import { run } from './command.ts';

const NODE = 'durable-operator-stand-in-node';
const Compose = z.object({ services: z.record(z.string(), z.object({ image: z.string() })) });

/**
 * Makes an image under the name of each that docker-compose.yml pulls, as root on Debian, with Go and `debootstrap`.
 * Safe to repeat; the first time, it takes minutes.
 *
 * @returns the variables that name the base images of the operator's
 */
export async function makeStandIns(): Promise<Readonly<Record<string, string>>> {
  const folder = join(defaultCacheDir(), 'stand-ins');
  await mkdir(folder, { recursive: true });
  await debianInto(join(folder, 'debian.tar'));
  const { services } = Compose.parse(parse(await readFile(join(ROOT, 'docker-compose.yml'), 'utf8')));
  const imageOf = (service: string) => services[service]?.image ?? service;
  await programsInto(folder, imageOf('temporal-ui').replace(/.*:/, 'v'));
  for (const service of ['postgresql', 'temporal', 'temporal-schema', 'temporal-ui', 'kubernetes']) {
    await build(folder, service, imageOf(service));
  }
  await build(folder, 'node', NODE);
  return { NODE_IMAGE: NODE, RUNTIME_IMAGE: NODE };
}

async function build(folder: string, target: string, tag: string): Promise<void> {
  const dockerfile = join(import.meta.dirname, 'Dockerfile');
  await run(['docker', 'build', '--quiet', '--file', dockerfile, '--target', target, '--tag', tag, folder]);
}

const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** BusyBox is under the names of its commands, as in the published images. */
async function debianInto(tar: string): Promise<void> {
  if (existsSync(tar)) return;
  const root = await mkdtemp(join(tmpdir(), 'durable-operator-debian-'));
  const packages = ['busybox', 'ca-certificates', 'netcat-openbsd', 'openssl', 'postgresql-17'];
  await run(['debootstrap', '--variant=minbase', `--include=${packages.join(',')}`, 'trixie', root]);
  for (const name of ['sh', 'wget']) await run(['ln', '-sf', 'busybox', join(root, 'usr/bin', name)]);
  await copyFile(CERTIFICATES, join(root, CERTIFICATES));
  await run([
    'tar',
    '--create',
    '--one-file-system',
    '--directory',
    root,
    '--file',
    `${tar}.unfinished`,
    '.',
  ]);
  await rename(`${tar}.unfinished`, tar);
  await rm(root, { recursive: true });
}

const SERVER = 'go.temporal.io/server';
const UI = 'github.com/temporalio/ui-server/v2';

async function programsInto(folder: string, uiVersion: string): Promise<void> {
  const programs = { ...(await buildPrograms(PROGRAMS)), ...(await buildPrograms(['temporal-server'])) };
  const inServer = { cwd: join(ROOT, 'tools/temporal-server'), env: { GOWORK: 'off' } };
  await run(['go', 'build', '-o', join(folder, 'temporal-sql-tool'), `${SERVER}/cmd/tools/sql`], inServer);
  await run(['go', 'install', `${UI}/cmd/server@${uiVersion}`], { env: { GOBIN: folder } });
  await rename(join(folder, 'server'), join(folder, 'ui-server'));
  const folderOf = (goModule: string) => run(['go', 'list', '-m', '-f', '{{.Dir}}', goModule], inServer);
  await run(['npm', 'install', '--silent', '--global', '--prefix', join(folder, 'npm'), 'npm@11']);
  const files = {
    ...programs,
    node: process.execPath,
    'k3s.sh': join(import.meta.dirname, 'k3s.sh'),
    'postgres.sh': join(import.meta.dirname, 'postgres.sh'),
    'stages.yaml': join(ROOT, 'tools/kwok/stages.yaml'),
    'entrypoint.sh': join(await folderOf(SERVER), 'docker/scripts/sh/entrypoint.sh'),
    'docker.yaml': join(await folderOf(`${UI}@${uiVersion}`), 'config/docker.yaml'),
  };
  for (const [name, file] of Object.entries(files)) {
    await copyFile(file, join(folder, name));
    await chmod(join(folder, name), 0o755);
  }
}
