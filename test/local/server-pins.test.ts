import { describe, expect, it } from '@jest/globals';
import {
  cacheKey,
  isFitting,
  pinnedVersion,
  PROGRAM_SOURCES,
  PROGRAMS,
  readPins,
  TEST_PROGRAMS,
} from '../../local/server-pins.ts';

const etcd = PROGRAM_SOURCES.etcd;
const pins = { goMod: 'require (\n\tgo.etcd.io/etcd/server/v3 v3.7.3 // indirect\n)\n', goSum: 'sums' };

it('the cache key of a program changes with go.mod, with go.sum, with the flags and with the package', () => {
  const kubernetes = { ...pins, goMod: `${pins.goMod}k8s.io/kubernetes v1.36.3` };
  const keys = [
    cacheKey(etcd, pins),
    cacheKey(etcd, { ...pins, goMod: pins.goMod.replace('v3.7.3', 'v3.7.4') }),
    cacheKey(etcd, { ...pins, goSum: 'other sums' }),
    cacheKey(etcd, kubernetes),
    cacheKey({ ...etcd, folder: 'kubernetes' }, kubernetes),
    cacheKey({ ...etcd, goPackage: 'go.etcd.io/etcd/etcdctl/v3' }, pins),
  ];
  expect(new Set(keys).size).toBe(keys.length);
  expect(cacheKey(etcd, { ...pins })).toBe(keys[0]);
});

it('every program has a pinned version', async () => {
  expect(pinnedVersion(etcd, pins)).toBe('v3.7.3');
  for (const name of [...PROGRAMS, ...TEST_PROGRAMS]) {
    const source = PROGRAM_SOURCES[name];
    expect(pinnedVersion(source, await readPins(source))).toMatch(/^v\d+\.\d+\.\d+$/);
  }
});

describe('a program on the PATH', () => {
  it.each([
    ['etcd Version: 3.7.9\nGit SHA: 1234567\nGo Version: go1.26.8\n', 'v3.7.3'],
    ['Client Version: v1.36.3\nKustomize Version: v5.8.1\n', 'v1.36.3'],
    ['temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)\n', 'v1.5.1'],
  ])('fits when it says %j and %s is pinned', (said, pinned) => {
    expect(isFitting(said, pinned)).toBe(true);
  });

  it.each([
    ['another minor version', 'etcd Version: 3.6.3\n', 'v3.7.3'],
    ['another major version', 'Kubernetes v2.36.3\n', 'v1.36.3'],
    ['a longer number that begins the same', 'Kubernetes v1.360.3\n', 'v1.36.3'],
    ['a pre-release', 'Kubernetes v1.36.0-rc.1\n', 'v1.36.3'],
    ['a build of unknown version', 'temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)\n', 'v1.5.1'],
    ['its Go version only', 'unknown built with go1.36.3\n', 'v1.36.3'],
  ])('does not fit with %s', (_why, said, pinned) => {
    expect(isFitting(said, pinned)).toBe(false);
  });
});
