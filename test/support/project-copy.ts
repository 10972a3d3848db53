import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');

/** A copy of this project's work tree, as somebody has it who is about to change it. */
export class ProjectCopy {
  readonly directory: string;

  private constructor(directory: string) {
    this.directory = directory;
  }

  static async make(): Promise<ProjectCopy> {
    const copy = new ProjectCopy(await mkdtemp(join(tmpdir(), 'durable-operator-copy-')));
    const listed = await run('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: ROOT });
    for (const path of listed.stdout.split('\0').filter(Boolean)) await copy.#take(path);
    await symlink(join(ROOT, 'node_modules'), join(copy.directory, 'node_modules'));
    await copy.run('git', 'init', '--quiet');
    await copy.run('git', 'add', '--all');
    return copy;
  }

  /** @returns what it printed. @throws Error with what it printed, where it fails */
  async run(program: string, ...args: readonly string[]): Promise<string> {
    try {
      return (await run(program, args, { cwd: this.directory })).stdout;
    } catch (error) {
      const printed = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
      throw new Error(`${program} ${args.join(' ')} has failed:\n${printed}`, { cause: error });
    }
  }

  /** A program of a package, on the Node that runs this. */
  tool(script: string, ...args: readonly string[]): Promise<string> {
    return this.run(process.execPath, join('node_modules', script), ...args);
  }

  async create(path: string, text: string): Promise<void> {
    const file = join(this.directory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { flag: 'wx' });
  }

  /** Inserts each `+` line behind the line above it, or in its place where that is a `-` line, which must be there once. */
  async patch(path: string, diff: readonly string[]): Promise<void> {
    const file = join(this.directory, path);
    const lines = (await readFile(file, 'utf8')).split('\n');
    let at = 0;
    for (const line of diff) {
      if (!line.startsWith('+')) at = onlyIndexOf(lines, line.slice(1), path);
      if (line.startsWith('+')) lines.splice(at, 0, line.slice(1));
      if (line.startsWith('-')) lines.splice(at, 1);
      else at += 1;
    }
    await writeFile(file, lines.join('\n'));
  }

  /** The paths of the files that were changed or added since. */
  async changes(): Promise<string[]> {
    const status = await this.run('git', 'status', '--porcelain', '-uall');
    const changed = status.split('\n').filter((line) => line !== '' && line[1] !== ' ');
    return changed.map((line) => line.slice(3)).sort();
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true });
  }

  async #take(path: string): Promise<void> {
    const target = join(this.directory, path);
    await mkdir(dirname(target), { recursive: true });
    await cp(join(ROOT, path), target);
  }
}

function onlyIndexOf(lines: readonly string[], wanted: string, path: string): number {
  const found = lines.flatMap((line, index) => (line === wanted ? [index] : []));
  const [index] = found;
  if (index === undefined || found.length > 1) {
    throw new Error(`${path} has ${found.length} times, and not once: ${wanted}`);
  }
  return index;
}
