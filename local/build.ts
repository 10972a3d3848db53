import { access, constants } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { BuildMeter, type BuildProgress } from './build-progress.ts';
import { goBuild, goDownload, requireGo, type Build } from './go-toolchain.ts';
import { outputOf } from './program-output.ts';
import {
  cacheKey,
  isFitting,
  pinnedVersion,
  PROGRAM_SOURCES,
  PROGRAMS,
  readPins,
  TOOL_MODULES,
  type ProgramName,
  type StackProgramName,
  type ToolFolder,
} from './server-pins.ts';

/** Absolute paths of programs, by name. */
export type Binaries<Name extends ProgramName = StackProgramName> = Readonly<Record<Name, string>>;

export interface BuildOptions {
  readonly onProgress?: (progress: BuildProgress) => void;
  /** Default: `DURABLE_OPERATOR_CACHE`, else `durable-operator` in the user's cache folder. */
  readonly cacheDir?: string;
  /** Ends the build. */
  readonly signal?: AbortSignal;
}

/** Every program of the local stack; see `buildPrograms`. */
export function buildServers(options: BuildOptions): Promise<Binaries> {
  return buildPrograms(PROGRAMS, options);
}

/**
 * Finds programs on the PATH in a fitting version, or in the cache, and builds the others from their pinned Go
 * modules: minutes, once. Safe to repeat, also at the same time.
 *
 * @throws GoUnfit where one must be built and Go is missing or too old
 * @throws BuildFailed
 */
export async function buildPrograms<Name extends ProgramName>(
  names: readonly Name[],
  options: BuildOptions,
): Promise<Binaries<Name>>;
export async function buildPrograms(
  names: readonly ProgramName[],
  { cacheDir = defaultCacheDir(), onProgress, signal }: BuildOptions,
): Promise<Readonly<Record<string, string>>> {
  const places = await Promise.all(names.map((name) => placeOf(name, cacheDir)));
  await buildAll(partsOf(places.filter(({ isBuilt }) => !isBuilt)), { cacheDir, onProgress, signal });
  return Object.fromEntries(places.map(({ name, path }) => [name, path]));
}

/** Where programs are cached: outside the work tree, so that a clean checkout need not build them again. */
export function defaultCacheDir(environment: NodeJS.ProcessEnv = process.env): string {
  const chosen = environment['DURABLE_OPERATOR_CACHE'];
  if (chosen !== undefined && chosen !== '') return resolve(chosen);
  return join(environment['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'durable-operator');
}

/** Where a program is, or is to be. */
interface Place {
  readonly name: ProgramName;
  readonly path: string;
  readonly isBuilt: boolean;
}

async function placeOf(name: ProgramName, cacheDir: string): Promise<Place> {
  const source = PROGRAM_SOURCES[name];
  const pins = await readPins(source);
  const cached = join(cacheDir, `${name}-${cacheKey(source, pins)}`, name);
  if (await isExecutable(cached)) return { name, path: cached, isBuilt: true };
  const onPath = await findFitting(name, pinnedVersion(source, pins));
  return onPath === undefined
    ? { name, path: cached, isBuilt: false }
    : { name, path: onPath, isBuilt: true };
}

type Part = Pick<Build, 'folder' | 'targets'>;

/** The largest first: while it is compiled, what the others are made of is downloaded. */
function partsOf(missing: readonly Place[]): Part[] {
  const parts = new Map<ToolFolder, Map<ProgramName, string>>();
  for (const { name, path } of missing) {
    const { folder } = PROGRAM_SOURCES[name];
    parts.set(folder, (parts.get(folder) ?? new Map<ProgramName, string>()).set(name, path));
  }
  return [...parts]
    .map(([folder, targets]) => ({ folder, targets }))
    .sort((one, other) => secondsFor(other) - secondsFor(one));
}

function secondsFor({ folder }: Part): number {
  return TOOL_MODULES[folder].cost.seconds;
}

type Building = { readonly [Option in keyof BuildOptions]-?: BuildOptions[Option] | undefined } & {
  readonly cacheDir: string;
};

/** One part after another: a single `go build` keeps every core busy. */
async function buildAll(parts: readonly Part[], { cacheDir, onProgress, signal }: Building): Promise<void> {
  const progress = new BuildMeter(parts, onProgress);
  const ended = new AbortController();
  try {
    for (const [position, part] of parts.entries()) {
      await requireGo(part.folder);
      const next = parts[position + 1];
      if (next !== undefined) void goDownload(next, ended.signal);
      const onPackage = () => progress.compiledOne();
      await progress.during(part, () => goBuild({ ...part, workDir: cacheDir, onPackage, signal }));
    }
  } finally {
    ended.abort();
  }
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

function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
