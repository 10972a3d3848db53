import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { applyManifest, type ManifestDocument } from '../../local/manifests.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import { aTaskQueue, startOperator, type Operator } from './operator.ts';
import { DEFINITIONS, untilServed } from './programs.ts';
import type { Stage } from './stage.ts';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);

type PrintedKind = ManifestDocument & {
  readonly spec: { readonly group: string; readonly names: { readonly plural: string } };
};

/** Who writes an operator of their own, in an empty folder that has the packed package. */
export class Author {
  readonly directory: string;
  readonly taskQueue = aTaskQueue();
  readonly #crds: string[] = [];
  #env: Readonly<Record<string, string>> = {};

  private constructor(directory: string) {
    this.directory = directory;
  }

  /** @param example a folder of examples/, which the author begins with. Default: nothing */
  static async begin(example?: string): Promise<Author> {
    const author = new Author(await mkdtemp(join(tmpdir(), 'durable-operator-author-')));
    if (example === undefined)
      await author.write('package.json', JSON.stringify({ name: 'authors', type: 'module', private: true }));
    else await cp(join(ROOT, 'examples', example), author.directory, { recursive: true });
    await author.#install();
    return author;
  }

  /** The packed package, and beside it what it depends on, as npm would install it. */
  async #install(): Promise<void> {
    const modules = join(this.directory, 'node_modules');
    const installed = join(modules, 'durable-operator');
    await mkdir(installed, { recursive: true });
    await run('npm', ['pack', '--silent', '--pack-destination', this.directory], { cwd: ROOT });
    await run('tar', ['-xzf', await this.archive(), '--strip-components=1', '-C', installed]);
    const names = await readdir(join(ROOT, 'node_modules'));
    const others = names.filter((name) => name !== 'durable-operator');
    await Promise.all(others.map((name) => symlink(join(ROOT, 'node_modules', name), join(modules, name))));
  }

  /** The packed package. */
  async archive(): Promise<string> {
    const [archive = ''] = (await readdir(this.directory)).filter((name) => name.endsWith('.tgz'));
    return join(this.directory, archive);
  }

  async write(path: string, content: string): Promise<void> {
    await mkdir(dirname(join(this.directory, path)), { recursive: true });
    await writeFile(join(this.directory, path), content);
  }

  /** @throws Error with what it printed, where the types do not fit */
  async compile(): Promise<void> {
    const options = { strict: true, noEmit: true, module: 'nodenext', target: 'es2023', skipLibCheck: true };
    const compilerOptions = { ...options, allowImportingTsExtensions: true, types: ['node'] };
    await this.write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['src', 'test'] }));
    await this.node(join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', this.directory);
  }

  /** @returns what it printed */
  async node(...args: readonly string[]): Promise<string> {
    const { stdout } = await run(process.execPath, args, { cwd: this.directory }).catch((error: unknown) => {
      throw new Error(String(fieldsOf(error)['stdout']), { cause: error });
    });
    return stdout;
  }

  /** Makes the kinds that this module prints known to the cluster. */
  async applyKinds({ cluster: { client } }: Stage, module: string): Promise<void> {
    for (const line of (await this.node(module)).trim().split('\n')) {
      const manifest = JSON.parse(line) as PrintedKind;
      this.#crds.push(manifest.metadata.name);
      await applyManifest(client, manifest, 'author');
      const { group, names } = manifest.spec;
      await untilServed(client, { group, version: 'v1', plural: names.plural });
    }
  }

  /** @param env for the operator, and for those who then ask it */
  start({ stack }: Stage, env: Readonly<Record<string, string>> = {}): Promise<Operator> {
    const { taskQueue } = this;
    this.#env = env;
    const program = join(this.directory, 'src/main.ts');
    return startOperator({ kubeconfig: stack.kubeconfig, taskQueue, program, env });
  }

  /** Asks the operator's own program. @returns what it printed, whether or not all is well */
  async ask({ stack }: Stage, ...args: readonly string[]): Promise<string> {
    const servers = { KUBECONFIG: stack.kubeconfig, TEMPORAL_ADDRESS: stack.temporalAddress };
    const env = { ...process.env, ...servers, ...this.#env };
    const asked = ['src/main.ts', ...args, '--task-queue', this.taskQueue];
    return run(process.execPath, asked, { cwd: this.directory, env }).then(
      ({ stdout }) => stdout,
      (error: unknown) => String(fieldsOf(error)['stdout']),
    );
  }

  async remove({ cluster }: Stage): Promise<void> {
    await Promise.all(this.#crds.map((name) => cluster.delete({ type: DEFINITIONS, name })));
    await rm(this.directory, { recursive: true });
  }
}
