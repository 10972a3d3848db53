import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './root.ts';

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

/** Programs for tests, releases and `npm run generate`. They are built like the others, but not for the local stack. */
export const TEST_PROGRAMS = [
  'actionlint',
  'compose-spec',
  'helm',
  'kstatus',
  'promtool',
  'temporal-server',
] as const;
export type ProgramName = StackProgramName | (typeof TEST_PROGRAMS)[number];

/** A Go module in tools/: one `go build` makes what is missing of its programs, so that they share what they compile. */
export interface ToolModule {
  /** About what a first build takes on two cores, and how many packages it compiles: for the time that is left. */
  readonly cost: { readonly seconds: number; readonly packages: number };
  /** The Go variable that is to have the version of a module, where programs do not find it by themselves. */
  readonly stamp?: { readonly variable: string; readonly goModule: string };
  /** Build tags, separated by commas. */
  readonly tags?: string;
}

/** By folder in tools/. Packages as `go list -deps` counts them; the seconds are estimates. */
export const TOOL_MODULES = {
  actionlint: { cost: { seconds: 15, packages: 106 } },
  compose: { cost: { seconds: 20, packages: 167 } },
  etcd: { cost: { seconds: 20, packages: 566 } },
  helm: { cost: { seconds: 60, packages: 1184 } },
  kstatus: { cost: { seconds: 30, packages: 261 } },
  kubernetes: {
    cost: { seconds: 285, packages: 2700 },
    // Without it, they call themselves v0.0.0 and refuse to start: component-base, "version/base.go".
    stamp: { variable: 'k8s.io/component-base/version.gitVersion', goModule: 'k8s.io/kubernetes' },
  },
  // Without the clients of all clouds, which promtool does not need to evaluate rules.
  prometheus: { cost: { seconds: 185, packages: 1113 }, tags: 'remove_all_sd' },
  temporal: { cost: { seconds: 115, packages: 1298 } },
  // The tag is that of its published builds.
  'temporal-server': { cost: { seconds: 165, packages: 1545 }, tags: 'disable_grpc_modules' },
} as const satisfies Readonly<Record<string, ToolModule>>;
export type ToolFolder = keyof typeof TOOL_MODULES;

/** Where a program comes from and how it is built. */
export interface ProgramSource {
  /** The folder in tools/ whose go.mod pins it. */
  readonly folder: ToolFolder;
  /** Its main package. */
  readonly goPackage: string;
  /** The module in that go.mod whose version is the program's. */
  readonly goModule: string;
  /** The file in that folder with its code, where it is ours. */
  readonly ownCode?: string;
  /** The arguments that make it print its version. */
  readonly versionArguments: readonly string[];
}

function kubernetesProgram(name: string, versionArguments = ['--version']): ProgramSource {
  return {
    folder: 'kubernetes',
    goPackage: `k8s.io/kubernetes/cmd/${name}`,
    goModule: 'k8s.io/kubernetes',
    versionArguments,
  };
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
  // Of the same module as the servers: all but 76 of its 975 packages are theirs, too.
  kwok: {
    folder: 'kubernetes',
    goPackage: 'sigs.k8s.io/kwok/cmd/kwok',
    goModule: 'sigs.k8s.io/kwok',
    versionArguments: ['--version'],
  },
  promtool: {
    folder: 'prometheus',
    goPackage: 'github.com/prometheus/prometheus/cmd/promtool',
    goModule: 'github.com/prometheus/prometheus',
    versionArguments: ['--version'],
  },
  temporal: {
    folder: 'temporal',
    goPackage: 'github.com/temporalio/cli/cmd/temporal',
    goModule: 'github.com/temporalio/cli',
    versionArguments: ['--version'],
  },
  'temporal-server': {
    folder: 'temporal-server',
    goPackage: 'go.temporal.io/server/cmd/server',
    goModule: 'go.temporal.io/server',
    versionArguments: ['--version'],
  },
};

/** The contents of the two files that pin a program, and of its own code, if it has any. */
export interface Pins {
  readonly goMod: string;
  readonly goSum: string;
  readonly ownCode?: string;
}

export function moduleFolder(folder: ToolFolder): string {
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

/** The version of the program that go.mod requires, such as `v3.7.3`. */
export function pinnedVersion({ folder, goModule }: ProgramSource, pins: Pins): string {
  return requiredVersion(folder, goModule, pins);
}

function requiredVersion(folder: ToolFolder, goModule: string, { goMod }: Pins): string {
  const line = goMod.split('\n').find((text) => text.trim().startsWith(`${goModule} v`));
  const version = line?.trim().split(' ')[1];
  if (version === undefined) {
    throw new Error(`tools/${folder}/go.mod does not require ${goModule}; restore the file`);
  }
  return version;
}

/** What `go build` is given, the same for all programs of a folder. */
export function buildFlags(folder: ToolFolder, pins: Pins): string[] {
  const { stamp, tags }: ToolModule = TOOL_MODULES[folder];
  const stamped = stamp && `-X ${stamp.variable}=${requiredVersion(folder, stamp.goModule, pins)}`;
  const ldflags = ['-s -w', stamped].filter((flag) => flag !== undefined).join(' ');
  // What nobody debugs needs no DWARF: a fifth of the compiler's time. `-w` only keeps the linker from writing it.
  const flags = ['-ldflags', ldflags, '-gcflags', 'all=-dwarf=false'];
  return tags === undefined ? flags : [...flags, '-tags', tags];
}

/** Names a cache entry: another pin, flag or platform is another entry. */
export function cacheKey(source: ProgramSource, pins: Pins): string {
  const built = [source.goPackage, ...buildFlags(source.folder, pins), process.platform, process.arch];
  const code = pins.ownCode === undefined ? [] : [pins.ownCode];
  const parts = [...built, pins.goMod, pins.goSum, ...code];
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
