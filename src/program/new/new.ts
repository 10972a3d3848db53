import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, extname, join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { misnamed } from '../../api/limits.ts';
import { VERSION } from '../../config/version.ts';
import { writeFiles, type Files } from '../generate/files.ts';
import { addition, kebabCase, renamed, withController, type Names } from './names.ts';
import { clusterScoped } from './scope.ts';

const HELP = `\
Usage: new NAME [--kind KIND] [--group GROUP] [--cluster-scoped] [--decides]
       new --add --kind KIND [--group GROUP] [--cluster-scoped] [--decides]

Writes an operator of your own into the new folder NAME, or, with --add, one more controller into the project in this folder.

  --kind KIND    the kind of its resources, in CamelCase (default: Website)
  --group GROUP  the API group of the kind, a domain of yours (default: example.com)
  --cluster-scoped
                 its resources are in no namespace
  --decides      it decides step by step, such as about something outside of the cluster; without, it declares objects
  --add          add a controller to an existing project
`;

const OPTIONS = {
  kind: { type: 'string' },
  group: { type: 'string' },
  'cluster-scoped': { type: 'boolean' },
  decides: { type: 'boolean' },
  add: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** What is to be written. */
interface Wanted extends Names {
  readonly isAdded: boolean;
  readonly isClusterScoped: boolean;
  readonly decides: boolean;
}

/**
 * The command `new`.
 *
 * @param args what follows the command
 * @returns the program's exit code
 */
export async function runNew(args: readonly string[]): Promise<number> {
  const wanted = await wantedBy(args);
  if (wanted === 'help') {
    process.stdout.write(HELP);
    return 0;
  }
  const problem = typeof wanted === 'string' ? wanted : (problemWith(wanted) ?? (await write(wanted)));
  if (problem === undefined) return 0;
  process.stderr.write(`new: ${problem}\n`);
  return 2;
}

/** A text is a problem. */
async function wantedBy(args: readonly string[]): Promise<Wanted | string> {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    if (values.help === true) return 'help';
    const { add: isAdded = false } = values;
    const [program = ''] = positionals;
    if (positionals.length !== (isAdded ? 0 : 1)) return `give one name, and none with --add\n${HELP}`;
    return { program, isAdded, ...(await answered(values)) };
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}\n${HELP}`;
  }
}

interface Given {
  readonly kind?: string | undefined;
  readonly group?: string | undefined;
  readonly 'cluster-scoped'?: boolean | undefined;
  readonly decides?: boolean | undefined;
}

/** Only a person at a terminal is asked for what is not given. */
async function answered({ kind, group, decides, 'cluster-scoped': isClusterScoped }: Given) {
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    return {
      kind: kind ?? 'Website',
      group: group ?? 'example.com',
      isClusterScoped: isClusterScoped ?? false,
      decides: decides ?? false,
    };
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const ask = async (question: string, usual: string) =>
    (await terminal.question(`${question} [${usual}] `)).trim() || usual;
  try {
    return {
      kind: kind ?? (await ask('Kind', 'Website')),
      group: group ?? (await ask('API group', 'example.com')),
      isClusterScoped:
        isClusterScoped ??
        (await ask('Are its resources in namespaces, or cluster-scoped?', 'namespaces')).startsWith('cl'),
      decides:
        decides ??
        (await ask('Does it declare objects, or decide step by step?', 'declare')).startsWith('deci'),
    };
  } finally {
    terminal.close();
  }
}

function problemWith({ program, kind, group, isAdded }: Wanted): string | undefined {
  return (
    (isAdded ? undefined : misnamed('operator', program)) ??
    misnamed('kind', kind) ??
    misnamed('group', group) ??
    (TAKEN_KINDS.includes(kind)
      ? `the kind ${kind} must have another name, since the code that is written uses this one`
      : undefined)
  );
}

/** What the template imports, and its main module. */
const TAKEN_KINDS: readonly string[] = ['KubernetesObject', 'ResourceOf', 'Main'];

/** @returns a problem */
async function write(wanted: Wanted): Promise<string | undefined> {
  const { program, isAdded } = wanted;
  const main = isAdded ? await readFile('src/main.ts', 'utf8').catch(() => undefined) : '';
  if (main === undefined) return 'there is no src/main.ts here; run this in the folder of your project';
  const files = await filesFor(wanted);
  const taken = [...files.keys()].filter((path) => existsSync(join(program, path)));
  if (taken.length > 0) return `${taken.join(', ')} already there; nothing was written`;
  const changed = isAdded ? withController(main, wanted) : main;
  await writeFiles(
    program,
    isAdded && changed !== undefined ? new Map([...files, ['src/main.ts', changed]]) : files,
  );
  if (changed === undefined) return byHand(files, wanted);
  process.stdout.write(isAdded ? added(files) : created(program, files));
  return undefined;
}

function byHand(files: Files, wanted: Wanted): string {
  const { imported, variable } = addition(wanted);
  return `wrote ${[...files.keys()].join(', ')}. src/main.ts has no list operator({ controllers: [...] }); add it by hand:\n\n  ${imported}\n  controllers: [..., ${variable}]`;
}

function created(program: string, files: Files): string {
  return `wrote ${[...files.keys()].join(', ')} in ${program}/\n\n  cd ${program}\n  npm install\n  npm test\n  npm start\n`;
}

function added(files: Files): string {
  return `wrote ${[...files.keys()].join(', ')}, and added it to src/main.ts\n`;
}

const ROOT = join(import.meta.dirname, extname(import.meta.filename) === '.ts' ? '../../..' : '../../../..');
const TEMPLATE = join(ROOT, 'create/template');
/** npm leaves a .gitignore out of packages. */
const PATHS: Readonly<Record<string, string>> = { gitignore: '.gitignore' };

async function filesFor(wanted: Wanted): Promise<Files> {
  const controller = await textsIn(join(TEMPLATE, wanted.decides ? 'decides' : 'children'));
  const all = wanted.isAdded
    ? [...controller].filter(([path]) => path !== 'src/main.ts')
    : [...(await textsIn(join(TEMPLATE, 'project'))), ...controller];
  const scoped = wanted.isClusterScoped ? clusterScoped : (text: string) => text;
  const version = await installable(ROOT, resolve(wanted.program));
  return new Map(
    all.map(([path, text]) => [
      (PATHS[path] ?? path).replace('website', kebabCase(wanted.kind)),
      renamed(scoped(text), wanted).replace(
        '"durable-operator": "0.0.0"',
        `"durable-operator": "${version}"`,
      ),
    ]),
  );
}

const Installed = z.object({
  packages: z.record(z.string(), z.looseObject({ resolved: z.string().optional() })),
});

/**
 * As a package.json names this package: a packed file or a clone that `new` runs from is named itself.
 *
 * @param root of this package
 * @param project the folder of the package.json
 */
export async function installable(root: string, project: string): Promise<string> {
  const modules = dirname(root);
  const fileAt = (path: string) => `file:${relative(project, path)}`;
  if (basename(modules) !== 'node_modules') return fileAt(root);
  const lock = await readFile(join(modules, '.package-lock.json'), 'utf8').catch(() => '{ "packages": {} }');
  const { resolved } = Installed.parse(JSON.parse(lock)).packages[`node_modules/${basename(root)}`] ?? {};
  return resolved?.startsWith('file:') === true
    ? fileAt(resolve(dirname(modules), resolved.slice('file:'.length)))
    : `^${VERSION}`;
}

async function textsIn(folder: string): Promise<Files> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name))
    .sort();
  const texts = await Promise.all(paths.map((path) => readFile(path, 'utf8')));
  return new Map(paths.map((path, index) => [relative(folder, path), texts[index] ?? '']));
}
