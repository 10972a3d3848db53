import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildServers, defaultCacheDir } from '../../local/build.ts';
import { adviceFor } from '../../local/build-advice.ts';
import { showBuildProgress, timeLeftMs, type BuildProgress } from '../../local/build-progress.ts';

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

/** Makes each program that is asked for, as go names it: after the package, if the output is a folder. */
const MAKES_PROGRAMS = `
for package in "$@"; do
  case $output in */) file=$output\${package##*/};; *) file=$output;; esac
  echo "a program" >"$file"; /bin/chmod +x "$file"
done`;

/** A Go that says two packages, and then does what it is told with the variable \`output\` and the packages in "$@". */
async function installGo(version: string, build = MAKES_PROGRAMS) {
  await install(
    'go',
    `case $1 in env) echo ${version}; exit;; list) exit;; esac
while [ "$1" != -o ]; do shift; done
output=$2; shift 2
echo internal/goarch >&2; echo k8s.io/api/core/v1 >&2
${build}`,
  );
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

  it('builds every program once, those of a module together, and finds it in the cache from then on', async () => {
    await installGo('go1.26.8');
    const first = await progressOfBuild();
    expect(first.filter(({ state }) => state === 'built').map(({ programs }) => programs)).toEqual([
      ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl', 'kwok'],
      ['temporal'],
      ['etcd'],
    ]);
    expect(first.at(-1)).toMatchObject({ leftMs: 0 });
    await rm(join(onPath, 'go'));
    expect(await progressOfBuild()).toEqual([]);
  });

  it('builds only what is missing', async () => {
    await installGo('go1.26.8');
    const { kwok } = await buildServers({ cacheDir });
    await rm(kwok);
    const again = await progressOfBuild();
    expect(new Set(again.flatMap(({ programs }) => programs))).toEqual(new Set(['kwok']));
    expect(await readFile(kwok, 'utf8')).toBe('a program\n');
  });

  it('takes a fitting program from the PATH instead of building it', async () => {
    await installGo('go1.26.8');
    await install('etcd', 'echo "etcd Version: 3.7.99"');
    await install('kwok', 'echo "kwok version v0.1.0"');
    const binaries = await buildServers({ cacheDir });
    expect(binaries.etcd).toBe(join(onPath, 'etcd'));
    expect(binaries.kwok).toContain(cacheDir);
  });

  it("shows go's own words, its log, and what to do when a build fails, and caches nothing", async () => {
    await installGo('go1.26.8', 'echo "half" >"$output/kwok"; echo "dial tcp: no such host" >&2; exit 1');
    const failed = await buildServers({ cacheDir }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ name: 'BuildFailed' });
    expect(String(failed)).toMatch(
      /building tools\/kubernetes failed; the whole log is .*build-kubernetes\.log.*\ndial tcp: no such host\nThe Go module proxy cannot be reached\..*run the same command again/,
    );
    expect(await readdir(cacheDir)).toEqual(['build-kubernetes.log']);
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

describe('what to do about a failed build', () => {
  it.each([
    ['write /root/.cache/go-build/a: no space left on device', /disk is full.*GOCACHE/],
    ['verifying github.com/a/b@v1.0.0: checksum mismatch', /go clean -modcache/],
    ['k8s.io/api/core/v1: /usr/lib/go/pkg/tool/compile: signal: killed', /memory ran out.*-p=1/],
    ['Get "https://proxy/a.zip": dial tcp: lookup proxy: no such host', /cannot be reached.*GOPROXY/],
    ['reading https://proxy/a.mod: 502 Bad Gateway', /cannot be reached/],
    ['reading https://proxy/a.mod: 403 Forbidden', /refuses.*credentials/],
    ['./main.go:3:1: syntax error', /report it with the log/],
  ])('is told for %j', (said, advice) => {
    expect(adviceFor(said)).toMatch(advice);
  });
});

describe('the time left', () => {
  it('is what the rest took elsewhere, at first', () => {
    expect(timeLeftMs({ compilingMs: 0, doneS: 0, totalS: 300 })).toBe(300_000);
  });

  it('grows on a machine that is slower, the more the longer that is known', () => {
    expect(timeLeftMs({ compilingMs: 60_000, doneS: 30, totalS: 300 })).toBe(405_000);
    expect(timeLeftMs({ compilingMs: 400_000, doneS: 200, totalS: 300 })).toBeGreaterThan(180_000);
  });

  it('is nothing when all is done', () => {
    expect(timeLeftMs({ compilingMs: 999_000, doneS: 300, totalS: 300 })).toBe(0);
  });
});

const etcd: BuildProgress = { programs: ['etcd'], elapsedMs: 0, leftMs: 61_000, state: 'building' };

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
      'building etcd (0:00 so far, about 1:01 left; only the first time)\n',
      'building etcd (0:15 so far, about 1:01 left; only the first time)\n',
      'building etcd (0:31 so far, about 1:01 left; only the first time)\n',
      'built etcd (0:32 so far)\n',
    ]);
  });

  it('says that it downloads, since that takes as long as the network lets it', () => {
    expect(shown(false, [{ ...etcd, state: 'downloading' }, etcd])).toEqual([
      'downloading the sources of etcd (0:00 so far, about 1:01 left after that; only the first time)\n',
      'building etcd (0:00 so far, about 1:01 left; only the first time)\n',
    ]);
  });

  it('is one line that changes on a terminal', () => {
    expect(
      shown(true, [etcd, { ...etcd, elapsedMs: 1000 }, { ...etcd, elapsedMs: 2000, state: 'built' }]),
    ).toEqual([
      '\r\u001b[Kbuilding etcd (0:00 so far, about 1:01 left; only the first time)',
      '\r\u001b[Kbuilding etcd (0:01 so far, about 1:01 left; only the first time)',
      '\r\u001b[Kbuilt etcd (0:02 so far)\n',
    ]);
  });
});
