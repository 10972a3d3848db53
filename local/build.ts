import { access, constants } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { goBuild, requireGo } from './go-toolchain.ts';
import { outputOf } from './program-output.ts';
import { SERVER_ARCHIVES, type ServerArchive } from './server-archives.ts';
import { downloadedProgram, downloadServers, type ServerDownloads } from './server-downloads.ts';
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

export interface BuildOptions {
  /** Called with a line before each download and build. Default: writes it to stderr. */
  readonly say?: (line: string) => void;
  /** Default: `DURABLE_OPERATOR_CACHE`, else `durable-operator` in the user's cache folder. */
  readonly cacheDir?: string;
  /** Default: the official builds. */
  readonly archives?: readonly ServerArchive[];
  /** Ends the download or the build. */
  readonly signal?: AbortSignal;
}

/** Every program of the local stack; see `buildPrograms`. */
export function buildServers(options: BuildOptions = {}): Promise<Binaries> {
  return buildPrograms(PROGRAMS, options);
}

/**
 * Finds programs of a fitting version in the cache, in `KUBEBUILDER_ASSETS` or on the PATH. Downloads the others, once.
 * Those that cannot be downloaded are built from their pinned Go modules, which takes minutes. Safe to repeat, also at
 * the same time.
 *
 * @throws GoUnfit if one must be built and Go is missing or too old
 * @throws BuildFailed
 */
export async function buildPrograms<Name extends ProgramName>(
  names: readonly Name[],
  options?: BuildOptions,
): Promise<Binaries<Name>>;
export async function buildPrograms(
  names: readonly ProgramName[],
  { say = sayOnStderr, cacheDir = defaultCacheDir(), archives = SERVER_ARCHIVES, signal }: BuildOptions = {},
): Promise<Readonly<Record<string, string>>> {
  const ours = archives.filter(({ platform }) => platform === `${process.platform}-${process.arch}`);
  const find = () => Promise.all(names.map((name) => placeOf(name, cacheDir, ours)));
  const found = await find();
  const reasons = await download(missingIn(found), ours, { cacheDir, say, signal });
  const places = missingIn(found).length === 0 ? found : await find();
  await build(missingIn(places), reasons, { cacheDir, say, signal });
  return Object.fromEntries(places.map(({ name, path }) => [name, path]));
}

type Work = Pick<ServerDownloads, 'cacheDir' | 'say' | 'signal'>;

/** @returns the reasons why some archives could not be downloaded */
async function download(
  missing: readonly Place[],
  archives: readonly ServerArchive[],
  work: Work,
): Promise<readonly string[]> {
  const names = missing.map(({ name }) => name);
  const wanted = archives
    .map((archive) => ({ ...archive, programs: archive.programs.filter((name) => names.includes(name)) }))
    .filter(({ programs }) => programs.length > 0);
  // Nobody should wait for a download before they hear that they need Go anyway.
  const others = missing.filter(({ name }) => !wanted.some(({ programs }) => programs.includes(name)));
  for (const folder of byFolder(others).keys()) await requireGo(folder);
  return downloadServers({ ...work, archives: wanted });
}

async function build(missing: readonly Place[], reasons: readonly string[], work: Work): Promise<void> {
  const folders = byFolder(missing);
  for (const folder of folders.keys()) await requireGo(folder, reasons);
  if (reasons.length > 0) work.say(`cannot download servers: ${reasons.join('; ')}; building them with Go`);
  for (const [folder, targets] of folders) {
    work.say(`building ${[...targets.keys()].join(', ')}; this takes minutes, but only the first time`);
    await goBuild({ folder, targets, workDir: work.cacheDir, signal: work.signal });
  }
}

function sayOnStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Where programs are cached: outside the work tree, so that a clean checkout does not build them again. */
export function defaultCacheDir(environment: NodeJS.ProcessEnv = process.env): string {
  const chosen = environment['DURABLE_OPERATOR_CACHE'];
  if (chosen !== undefined && chosen !== '') return resolve(chosen);
  return join(environment['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'durable-operator');
}

interface Place {
  readonly name: ProgramName;
  /** Of the program, or of what a build will make. */
  readonly path: string;
  readonly isThere: boolean;
}

async function placeOf(
  name: ProgramName,
  cacheDir: string,
  archives: readonly ServerArchive[],
): Promise<Place> {
  const source = PROGRAM_SOURCES[name];
  const pins = await readPins(source);
  const built = join(cacheDir, `${name}-${cacheKey(source, pins)}`, name);
  const downloaded = archives
    .filter(({ programs }) => programs.includes(name))
    .map((archive) => downloadedProgram(cacheDir, archive, name));
  for (const path of [built, ...downloaded]) {
    if (await isExecutable(path)) return { name, path, isThere: true };
  }
  const installed = await findInstalled(name, pinnedVersion(source, pins));
  return { name, path: installed ?? built, isThere: installed !== undefined };
}

function missingIn(places: readonly Place[]): Place[] {
  return places.filter(({ isThere }) => !isThere);
}

function byFolder(places: readonly Place[]): Map<string, Map<ProgramName, string>> {
  const folders = new Map<string, Map<ProgramName, string>>();
  for (const { name, path } of places) {
    const { folder } = PROGRAM_SOURCES[name];
    folders.set(folder, (folders.get(folder) ?? new Map<ProgramName, string>()).set(name, path));
  }
  return folders;
}

/** The first program of this name that has the pinned major and minor version. */
async function findInstalled(name: ProgramName, pinned: string): Promise<string | undefined> {
  const { versionArguments = ['--version'] } = PROGRAM_SOURCES[name];
  for (const folder of searchedFolders()) {
    const candidate = resolve(folder, name);
    const { outcome, output } = await outputOf(candidate, versionArguments);
    if (outcome === 'succeeded' && isFitting(output, pinned)) return candidate;
  }
  return undefined;
}

function searchedFolders(): string[] {
  const folders = [process.env['KUBEBUILDER_ASSETS'] ?? '', ...(process.env['PATH'] ?? '').split(delimiter)];
  return folders.filter((folder) => folder !== '');
}

function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
