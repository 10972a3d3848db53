import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { basename, join } from 'node:path';
import { ProjectCopy } from '../support/project-copy.ts';
import { draw } from './draw.ts';
import type { Schedule } from './events.ts';
import { openGround, type OpenGround } from './ground.ts';
import { tryOut, type References, type TrialOptions } from './trial.ts';

const BUGS = join(import.meta.dirname, 'bugs');
const DIST = join(import.meta.dirname, '../../dist');

/** A defect that is put into the operator, to see whether the campaign catches it. */
export interface Bug {
  readonly name: string;
  /** The file of the patch. */
  readonly patch: string;
  /** What it is, in a sentence. */
  readonly title: string;
  /** Whose schedules are tried, one after the other, until one catches it. */
  readonly seeds: readonly number[];
  /** Of which controllers they are; as `--controllers` takes them, or `all`. */
  readonly controllers: string;
  /** Whether these need servers of their own. */
  readonly servers: boolean;
}

/** @param names none: all of them */
export async function readBugs(names: readonly string[] = []): Promise<readonly Bug[]> {
  const files = (await readdir(BUGS)).sort();
  const bugs = await Promise.all(files.map((file) => readBug(join(BUGS, file))));
  return bugs.filter(({ name }) => names.length === 0 || names.includes(name));
}

/** Reads what is above the diff: a sentence, and lines such as `Seeds: 3, 5`, `Controllers: pod-set`, `Servers: own`. */
async function readBug(patch: string): Promise<Bug> {
  const text = await readFile(patch, 'utf8');
  const [head = ''] = text.split(/^diff /m, 1);
  const fields = new Map(
    [...head.matchAll(/^(Seeds|Controllers|Servers): *(.+)$/gm)].map(([, name, value]) => [name, value]),
  );
  const [title = ''] = head.split('\n', 1);
  return {
    name: basename(patch, '.patch'),
    patch,
    title,
    seeds: (fields.get('Seeds') ?? '').split(',').map(Number).filter(Boolean),
    controllers: fields.get('Controllers') ?? 'all',
    servers: fields.get('Servers') === 'own',
  };
}

export interface HuntOptions {
  readonly trial: TrialOptions;
  /** How many bugs are hunted side by side, where that can be. */
  readonly atOnce: number;
  readonly names: readonly string[];
  readonly say: (message: string) => void;
}

/** @returns the bugs that no schedule has caught */
export async function hunt({ trial, atOnce, names, say }: HuntOptions): Promise<readonly Bug[]> {
  const bugs = await readBugs(names);
  const missed: Bug[] = [];
  for (const servers of [false, true]) {
    const left = bugs.filter((bug) => bug.servers === servers);
    if (left.length === 0) continue;
    const ground = await openGround(servers, say);
    const references: References = new Map();
    const hunter = async () => {
      for (let bug = left.shift(); bug !== undefined; bug = left.shift()) {
        const end = await catchBug(bug, ground, { ...trial, isAlone: servers }, references).catch(failure);
        if (end.caught === undefined) missed.push(bug);
        say(
          end.caught === undefined
            ? `${bug.name}: MISSED; ${end.why}`
            : `${bug.name}: caught by ${end.caught}`,
        );
      }
    };
    try {
      await Promise.all(Array.from({ length: servers ? 1 : atOnce }, hunter));
    } finally {
      await ground.close();
    }
  }
  say(`bugs: ${bugs.length - missed.length} of ${bugs.length} caught`);
  return missed;
}

/** How the hunt of one bug ended: `caught` is the seed, and the first thing that did not hold. */
type End = { readonly caught: string } | { readonly caught: undefined; readonly why: string };

/** One bug that cannot be tried must not end the hunt of the others. */
function failure(error: unknown): End {
  return { caught: undefined, why: `it could not be tried: ${String(error)}` };
}

/** What its own seeds miss, since no two runs of a schedule are the same in time, others may catch. */
const MORE_SEEDS = [101, 102, 103, 104, 105, 106, 107, 108];

function* schedulesFor({ seeds, controllers, servers }: Bug): Iterable<Schedule> {
  for (const seed of new Set([...seeds, ...MORE_SEEDS])) yield draw(seed, { controllers, servers });
}

async function catchBug(
  bug: Bug,
  ground: OpenGround,
  trial: TrialOptions,
  references: References,
): Promise<End> {
  const copy = await ProjectCopy.make();
  try {
    const program = await builtWith(bug, copy);
    const { controllers } = bug;
    for (const schedule of schedulesFor(bug)) {
      const { violations } = await tryOut(ground, schedule, { ...trial, controllers, program }, references);
      const [first] = violations;
      if (first !== undefined) return { caught: `seed ${schedule.seed}: ${first}` };
    }
    return { caught: undefined, why: bug.title };
  } finally {
    await copy.remove();
  }
}

/** What the build has made, with the files of the patch in place of its own. @returns the main module */
async function builtWith({ patch }: Bug, copy: ProjectCopy): Promise<string> {
  await copy.run('git', 'apply', patch);
  const changed = await copy.changes();
  const dist = join(copy.directory, 'dist');
  await cp(DIST, dist, { recursive: true });
  for (const path of changed) {
    const source = await readFile(join(copy.directory, path), 'utf8');
    await writeFile(join(dist, path.replace(/\.ts$/, '.js')), transpiled(source));
  }
  if (changed.some((path) => /^(workflows|src\/contract)\//.test(path))) {
    await copy.run(process.execPath, join(dist, 'src/temporal/bundle.js'));
  }
  return join(dist, 'src/main.js');
}

/** As the build does it (`rewriteRelativeImportExtensions`): types go, and what is imported is JavaScript. */
function transpiled(source: string): string {
  return stripTypeScriptTypes(source).replaceAll(/(from\s+'\.[^']*)\.ts'/g, "$1.js'");
}
