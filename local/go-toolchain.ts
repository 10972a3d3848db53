import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { lastLines, outputOf } from './program-output.ts';
import { buildFlags, moduleFolder, PROGRAM_SOURCES, readPins, type ProgramName } from './server-pins.ts';

/** Go is missing, or does not accept the module. The message says what to do instead. */
export class GoUnfit extends Error {
  /** @param reasons why the servers could not be downloaded; empty: there is nothing to download */
  constructor(found: string, reasons: readonly string[]) {
    const [tried, otherwise] =
      reasons.length > 0
        ? [
            `, and servers cannot be downloaded (${reasons.join('; ')})`,
            'Connect to the Internet or name a mirror (DURABLE_OPERATOR_MIRROR)',
          ]
        : ['', 'Use docker-compose.yml (docker compose up)'];
    super(
      `${found}${tried}. ${otherwise}, install Go 1.26 or later from https://go.dev/dl/, ` +
        'or point KUBECONFIG and TEMPORAL_ADDRESS at servers of your own',
    );
    this.name = 'GoUnfit';
  }
}

/** `go build` failed. The message has the end of its output and the path of the log. */
export class BuildFailed extends Error {
  constructor(folder: string, logFile: string, lastOutput: string) {
    super(
      `building tools/${folder} failed; the whole log is ${logFile}, its last lines:\n${lastOutput}\n` +
        'Run the same command again to continue: finished programs are kept',
    );
    this.name = 'BuildFailed';
  }
}

/**
 * @param reasons why the servers could not be downloaded
 * @throws GoUnfit
 */
export async function requireGo(folder: string, reasons: readonly string[] = []): Promise<void> {
  // In the module's folder, because GOTOOLCHAIN=auto downloads the toolchain that its go.mod requires.
  const found = await outputOf('go', ['env', 'GOVERSION'], { cwd: moduleFolder(folder) });
  if (found.outcome === 'missing') throw new GoUnfit('Go is not installed (no `go` on the PATH)', reasons);
  if (found.outcome === 'failed') throw new GoUnfit(`Go cannot be used: ${found.output.trim()}`, reasons);
}

/** Programs of one folder in tools/. */
export interface GoBuildRequest {
  readonly folder: string;
  /** The absolute path of each program. */
  readonly targets: ReadonlyMap<ProgramName, string>;
  /** For unfinished programs and the log; on the file system of the targets. */
  readonly workDir: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Builds the programs. Each file appears when it is complete, so two builds at the same time are safe.
 *
 * @throws BuildFailed, or an AbortError if the signal is aborted
 */
export async function goBuild({ folder, targets, workDir, signal }: GoBuildRequest): Promise<void> {
  const unfinished = join(workDir, `unfinished-${randomBytes(6).toString('hex')}`);
  const logFile = join(workDir, `build-${folder}.log`);
  await mkdir(unfinished, { recursive: true });
  try {
    const args = await buildArguments([...targets.keys()], unfinished);
    const code = await runGo(args, { folder, logFile, signal });
    if (code !== 0) throw new BuildFailed(folder, logFile, await lastLines(logFile, 15));
    for (const [name, target] of targets) {
      await mkdir(dirname(target), { recursive: true });
      await rename(join(unfinished, name), target);
    }
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** All programs in one command, because they share most packages. */
async function buildArguments(names: readonly ProgramName[], output: string): Promise<string[]> {
  const sources = names.map((name) => PROGRAM_SOURCES[name]);
  const [first] = sources;
  if (first === undefined) throw new Error('there is nothing to build');
  const flags = buildFlags(first.folder, await readPins(first));
  // In a folder, go names each program after its package. A program with another name is alone in its module.
  const path = names.length === 1 ? join(output, ...names) : `${output}/`;
  const packages = sources.map(({ goPackage }) => goPackage);
  return ['build', '-mod=readonly', '-buildvcs=false', ...flags, '-o', path, ...packages];
}

/** Runs go with its output in the log file. @returns its exit code, or null after a signal */
async function runGo(
  args: readonly string[],
  { folder, logFile, signal }: Pick<GoBuildRequest, 'folder' | 'signal'> & { readonly logFile: string },
): Promise<number | null> {
  const log = await open(logFile, 'w');
  try {
    const go = spawn('go', args, {
      cwd: moduleFolder(folder),
      env: goEnvironment(),
      signal,
      stdio: ['ignore', 'ignore', log.fd],
    });
    await once(go, 'close');
    return go.exitCode;
  } finally {
    await log.close();
  }
}

function goEnvironment(): NodeJS.ProcessEnv {
  return {
    // Fewer garbage collections: a quarter less time, and 500 MB instead of 350 for the largest package.
    GOGC: '400',
    ...process.env,
    // A go.work file above the checkout must not change what is built.
    GOWORK: 'off',
  };
}
