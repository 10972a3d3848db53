import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { openDownload, type Download } from './download.ts';
import { outputOf } from './program-output.ts';
import { megabytes, ProgressBar } from './progress-bar.ts';
import type { ServerArchive } from './server-archives.ts';
import type { ProgramName } from './server-pins.ts';

/** Where a program is once it is downloaded. */
export function downloadedProgram(cacheDir: string, { sha }: ServerArchive, name: ProgramName): string {
  return join(cacheDir, `${name}-${sha.slice(0, 16)}`, name);
}

export interface ServerDownloads {
  readonly archives: readonly ServerArchive[];
  readonly cacheDir: string;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal | undefined;
}

/**
 * Downloads the programs of the archives, from their origin or from `DURABLE_OPERATOR_MIRROR`. Each appears when it is
 * complete, so two downloads at the same time are safe.
 *
 * @returns the reasons why some could not be downloaded
 */
export async function downloadServers(downloads: ServerDownloads): Promise<readonly string[]> {
  const { archives, signal } = downloads;
  if (archives.length === 0) return [];
  const mirror = process.env['DURABLE_OPERATOR_MIRROR'] ?? '';
  if (mirror === 'off') return ['DURABLE_OPERATOR_MIRROR is off'];
  const reasons = new Set<string>();
  const noted = <Result>(work: Promise<Result>) =>
    work.catch((error: unknown) => void reasons.add(error instanceof Error ? error.message : String(error)));
  const opened = await Promise.all(archives.map((archive) => noted(open(archive, mirror, downloads))));
  const answered = opened.filter((each) => each !== undefined);
  const bar = announce(answered, downloads.say);
  await Promise.all(answered.map((each) => noted(install(each, bar, downloads))));
  bar.clear();
  signal?.throwIfAborted();
  return [...reasons];
}

interface Opened {
  readonly archive: ServerArchive;
  readonly download: Download;
}

async function open(
  archive: ServerArchive,
  mirror: string,
  { cacheDir, signal }: ServerDownloads,
): Promise<Opened> {
  const url = mirror === '' ? archive.url : mirrored(archive.url, mirror);
  const folder = join(cacheDir, 'downloads');
  return { archive, download: await openDownload({ url, sha: archive.sha, folder, signal }) };
}

/** The names that `wget --force-directories` gives. */
function mirrored(url: string, mirror: string): string {
  const { host, pathname } = new URL(url);
  return `${mirror.replace(/\/+$/, '')}/${host}${pathname}`;
}

function announce(opened: readonly Opened[], say: (line: string) => void): ProgressBar {
  const sum = (part: 'present' | 'missing') =>
    opened.reduce((bytes, { download }) => bytes + download[part], 0);
  const there = sum('present') === 0 ? '' : ` (${megabytes(sum('present'))} are there already)`;
  const names = opened.map(({ archive }) => nameOf(archive)).join('; ');
  if (opened.length > 0)
    say(`downloading ${megabytes(sum('missing'))}${there}, only the first time: ${names}`);
  return new ProgressBar(sum('missing'));
}

function nameOf({ programs, version }: ServerArchive): string {
  return `${programs.join(', ')} ${version}`;
}

async function install(
  { archive, download }: Opened,
  bar: ProgressBar,
  { cacheDir, say }: ServerDownloads,
): Promise<void> {
  const unfinished = join(cacheDir, `unfinished-${randomBytes(6).toString('hex')}`);
  const file = join(unfinished, basename(archive.url));
  try {
    await download.finish(file, (bytes) => bar.add(bytes));
    for (const [name, program] of await unpack(archive, file)) {
      const target = downloadedProgram(cacheDir, archive, name);
      await chmod(program, 0o755);
      await mkdir(dirname(target), { recursive: true });
      await rename(program, target);
    }
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  bar.clear();
  say(`downloaded ${nameOf(archive)}`);
}

/** The paths of the programs. */
async function unpack({ programs, folder }: ServerArchive, file: string): Promise<[ProgramName, string][]> {
  if (folder === undefined) return programs.map((name) => [name, file]);
  const members = programs.map((name) => join(folder, name));
  const { outcome, output } = await outputOf('tar', ['-xf', file, '-C', dirname(file), ...members]);
  if (outcome !== 'succeeded')
    throw new Error(`tar cannot unpack ${basename(file)}: ${output.trim() || outcome}`);
  return programs.map((name) => [name, join(dirname(file), folder, name)]);
}
