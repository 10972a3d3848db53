import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPrograms, buildServers, defaultCacheDir } from '../../local/build.ts';
import { freePort } from '../../local/ports.ts';
import type { ServerArchive } from '../../local/server-archives.ts';
import { PROGRAMS } from '../../local/server-pins.ts';
import { FileServer } from '../support/file-server.ts';

/** The only folder on the PATH: what a test puts there is all that this machine has. */
let onPath: string;
let cacheDir: string;
let folder: string;
const environment = { ...process.env };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'build-test-'));
  onPath = join(folder, 'bin');
  cacheDir = join(folder, 'cache');
  said.length = 0;
  await mkdir(onPath);
  delete process.env['KUBEBUILDER_ASSETS'];
  process.env['PATH'] = onPath;
  process.env['DURABLE_OPERATOR_MIRROR'] = 'off';
});

afterEach(async () => {
  process.env = { ...environment };
  await rm(folder, { recursive: true });
});

async function install(name: string, script: string): Promise<void> {
  await writeFile(join(onPath, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** Makes each program that is asked for, as go names it: after the package, if the output is a folder. */
const MAKES_PROGRAMS = `
for package in "$@"; do
  case $output in */) file=$output\${package##*/};; *) file=$output;; esac
  echo "a program" >"$file"; /bin/chmod +x "$file"
done`;

/** A Go that runs a script with the variable \`output\` and the packages in "$@". */
async function installGo(version: string, build = MAKES_PROGRAMS) {
  await install(
    'go',
    `case $1 in env) echo ${version}; exit;; list) exit;; esac
while [ "$1" != -o ]; do shift; done
output=$2; shift 2
${build}`,
  );
}

const said: string[] = [];
const say = (line: string) => void said.push(line);

/** A line a module. */
function built(): string[] {
  return said.flatMap((line) => /^building (.*);/.exec(line)?.slice(1) ?? []);
}

describe('buildServers', () => {
  it('says where to get Go, and what else would do, when there is none', async () => {
    await expect(buildServers({ cacheDir, say, archives: [] })).rejects.toThrow(
      /^Go is not installed.*docker-compose\.yml.*Go 1\.26 or later from https:\/\/go\.dev\/dl\/.*KUBECONFIG and TEMPORAL_ADDRESS/,
    );
  });

  it("shows Go's message when it does not accept the module", async () => {
    await install('go', 'echo "go: go.mod requires go >= 1.26.0 (running go 1.22.1)" >&2; exit 1');
    const refused = buildServers({ cacheDir, say });
    await expect(refused).rejects.toThrow(/Go cannot be used: .*requires go >= 1\.26\.0/);
  });

  it('builds every program once, those of a module together, also where two build at once', async () => {
    await installGo('go1.26.8');
    const [binaries, others] = await Promise.all([
      buildServers({ cacheDir, say }),
      buildServers({ cacheDir, say: () => undefined }),
    ]);
    expect(others).toEqual(binaries);
    expect(built()).toEqual([
      'etcd',
      'kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, kwok',
      'temporal',
    ]);
    await rm(join(onPath, 'go'));
    expect(await buildServers({ cacheDir, say })).toEqual(binaries);
    expect(built()).toHaveLength(3);
  });

  it('builds only what is missing', async () => {
    await installGo('go1.26.8');
    const { kwok } = await buildServers({ cacheDir, say });
    await rm(kwok);
    await buildServers({ cacheDir, say });
    expect(built().slice(3)).toEqual(['kwok']);
    expect(await readFile(kwok, 'utf8')).toBe('a program\n');
  });

  it('uses a fitting program of KUBEBUILDER_ASSETS or the PATH instead of building it', async () => {
    await installGo('go1.26.8');
    await install('etcd', 'echo "etcd Version: 3.7.99"');
    await install('kwok', 'echo "kwok version v0.1.0"');
    const assets = join(folder, 'assets');
    await mkdir(assets);
    process.env['KUBEBUILDER_ASSETS'] = assets;
    await install('../assets/kubectl', 'echo "Client Version: v1.36.1"');
    await install('../assets/etcd', 'echo "etcd Version: 3.5.0"');
    const binaries = await buildServers({ cacheDir, say });
    expect(binaries.etcd).toBe(join(onPath, 'etcd'));
    expect(binaries.kubectl).toBe(join(assets, 'kubectl'));
    expect(binaries.kwok).toContain(cacheDir);
  });

  it("shows the end of go's output, and its log, when a build fails, and caches nothing", async () => {
    await installGo('go1.26.8', 'echo "half" >"$output"; echo "dial tcp: no such host" >&2; exit 1');
    const failed = await buildServers({ cacheDir, say }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ name: 'BuildFailed' });
    expect(String(failed)).toMatch(
      /building tools\/etcd failed; the whole log is .*build-etcd\.log.*\ndial tcp: no such host\nRun the same command again/,
    );
    expect(await readdir(cacheDir)).toEqual(['build-etcd.log']);
  });
});

describe('downloaded servers', () => {
  const mirror = new FileServer();

  beforeEach(async () => {
    await install('tar', 'PATH=/usr/bin:/bin; exec tar "$@"');
    await mirror.start();
    process.env['DURABLE_OPERATOR_MIRROR'] = `${mirror.url}/`;
  });

  afterEach(() => mirror.stop());

  /** On the mirror, with two programs in it. */
  async function anArchive(): Promise<ServerArchive> {
    const bin = join(folder, 'release/bin');
    await mkdir(bin, { recursive: true });
    await Promise.all(['etcd', 'kwok'].map((name) => writeFile(join(bin, name), `official ${name}`)));
    const content = execFileSync('/usr/bin/tar', ['-cz', '-C', folder, 'release'], { env: environment });
    mirror.serve('/example.org/v1/release.tar.gz', content);
    const url = 'https://example.org/v1/release.tar.gz';
    return { ...of('etcd', 'kwok'), url, sha: sha256(content), folder: 'release/bin' };
  }

  /** On the mirror: a file that is the program. */
  function aProgram(): ServerArchive {
    const content = Buffer.from('official temporal');
    mirror.serve('/example.org/v1/temporal', content);
    return { ...of('temporal'), url: 'https://example.org/v1/temporal', sha: sha256(content) };
  }

  function of(...programs: ServerArchive['programs']): Omit<ServerArchive, 'url' | 'sha'> {
    const platform = `${process.platform}-${process.arch}`;
    return { platform, programs, version: '1.2.3', source: 'https://example.org' };
  }

  function sha256(content: Buffer): string {
    return createHash('sha256').update(content).digest('hex');
  }

  it('are kept, and are executable; the others are built', async () => {
    await installGo('go1.26.8');
    const archives = [await anArchive(), aProgram()];
    const binaries = await buildServers({ cacheDir, say, archives });
    const programs = await Promise.all(PROGRAMS.map((name) => readFile(binaries[name], 'utf8')));
    expect(programs.map((program) => program.trim())).toEqual([
      'official etcd',
      ...Array.from({ length: 4 }, () => 'a program'),
      ...['official kwok', 'official temporal'],
    ]);
    expect(said[0]).toBe('downloading 1 MB, only the first time: etcd, kwok 1.2.3; temporal 1.2.3');
    expect(built()).toEqual(['kube-apiserver, kube-controller-manager, kube-scheduler, kubectl']);
    const requests = mirror.ranges.length;
    expect(await buildServers({ cacheDir, say, archives })).toEqual(binaries);
    expect(mirror.ranges).toHaveLength(requests);
  });

  it('leave nothing else in the cache', async () => {
    await buildPrograms(['etcd', 'temporal'], { cacheDir, say, archives: [await anArchive(), aProgram()] });
    const kept = (await readdir(cacheDir)).map((name) => name.replace(/-[0-9a-f]{16}$/, ''));
    expect(kept).toEqual(['downloads', 'etcd', 'temporal']);
    expect(await readdir(join(cacheDir, 'downloads'))).toEqual([]);
  });

  it('are those of this platform, which do not fit elsewhere', async () => {
    await installGo('go1.26.8');
    await buildPrograms(['temporal'], {
      cacheDir,
      say,
      archives: [{ ...aProgram(), platform: 'aix-ppc64' }],
    });
    expect(said).toEqual([expect.stringMatching(/^building temporal;/)]);
  });

  it('are not used before a program of the machine that fits', async () => {
    await install('temporal', 'echo "temporal version 1.5.1"');
    const { temporal } = await buildPrograms(['temporal'], { cacheDir, say, archives: [aProgram()] });
    expect(temporal).toBe(join(onPath, 'temporal'));
    expect(said).toEqual([]);
  });

  it('are built if they cannot be downloaded, with the reason', async () => {
    await installGo('go1.26.8');
    const port = await freePort();
    process.env['DURABLE_OPERATOR_MIRROR'] = `http://127.0.0.1:${port}`;
    const binaries = await buildPrograms(['etcd', 'temporal'], {
      ...{ cacheDir, say },
      archives: [await anArchive(), aProgram()],
    });
    expect(said).toEqual([
      `cannot download servers: 127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}; building them with Go`,
      expect.stringMatching(/^building etcd;/),
      expect.stringMatching(/^building temporal;/),
    ]);
    expect(await readFile(binaries.etcd, 'utf8')).toBe('a program\n');
  });

  it('are built if their archive is not as expected', async () => {
    await installGo('go1.26.8');
    const archive = { ...(await anArchive()), folder: 'elsewhere' };
    await buildPrograms(['etcd'], { cacheDir, say, archives: [archive] });
    expect(said.at(-2)).toMatch(
      /^cannot download servers: tar cannot unpack release\.tar\.gz: .*elsewhere\/etcd/,
    );
    expect(built()).toEqual(['etcd']);
  });

  it('need no Go; with neither, one sentence says the three ways out', async () => {
    const archives = [aProgram()];
    await buildPrograms(['temporal'], { cacheDir, say, archives });
    process.env['DURABLE_OPERATOR_MIRROR'] = 'off';
    await rm(cacheDir, { recursive: true });
    await expect(buildPrograms(['temporal'], { cacheDir, say, archives })).rejects.toThrow(
      /^Go is not installed.*, and servers cannot be downloaded \(DURABLE_OPERATOR_MIRROR is off\)\. Connect to the Internet or name a mirror \(DURABLE_OPERATOR_MIRROR\), install Go 1\.26 .*, or point KUBECONFIG and TEMPORAL_ADDRESS at servers of your own$/,
    );
  });

  it('are not downloaded in vain where other programs need Go', async () => {
    await expect(
      buildPrograms(['etcd', 'temporal'], { cacheDir, say, archives: [aProgram()] }),
    ).rejects.toThrow('Go is not installed');
    expect(said).toEqual([]);
  });
});

describe('the cache folder', () => {
  it('is DURABLE_OPERATOR_CACHE, else in XDG_CACHE_HOME, else in ~/.cache', () => {
    expect(defaultCacheDir({ DURABLE_OPERATOR_CACHE: '/a', XDG_CACHE_HOME: '/b' })).toBe('/a');
    expect(defaultCacheDir({ XDG_CACHE_HOME: '/b' })).toBe('/b/durable-operator');
    expect(defaultCacheDir({})).toMatch(/\/\.cache\/durable-operator$/);
  });
});
