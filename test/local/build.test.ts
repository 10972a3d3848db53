import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildServers, defaultCacheDir } from '../../local/build.ts';

/** The only folder on the PATH: what a test puts there is all that this machine has. */
let onPath: string;
let cacheDir: string;
let folder: string;
const { PATH: pathBefore, KUBEBUILDER_ASSETS: assetsBefore } = process.env;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'build-test-'));
  onPath = join(folder, 'bin');
  cacheDir = join(folder, 'cache');
  said.length = 0;
  await mkdir(onPath);
  delete process.env['KUBEBUILDER_ASSETS'];
  process.env['PATH'] = onPath;
});

afterEach(async () => {
  process.env['PATH'] = pathBefore;
  if (assetsBefore === undefined) delete process.env['KUBEBUILDER_ASSETS'];
  else process.env['KUBEBUILDER_ASSETS'] = assetsBefore;
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

/** What is built, a line a module. */
const said: string[] = [];
const say = (line: string) => void said.push(line.replace(/^building (.*);.*$/, '$1'));

describe('buildServers', () => {
  it('says where to get Go, and what else would do, when there is none', async () => {
    await expect(buildServers({ cacheDir, say })).rejects.toThrow(
      /Go is not installed.*Go 1\.26 or later.*https:\/\/go\.dev\/dl\/.*docker-compose\.yml.*KUBECONFIG and TEMPORAL_ADDRESS/,
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
    expect(said).toEqual([
      'etcd',
      'kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, kwok',
      'temporal',
    ]);
    await rm(join(onPath, 'go'));
    expect(await buildServers({ cacheDir, say })).toEqual(binaries);
    expect(said).toHaveLength(3);
  });

  it('builds only what is missing', async () => {
    await installGo('go1.26.8');
    const { kwok } = await buildServers({ cacheDir, say });
    await rm(kwok);
    await buildServers({ cacheDir, say });
    expect(said.slice(3)).toEqual(['kwok']);
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

describe('the cache folder', () => {
  it('is DURABLE_OPERATOR_CACHE, else in XDG_CACHE_HOME, else in ~/.cache', () => {
    expect(defaultCacheDir({ DURABLE_OPERATOR_CACHE: '/a', XDG_CACHE_HOME: '/b' })).toBe('/a');
    expect(defaultCacheDir({ XDG_CACHE_HOME: '/b' })).toBe('/b/durable-operator');
    expect(defaultCacheDir({})).toMatch(/\/\.cache\/durable-operator$/);
  });
});
