import { expect, it } from '@jest/globals';
import { SERVER_ARCHIVES } from '../../local/server-archives.ts';
import { isFitting, pinnedVersion, PROGRAM_SOURCES, PROGRAMS, readPins } from '../../local/server-pins.ts';

const HOSTS = ['dl.k8s.io', 'github.com'];

it.each(SERVER_ARCHIVES)(
  '$platform: $programs $version has an official address and a checksum',
  (archive) => {
    const { url, sha, version, source } = archive;
    expect(new URL(url)).toMatchObject({ protocol: 'https:', search: '' });
    expect(HOSTS).toContain(new URL(url).host);
    expect(url).toContain(`/v${version}/`);
    expect(sha).toMatch(/^([0-9a-f]{64}|[0-9a-f]{128})$/);
    expect(new URL(source).protocol).toBe('https:');
  },
);

it('no two archives have the same address or checksum', () => {
  expect(new Set(SERVER_ARCHIVES.map(({ url }) => url)).size).toBe(SERVER_ARCHIVES.length);
  expect(new Set(SERVER_ARCHIVES.map(({ sha }) => sha)).size).toBe(SERVER_ARCHIVES.length);
});

it('each program is in one archive of a platform, whose name has the platform', () => {
  const places = SERVER_ARCHIVES.flatMap(({ platform, programs }) =>
    programs.map((name) => `${platform} ${name}`),
  );
  expect(new Set(places).size).toBe(places.length);
  for (const { platform, url } of SERVER_ARCHIVES) {
    const [system = '', architecture = ''] = platform.replace('x64', 'amd64').split('-');
    expect(url).toMatch(new RegExp(`${system}[-_]${architecture}`));
  }
});

it.each(['linux-x64', 'linux-arm64'])('%s needs no Go', (platform) => {
  const programs = SERVER_ARCHIVES.filter((archive) => archive.platform === platform).flatMap(
    (archive) => archive.programs,
  );
  expect(programs.toSorted()).toEqual(PROGRAMS.toSorted());
});

it('each version fits the one that Go would build', async () => {
  for (const { programs, version } of SERVER_ARCHIVES) {
    for (const name of programs) {
      const source = PROGRAM_SOURCES[name];
      expect([name, isFitting(version, pinnedVersion(source, await readPins(source)))]).toEqual([name, true]);
    }
  }
});

// Version skew policy of Kubernetes: neither may be newer than the API server. Each may be downloaded or built.
it('kube-controller-manager and kube-scheduler are not newer than kube-apiserver', async () => {
  const source = PROGRAM_SOURCES['kube-apiserver'];
  const pinned = pinnedVersion(source, await readPins(source));
  for (const { programs, version } of SERVER_ARCHIVES) {
    if (programs.includes('kube-apiserver')) expect(`v${version}`).toBe(pinned);
    if (programs.includes('kube-controller-manager')) expect(programs).toContain('kube-apiserver');
    if (programs.includes('kube-scheduler')) expect(programs).toContain('kube-apiserver');
  }
});
