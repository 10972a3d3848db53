import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './root.ts';

/** The programs of the local stack: the servers, and `kubectl`. */
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

/** Programs for tests, releases and `npm run generate`. */
export const TEST_PROGRAMS = [
  'actionlint',
  'compose-spec',
  'helm',
  'kstatus',
  'promtool',
  'temporal-server',
] as const;
export type ProgramName = StackProgramName | (typeof TEST_PROGRAMS)[number];

/** Where a program comes from. */
export interface ProgramSource {
  /** The folder in tools/ whose go.mod pins it. */
  readonly folder: string;
  /** Its main package. */
  readonly goPackage: string;
  /** The module in that go.mod whose version is the program's. */
  readonly goModule: string;
  /** The file in that folder with source code of our own. */
  readonly ownCode?: string;
  /** The arguments that make it print its version. Default: `--version`. */
  readonly versionArguments?: readonly string[];
}

function kubernetesProgram(name: string): ProgramSource {
  return { folder: 'kubernetes', goPackage: `k8s.io/kubernetes/cmd/${name}`, goModule: 'k8s.io/kubernetes' };
}

export const PROGRAM_SOURCES: Readonly<Record<ProgramName, ProgramSource>> = {
  actionlint: {
    folder: 'actionlint',
    goPackage: 'github.com/rhysd/actionlint/cmd/actionlint',
    goModule: 'github.com/rhysd/actionlint',
    versionArguments: ['-version'],
  },
  'compose-spec': {
    folder: 'compose',
    goPackage: 'github.com/compose-spec/compose-go/v2/cmd',
    goModule: 'github.com/compose-spec/compose-go/v2',
    versionArguments: ['-h'], // it has no version, so one on the PATH is never used
  },
  etcd: {
    folder: 'etcd',
    goPackage: 'go.etcd.io/etcd/server/v3',
    goModule: 'go.etcd.io/etcd/server/v3',
  },
  'kube-apiserver': kubernetesProgram('kube-apiserver'),
  'kube-controller-manager': kubernetesProgram('kube-controller-manager'),
  'kube-scheduler': kubernetesProgram('kube-scheduler'),
  kubectl: { ...kubernetesProgram('kubectl'), versionArguments: ['version', '--client'] },
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
    versionArguments: ['-h'], // it has no version
  },
  // In the module of the servers, because it shares nearly all packages with them.
  kwok: {
    folder: 'kubernetes',
    goPackage: 'sigs.k8s.io/kwok/cmd/kwok',
    goModule: 'sigs.k8s.io/kwok',
  },
  promtool: {
    folder: 'prometheus',
    goPackage: 'github.com/prometheus/prometheus/cmd/promtool',
    goModule: 'github.com/prometheus/prometheus',
  },
  temporal: {
    folder: 'temporal',
    goPackage: 'github.com/temporalio/cli/cmd/temporal',
    goModule: 'github.com/temporalio/cli',
  },
  'temporal-server': {
    folder: 'temporal-server',
    goPackage: 'go.temporal.io/server/cmd/server',
    goModule: 'go.temporal.io/server',
  },
};

/** The contents of the files that pin a program. */
export interface Pins {
  readonly goMod: string;
  readonly goSum: string;
  readonly ownCode?: string;
}

export function moduleFolder(folder: string): string {
  return join(ROOT, 'tools', folder);
}

export async function readPins({ folder, ownCode }: ProgramSource): Promise<Pins> {
  const read = (file: string) => readFile(join(moduleFolder(folder), file), 'utf8');
  return {
    goMod: await read('go.mod'),
    goSum: await read('go.sum'),
    ...(ownCode !== undefined && { ownCode: await read(ownCode) }),
  };
}

/** The version that go.mod requires, such as `v3.7.3`. */
export function pinnedVersion({ folder, goModule }: ProgramSource, { goMod }: Pins): string {
  const line = goMod.split('\n').find((text) => text.trim().startsWith(`${goModule} v`));
  const version = line?.trim().split(' ')[1];
  if (version === undefined) {
    throw new Error(`tools/${folder}/go.mod does not require ${goModule}; restore the file`);
  }
  return version;
}

/** Without the clients of all clouds (promtool), and as the published builds are made (temporal-server). */
const BUILD_TAGS: Readonly<Record<string, string>> = {
  prometheus: 'remove_all_sd',
  'temporal-server': 'disable_grpc_modules',
};

/** The flags of `go build`, the same for all programs of a folder. */
export function buildFlags(folder: string, pins: Pins): string[] {
  const ldflags = folder === 'kubernetes' ? `-s -w ${kubernetesVersionFlag(pins)}` : '-s -w';
  // Nobody debugs these programs, and DWARF takes a fifth of the compiler's time.
  const flags = ['-ldflags', ldflags, '-gcflags', 'all=-dwarf=false'];
  const tags = BUILD_TAGS[folder];
  return tags === undefined ? flags : [...flags, '-tags', tags];
}

/** Without it, they report v0.0.0 and refuse to start: component-base, "version/base.go". */
function kubernetesVersionFlag(pins: Pins): string {
  return `-X k8s.io/component-base/version.gitVersion=${pinnedVersion(kubernetesProgram('kubectl'), pins)}`;
}

/** The name of a cache entry: it differs for other pins, flags or platforms. */
export function cacheKey(source: ProgramSource, pins: Pins): string {
  const built = [source.goPackage, ...buildFlags(source.folder, pins), process.platform, process.arch];
  const code = pins.ownCode === undefined ? [] : [pins.ownCode];
  const parts = [...built, pins.goMod, pins.goSum, ...code];
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16);
}

/** Whether a program with this version may replace the pinned one: only a release of the same major and minor version. */
export function isFitting(versionOutput: string, pinned: string): boolean {
  const found = /(?<![\w.])v?(\d+)\.(\d+)\.\d+(?![-+.\w])/.exec(versionOutput);
  const wanted = /^v(\d+)\.(\d+)\./.exec(pinned);
  return found !== null && wanted !== null && found[1] === wanted[1] && found[2] === wanted[2];
}
