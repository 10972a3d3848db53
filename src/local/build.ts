import { access, constants } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { goBuild, requireGo } from './go-toolchain.ts';
import { outputOf } from './output-of.ts';
import {
  cacheKey,
  isFitting,
  pinnedVersion,
  PROGRAM_SOURCES,
  PROGRAMS,
  readPins,
  type ProgramName,
  type StackProgramName,
} from './server-pins.ts';

export interface BuildProgress {
  server: string;
  /** From 1. */
  index: number;
  total: number;
  /** Since this server's turn came. */
  elapsedMs: number;
  /** `found` on the PATH, `cached` from an earlier build; `building` comes once a second. */
  state: 'found' | 'cached' | 'building' | 'built';
}

/** Absolute paths of programs, by name. */
export type Binaries = Record<ProgramName, string>;
/** Those of the local stack. */
export type ServerBinaries = Record<StackProgramName, string>;

export interface BuildOptions {
  onProgress?: (progress: BuildProgress) => void;
  /** Default: `DURABLE_OPERATOR_CACHE`, else `durable-operator` in the user's cache folder. */
  cacheDir?: string;
  /** Ends a build under way. */
  signal?: AbortSignal;
}

const HEARTBEAT_MS = 1000;

/**
 * Finds every program of the local stack, on the PATH in a fitting version or in the cache, and builds the
 * others from their pinned Go modules: minutes, once. Safe to repeat, also at the same time.
 *
 * @throws GoUnfit where one must be built and Go is missing or too old
 * @throws BuildFailed
 */
export async function buildServers(options: BuildOptions): Promise<ServerBinaries> {
  return complete(await buildPrograms(PROGRAMS, options));
}

/** The same for some of the programs. */
export async function buildPrograms(
  names: readonly ProgramName[],
  options: BuildOptions,
): Promise<Partial<Binaries>> {
  const found: Partial<Binaries> = {};
  for (const [position, name] of names.entries()) {
    const turn = { server: name, index: position + 1, total: names.length };
    found[name] = await obtain(name, {
      cacheDir: options.cacheDir ?? defaultCacheDir(),
      report: reporter(turn, options.onProgress),
      signal: options.signal,
    });
  }
  return found;
}

/** Where programs are cached: outside the work tree, so that a clean checkout need not build them again. */
export function defaultCacheDir(environment: NodeJS.ProcessEnv = process.env): string {
  const chosen = environment['DURABLE_OPERATOR_CACHE'];
  if (chosen !== undefined && chosen !== '') return resolve(chosen);
  return join(environment['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'durable-operator');
}

type Report = (state: BuildProgress['state']) => void;

function reporter(
  turn: Pick<BuildProgress, 'server' | 'index' | 'total'>,
  onProgress: BuildOptions['onProgress'],
): Report {
  const since = performance.now();
  return (state) => onProgress?.({ ...turn, elapsedMs: Math.round(performance.now() - since), state });
}

interface Obtaining {
  readonly cacheDir: string;
  readonly report: Report;
  readonly signal: AbortSignal | undefined;
}

async function obtain(name: ProgramName, from: Obtaining): Promise<string> {
  const source = PROGRAM_SOURCES[name];
  const pins = await readPins(source);
  const cached = join(from.cacheDir, `${name}-${cacheKey(source, pins)}`, name);
  if (await isExecutable(cached)) {
    from.report('cached');
    return cached;
  }
  const onPath = await findFitting(name, pinnedVersion(source, pins));
  if (onPath !== undefined) {
    from.report('found');
    return onPath;
  }
  await build(name, cached, from);
  return cached;
}

async function build(name: ProgramName, target: string, { report, signal }: Obtaining): Promise<void> {
  const source = PROGRAM_SOURCES[name];
  await requireGo(source);
  report('building');
  const heartbeat = setInterval(() => report('building'), HEARTBEAT_MS);
  try {
    await goBuild(name, source, { target, signal });
  } finally {
    clearInterval(heartbeat);
  }
  report('built');
}

/** The first program of this name on the PATH, where it is of the pinned major and minor version. */
async function findFitting(name: ProgramName, pinned: string): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter).filter((part) => part !== '')) {
    const candidate = resolve(folder, name);
    if (!(await isExecutable(candidate))) continue;
    const said = await outputOf(candidate, PROGRAM_SOURCES[name].versionArguments);
    return said.outcome === 'succeeded' && isFitting(said.output, pinned) ? candidate : undefined;
  }
  return undefined;
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

function complete(found: Partial<Binaries>): ServerBinaries {
  const path = (name: StackProgramName): string => {
    const at = found[name];
    if (at === undefined) throw new Error(`${name} was neither found nor built`);
    return at;
  };
  return {
    etcd: path('etcd'),
    'kube-apiserver': path('kube-apiserver'),
    'kube-controller-manager': path('kube-controller-manager'),
    'kube-scheduler': path('kube-scheduler'),
    kubectl: path('kubectl'),
    kwok: path('kwok'),
    temporal: path('temporal'),
  };
}
