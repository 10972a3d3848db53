import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The programs of the local stack; `kubectl` is a tool, the others are servers. */
export const PROGRAMS = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubectl',
  'kwok',
  'temporal',
] as const;
export type StackProgramName = (typeof PROGRAMS)[number];
export type ServerName = Exclude<StackProgramName, 'kubectl'>;

/** What only tests run; built as the others are, but not for the local stack. */
export const TEST_PROGRAMS = ['compose-spec', 'helm', 'kstatus', 'promtool'] as const;
export type ProgramName = StackProgramName | (typeof TEST_PROGRAMS)[number];

/** Where a program comes from and how it is built. */
export interface ProgramSource {
  /** The folder in tools/ whose go.mod pins it. */
  readonly folder: string;
  /** Its main package. */
  readonly goPackage: string;
  /** The module in that go.mod whose version is the program's. */
  readonly goModule: string;
  /** The file in that folder with its code, where it is ours. */
  readonly ownCode?: string;
  /** The arguments that make it print its version. */
  readonly versionArguments: readonly string[];
  /** The Go variable that is to have the version, where the program does not find it by itself. */
  readonly versionVariable?: string;
  /** Build tags, separated by commas. */
  readonly tags?: string;
}

function kubernetesProgram(name: string, versionArguments = ['--version']): ProgramSource {
  return {
    folder: 'kubernetes',
    goPackage: `k8s.io/kubernetes/cmd/${name}`,
    goModule: 'k8s.io/kubernetes',
    versionArguments,
    // Without it, it calls itself v0.0.0 and refuses to start: component-base, "version/base.go".
    versionVariable: 'k8s.io/component-base/version.gitVersion',
  };
}

export const PROGRAM_SOURCES: Readonly<Record<ProgramName, ProgramSource>> = {
  'compose-spec': {
    folder: 'compose',
    goPackage: 'github.com/compose-spec/compose-go/v2/cmd',
    goModule: 'github.com/compose-spec/compose-go/v2',
    versionArguments: ['-h'], // it cannot tell its version, so one on the PATH is never taken for the pinned one
  },
  etcd: {
    folder: 'etcd',
    goPackage: 'go.etcd.io/etcd/server/v3',
    goModule: 'go.etcd.io/etcd/server/v3',
    versionArguments: ['--version'],
  },
  'kube-apiserver': kubernetesProgram('kube-apiserver'),
  'kube-controller-manager': kubernetesProgram('kube-controller-manager'),
  'kube-scheduler': kubernetesProgram('kube-scheduler'),
  kubectl: kubernetesProgram('kubectl', ['version', '--client']),
  helm: {
    folder: 'helm',
    goPackage: 'helm.sh/helm/v4/cmd/helm',
    goModule: 'helm.sh/helm/v4',
    versionArguments: ['version'],
  },
  kstatus: {
    folder: 'kstatus',
    goPackage: '.',
    goModule: 'sigs.k8s.io/cli-utils',
    ownCode: 'main.go',
    versionArguments: ['-h'], // it cannot tell its version
  },
  kwok: {
    folder: 'kwok',
    goPackage: 'sigs.k8s.io/kwok/cmd/kwok',
    goModule: 'sigs.k8s.io/kwok',
    versionArguments: ['--version'],
  },
  promtool: {
    folder: 'prometheus',
    goPackage: 'github.com/prometheus/prometheus/cmd/promtool',
    goModule: 'github.com/prometheus/prometheus',
    versionArguments: ['--version'],
    // Without the clients of all clouds, which it does not need to evaluate rules.
    tags: 'remove_all_sd',
  },
  temporal: {
    folder: 'temporal',
    goPackage: 'github.com/temporalio/cli/cmd/temporal',
    goModule: 'github.com/temporalio/cli',
    versionArguments: ['--version'],
  },
};

/** The contents of the two files that pin a program, and of its own code, if it has any. */
export interface Pins {
  readonly goMod: string;
  readonly goSum: string;
  readonly ownCode?: string;
}

export function moduleFolder(source: ProgramSource): string {
  return join(import.meta.dirname, '../tools', source.folder);
}

export async function readPins(source: ProgramSource): Promise<Pins> {
  const { ownCode } = source;
  const read = (file: string) => readFile(join(moduleFolder(source), file), 'utf8');
  return {
    goMod: await read('go.mod'),
    goSum: await read('go.sum'),
    ...(ownCode !== undefined && { ownCode: await read(ownCode) }),
  };
}

/** The version that go.mod requires, such as `v3.7.3`. */
export function pinnedVersion(source: ProgramSource, pins: Pins): string {
  const line = pins.goMod.split('\n').find((text) => text.trim().startsWith(`${source.goModule} v`));
  const version = line?.trim().split(' ')[1];
  if (version === undefined) {
    throw new Error(`tools/${source.folder}/go.mod does not require ${source.goModule}; restore the file`);
  }
  return version;
}

/** What `go build -ldflags` is given. */
export function ldflagsOf(source: ProgramSource, pins: Pins): string {
  const { versionVariable } = source;
  const stripped = '-s -w';
  return versionVariable === undefined
    ? stripped
    : `${stripped} -X ${versionVariable}=${pinnedVersion(source, pins)}`;
}

/** Names a cache entry: another pin, flag or platform is another entry. */
export function cacheKey(source: ProgramSource, pins: Pins): string {
  const built = [source.goPackage, ldflagsOf(source, pins), process.platform, process.arch];
  const tags = source.tags === undefined ? [] : [source.tags];
  const code = pins.ownCode === undefined ? [] : [pins.ownCode];
  const parts = [...built, ...tags, pins.goMod, pins.goSum, ...code];
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16);
}

/**
 * May a program that says this of itself stand in for the pinned one? Only a release of the same major and
 * minor version may: a pre-release, a vendor's build or an unknown version may not.
 */
export function isFitting(versionOutput: string, pinned: string): boolean {
  const found = /(?<![\w.])v?(\d+)\.(\d+)\.\d+(?![-+.\w])/.exec(versionOutput);
  const wanted = /^v(\d+)\.(\d+)\./.exec(pinned);
  return found !== null && wanted !== null && found[1] === wanted[1] && found[2] === wanted[2];
}
