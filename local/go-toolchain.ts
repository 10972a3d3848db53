import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { lastLines, outputOf } from './program-output.ts';
import { ldflagsOf, moduleFolder, readPins, type ProgramName, type ProgramSource } from './server-pins.ts';

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

/** `go build` failed. The message has go's last words and the path of the whole log. */
export class BuildFailed extends Error {
  constructor(program: ProgramName, logFile: string, lastWords: string) {
    super(
      `building ${program} failed; the whole log is ${logFile}, its last lines:\n${lastWords}\n` +
        'Check that the Go module proxy can be reached (GOPROXY) and that the disk is not full, then run again',
    );
    this.name = 'BuildFailed';
  }
}

/** @throws GoUnfit where `go`, started in the module's folder, is not there or is too old. */
export async function requireGo(source: ProgramSource): Promise<void> {
  // In that folder, because GOTOOLCHAIN=auto fetches the toolchain that its go.mod asks for.
  const found = await outputOf('go', ['env', 'GOVERSION'], { cwd: moduleFolder(source) });
  if (found.outcome === 'missing') throw new GoUnfit('Go is not installed (no `go` on the PATH)');
  if (found.outcome === 'failed') throw new GoUnfit(`Go cannot be used: ${found.output.trim()}`);
  const minor = /^go1\.(\d+)/.exec(found.output)?.[1];
  if (minor === undefined || Number(minor) < OLDEST_GO) {
    throw new GoUnfit(`Go is too old (${found.output.trim()})`);
  }
}

/**
 * Builds the program to this path. The file appears whole or not at all, so two builds at once are safe.
 *
 * @throws BuildFailed, or an AbortError where the signal came first
 */
export async function goBuild(
  name: ProgramName,
  source: ProgramSource,
  { target, signal }: { readonly target: string; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const unfinished = `${target}.${randomBytes(6).toString('hex')}`;
  const logFile = join(dirname(target), 'build.log');
  try {
    const args = await buildArguments(source, unfinished);
    const code = await runGo(args, { cwd: moduleFolder(source), logFile, signal });
    if (code !== 0) throw new BuildFailed(name, logFile, await lastLines(logFile, 15));
    await rename(unfinished, target);
  } finally {
    await rm(unfinished, { force: true });
  }
}

async function buildArguments(source: ProgramSource, output: string): Promise<string[]> {
  const reproducible = ['-mod=readonly', '-buildvcs=false'];
  const ldflags = ldflagsOf(source, await readPins(source));
  const tags = source.tags === undefined ? [] : ['-tags', source.tags];
  return ['build', ...reproducible, ...tags, '-ldflags', ldflags, '-o', output, source.goPackage];
}

/** Runs go with its output in the log file; resolves to its exit code, or null where a signal ended it. */
async function runGo(args: string[], { cwd, logFile, signal }: GoRun): Promise<number | null> {
  const log = await open(logFile, 'w');
  try {
    // A go.work file above the checkout must not change what is built.
    const env = { ...process.env, GOWORK: 'off' };
    const go = spawn('go', args, { cwd, env, signal, stdio: ['ignore', log.fd, log.fd] });
    await once(go, 'close');
    return go.exitCode;
  } finally {
    await log.close();
  }
}

interface GoRun {
  readonly cwd: string;
  readonly logFile: string;
  readonly signal: AbortSignal | undefined;
}
