import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildServers, defaultCacheDir, showBuildProgress, type BuildProgress } from '../../local/build.ts';
import { PROGRAMS } from '../../local/server-pins.ts';

/** The only folder on the PATH: what a test puts there is all that this machine has. */
let onPath: string;
let cacheDir: string;
let folder: string;
const pathBefore = process.env['PATH'];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'build-test-'));
  onPath = join(folder, 'bin');
  cacheDir = join(folder, 'cache');
  await mkdir(onPath);
  process.env['PATH'] = onPath;
});

afterEach(async () => {
  process.env['PATH'] = pathBefore;
  await rm(folder, { recursive: true });
});

async function install(name: string, script: string): Promise<void> {
  await writeFile(join(onPath, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** A Go that builds a file with the words "a program" by calling `build`. */
async function installGo(version: string, build = 'echo "a program" >"$output"; /bin/chmod +x "$output"') {
  const findOutput = 'while [ "$1" != -o ]; do shift; done; output=$2';
  await install('go', `if [ "$1" = env ]; then echo ${version}; else ${findOutput}; ${build}; fi`);
}

async function progressOfBuild(): Promise<BuildProgress[]> {
  const seen: BuildProgress[] = [];
  await buildServers({ cacheDir, onProgress: (progress) => seen.push(progress) });
  return seen;
}

describe('buildServers', () => {
  it('says where to get Go, and what else would do, when there is none', async () => {
    await expect(buildServers({ cacheDir })).rejects.toThrow(
      /Go is not installed.*Go 1\.26 or later.*https:\/\/go\.dev\/dl\/.*docker-compose\.yml.*KUBECONFIG and TEMPORAL_ADDRESS/,
    );
  });

  it('refuses a Go that is too old', async () => {
    await installGo('go1.25.4');
    await expect(buildServers({ cacheDir })).rejects.toThrow('Go is too old (go1.25.4)');
  });

  it("passes on Go's own words when it does not accept the module", async () => {
    await install('go', 'echo "go: go.mod requires go >= 1.26.0 (running go 1.22.1)" >&2; exit 1');
    await expect(buildServers({ cacheDir })).rejects.toThrow(/Go cannot be used: .*requires go >= 1\.26\.0/);
  });

  it('builds every program once, and finds it in the cache from then on', async () => {
    await installGo('go1.26.8');
    const first = await progressOfBuild();
    expect(first.filter(({ state }) => state === 'built').map(({ server }) => server)).toEqual(PROGRAMS);
    expect(first.at(-1)).toMatchObject({ index: PROGRAMS.length, total: PROGRAMS.length });
    await rm(join(onPath, 'go'));
    expect((await progressOfBuild()).map(({ state }) => state)).toEqual(PROGRAMS.map(() => 'cached'));
  });

  it('takes a fitting program from the PATH instead of building it', async () => {
    await installGo('go1.26.8');
    await install('etcd', 'echo "etcd Version: 3.7.99"');
    await install('kwok', 'echo "kwok version v0.1.0"');
    const binaries = await buildServers({ cacheDir });
    expect(binaries.etcd).toBe(join(onPath, 'etcd'));
    expect(binaries.kwok).toContain(cacheDir);
  });

  it("shows the end of go's output and its log when a build fails, and caches nothing", async () => {
    await installGo('go1.26.8', 'echo "half" >"$output"; echo "dial tcp: no such host" >&2; exit 1');
    const failed = await buildServers({ cacheDir }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ name: 'BuildFailed' });
    expect(String(failed)).toMatch(/building etcd failed; the whole log is .*build\.log.*\n.*no such host/);
    const [entry = ''] = await readdir(cacheDir);
    expect(await readdir(join(cacheDir, entry))).toEqual(['build.log']);
  });

  it('may run twice at once', async () => {
    await installGo('go1.26.8');
    const [one, other] = await Promise.all([buildServers({ cacheDir }), buildServers({ cacheDir })]);
    expect(one).toEqual(other);
    expect(await readFile(one.temporal, 'utf8')).toBe('a program\n');
  });
});

describe('the cache folder', () => {
  it('is DURABLE_OPERATOR_CACHE, else in XDG_CACHE_HOME, else in ~/.cache', () => {
    expect(defaultCacheDir({ DURABLE_OPERATOR_CACHE: '/a', XDG_CACHE_HOME: '/b' })).toBe('/a');
    expect(defaultCacheDir({ XDG_CACHE_HOME: '/b' })).toBe('/b/durable-operator');
    expect(defaultCacheDir({})).toMatch(/\/\.cache\/durable-operator$/);
  });
});

const etcd: BuildProgress = { server: 'etcd', index: 1, total: 7, elapsedMs: 0, state: 'building' };

function shown(isTTY: boolean, progress: BuildProgress[]): string[] {
  const written: string[] = [];
  const show = showBuildProgress({ isTTY, write: (text: string) => written.push(text) });
  progress.forEach(show);
  return written;
}

describe('the progress of a build', () => {
  it('is a line at begin and end, and one every 15 s, where it is not a terminal', () => {
    const seconds = [0, 1, 14, 15, 16, 31];
    const building = seconds.map((second) => ({ ...etcd, elapsedMs: second * 1000 }));
    expect(shown(false, [...building, { ...etcd, elapsedMs: 32_000, state: 'built' }])).toEqual([
      'building etcd (1 of 7, 0 s; only the first time)\n',
      'building etcd (1 of 7, 15 s; only the first time)\n',
      'building etcd (1 of 7, 31 s; only the first time)\n',
      'built etcd (1 of 7, 32 s)\n',
    ]);
  });

  it('is one line that changes on a terminal', () => {
    expect(
      shown(true, [etcd, { ...etcd, elapsedMs: 1000 }, { ...etcd, elapsedMs: 2000, state: 'built' }]),
    ).toEqual([
      '\r\u001b[Kbuilding etcd (1 of 7, 0 s; only the first time)',
      '\r\u001b[Kbuilding etcd (1 of 7, 1 s; only the first time)',
      '\r\u001b[Kbuilt etcd (1 of 7, 2 s)\n',
    ]);
  });

  it('is silent about what need not be built', () => {
    expect(
      shown(false, [
        { ...etcd, state: 'cached' },
        { ...etcd, state: 'found' },
      ]),
    ).toEqual([]);
  });
});
