import { access, constants } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { goBuild, requireGo } from './go-toolchain.ts';
import { outputOf } from './program-output.ts';
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

/** Absolute paths of programs, by name. */
export type Binaries<Name extends ProgramName = StackProgramName> = Readonly<Record<Name, string>>;

export interface BuildProgress {
  readonly server: string;
  /** From 1. */
  readonly index: number;
  readonly total: number;
  /** Since this server's turn came. */
  readonly elapsedMs: number;
  /** `found` on the PATH, `cached` from an earlier build; `building` comes once a second. */
  readonly state: 'found' | 'cached' | 'building' | 'built';
}

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
  const paths = new Map<string, string>();
  for (const [position, name] of names.entries()) {
    const since = performance.now();
    const turn = { server: name, index: position + 1, total: names.length };
    const report = (state: BuildProgress['state']) =>
      onProgress?.({ ...turn, elapsedMs: Math.round(performance.now() - since), state });
    paths.set(name, await obtain(name, { cacheDir, report, signal }));
  }
  return Object.fromEntries(paths);
}

/** Where programs are cached: outside the work tree, so that a clean checkout need not build them again. */
export function defaultCacheDir(environment: NodeJS.ProcessEnv = process.env): string {
  const chosen = environment['DURABLE_OPERATOR_CACHE'];
  if (chosen !== undefined && chosen !== '') return resolve(chosen);
  return join(environment['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'durable-operator');
}

interface Obtaining {
  readonly cacheDir: string;
  readonly report: (state: BuildProgress['state']) => void;
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

const HEARTBEAT_MS = 1000;

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

function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

const SHOWN_EVERY_MS = 15_000;

/**
 * Shows a build: one line that is kept up to date on a terminal; elsewhere a line when a server's build
 * begins and ends, and one every 15 s between. What is found or cached goes without saying.
 */
export function showBuildProgress(output: ProgressOutput): (progress: BuildProgress) => void {
  let shown = { server: '', atMs: 0 };
  return (progress) => {
    const { server, elapsedMs, state } = progress;
    if (state === 'found' || state === 'cached') return;
    if (output.isTTY === true) {
      output.write(`\r\u001b[K${lineFor(progress)}${state === 'built' ? '\n' : ''}`);
    } else if (state === 'built' || server !== shown.server || elapsedMs - shown.atMs >= SHOWN_EVERY_MS) {
      output.write(`${lineFor(progress)}\n`);
      shown = { server, atMs: elapsedMs };
    }
  };
}

/** The part of a terminal or file stream that is written to. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

function lineFor({ server, index, total, elapsedMs, state }: BuildProgress): string {
  const seconds = Math.round(elapsedMs / 1000);
  return state === 'built'
    ? `built ${server} (${index} of ${total}, ${seconds} s)`
    : `building ${server} (${index} of ${total}, ${seconds} s; only the first time)`;
}
