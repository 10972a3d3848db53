import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { adviceFor } from './build-advice.ts';
import { lastLines, outputOf } from './program-output.ts';
import {
  buildFlags,
  moduleFolder,
  PROGRAM_SOURCES,
  readPins,
  type ProgramName,
  type ToolFolder,
} from './server-pins.ts';

const OLDEST_GO = 26;

/** Go is missing or too old. The message says what to do instead. */
export class GoUnfit extends Error {
  constructor(found: string) {
    super(
      `${found}; the local stack builds its servers once with Go 1.${OLDEST_GO} or later. ` +
        'Install it from https://go.dev/dl/, or use docker-compose.yml (docker compose up), ' +
        'or point KUBECONFIG and TEMPORAL_ADDRESS at servers of your own',
    );
    this.name = 'GoUnfit';
  }
}

/** `go build` failed. The message has go's last words, the path of the whole log, and what to do. */
export class BuildFailed extends Error {
  constructor(folder: ToolFolder, logFile: string, lastWords: string) {
    super(
      `building tools/${folder} failed; the whole log is ${logFile}, its last lines:\n${lastWords}\n` +
        `${adviceFor(lastWords)}. What is built so far is kept: run the same command again to go on`,
    );
    this.name = 'BuildFailed';
  }
}

/** @throws GoUnfit where `go`, started in the module's folder, is not there or is too old. */
export async function requireGo(folder: ToolFolder): Promise<void> {
  // In that folder, because GOTOOLCHAIN=auto fetches the toolchain that its go.mod asks for.
  const found = await outputOf('go', ['env', 'GOVERSION'], { cwd: moduleFolder(folder) });
  if (found.outcome === 'missing') throw new GoUnfit('Go is not installed (no `go` on the PATH)');
  if (found.outcome === 'failed') throw new GoUnfit(`Go cannot be used: ${found.output.trim()}`);
  const minor = /^go1\.(\d+)/.exec(found.output)?.[1];
  if (minor === undefined || Number(minor) < OLDEST_GO) {
    throw new GoUnfit(`Go is too old (${found.output.trim()})`);
  }
}

/** Programs of one folder in tools/. */
export interface Build {
  readonly folder: ToolFolder;
  /** Where each is to be, an absolute path. */
  readonly targets: ReadonlyMap<ProgramName, string>;
  /** Where unfinished programs and the log are kept; on the file system of the targets. */
  readonly workDir: string;
  /** Called whenever go begins to compile a package. */
  readonly onPackage: () => void;
  readonly signal: AbortSignal | undefined;
}

/**
 * Builds the programs at once. Each appears whole or not at all, so two builds at a time are safe.
 *
 * @throws BuildFailed, or an AbortError where the signal came first
 */
export async function goBuild({ folder, targets, workDir, onPackage, signal }: Build): Promise<void> {
  const unfinished = join(workDir, `unfinished-${randomBytes(6).toString('hex')}`);
  const logFile = join(workDir, `build-${folder}.log`);
  await mkdir(unfinished, { recursive: true });
  try {
    const names = [...targets.keys()];
    const args = await buildArguments(folder, names, unfinished);
    const code = await runGo(args, { folder, logFile, onPackage, signal });
    if (code !== 0) throw new BuildFailed(folder, logFile, await lastLines(logFile, 15));
    for (const [name, target] of targets) {
      await mkdir(dirname(target), { recursive: true });
      await rename(join(unfinished, name), target);
    }
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function buildArguments(
  folder: ToolFolder,
  names: readonly ProgramName[],
  output: string,
): Promise<string[]> {
  const [first = raise('nothing is to be built'), ...others] = names;
  const flags = buildFlags(folder, await readPins(PROGRAM_SOURCES[first]));
  // Given a folder, go names each program after its package. That is our name for it, but for `server/v3` and `.`,
  // which are alone in their modules.
  const path = others.length === 0 ? join(output, first) : `${output}/`;
  const packages = names.map((name) => PROGRAM_SOURCES[name].goPackage);
  return ['build', '-v', '-mod=readonly', '-buildvcs=false', ...flags, '-o', path, ...packages];
}

function raise(message: string): never {
  throw new Error(message);
}

/**
 * Downloads what the programs are built from, as `go build` would; so it can be done while another build computes.
 * That this failed is no error: the build will say it.
 */
export async function goDownload(
  { folder, targets }: Pick<Build, 'folder' | 'targets'>,
  signal: AbortSignal,
) {
  const packages = [...targets.keys()].map((name) => PROGRAM_SOURCES[name].goPackage);
  const args = ['list', '-deps', '-mod=readonly', ...packages];
  const go = spawn('go', args, { cwd: moduleFolder(folder), env: goEnvironment(), signal, stdio: 'ignore' });
  await once(go, 'close').catch(() => undefined);
}

/** Runs go with its output in the log file; resolves to its exit code, or null where a signal ended it. */
async function runGo(args: string[], { folder, logFile, onPackage, signal }: GoRun): Promise<number | null> {
  const log = await open(logFile, 'w');
  try {
    const go = spawn('go', args, {
      cwd: moduleFolder(folder),
      env: goEnvironment(),
      signal,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await Promise.all([once(go, 'close'), follow(go.stderr, { log, onPackage })]);
    return go.exitCode;
  } finally {
    await log.close();
  }
}

type GoRun = Pick<Build, 'folder' | 'onPackage' | 'signal'> & { readonly logFile: string };

/** With `-v`, go says nothing but the packages that it compiles, one a line, unless something is wrong. */
async function follow(said: Readable, { log, onPackage }: { log: FileHandle; onPackage: () => void }) {
  for await (const line of createInterface({ input: said })) {
    if (/^\S+$/.test(line)) onPackage();
    else await log.write(`${line}\n`);
  }
}

function goEnvironment(): NodeJS.ProcessEnv {
  return {
    // The compiler collects its garbage less often: a quarter less time, 500 MB instead of 350 for the largest package.
    GOGC: '400',
    ...process.env,
    // A go.work file above the checkout must not change what is built.
    GOWORK: 'off',
  };
}
