import { beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import packageJson from '../package.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '..');
const SBOM_TIMEOUT_MS = 60_000;

const run = promisify(execFile);

const Lockfile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      resolved: z.string().optional(),
      integrity: z.string().optional(),
      dev: z.boolean().default(false),
      optionalDependencies: z.record(z.string(), z.string()).default({}),
    }),
  ),
});
const { packages } = Lockfile.parse(JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')));
const locked = Object.entries(packages).filter(([path]) => path !== '');

const Workflow = z.object({
  jobs: z.record(
    z.string(),
    z.object({
      permissions: z.record(z.string(), z.string()).default({}),
      steps: z.array(z.object({ run: z.string().optional() })).default([]),
    }),
  ),
});

describe('package.json', () => {
  it('names exact versions', () => {
    const named = Object.entries({ ...packageJson.dependencies, ...packageJson.devDependencies });
    expect(named.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });
});

describe('package-lock.json', () => {
  it('has the hash of every package', () => {
    expect(locked.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([]);
  });

  it('takes every package from the registry, whichever that is', () => {
    expect(locked.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  // `npm ci`, by which the image is built, refuses a lockfile that leaves out another platform's packages.
  it('has what other platforms need', () => {
    const names = new Set(locked.map(([path]) => nameAt(path)));
    const optional = locked.flatMap(([, { optionalDependencies }]) => Object.keys(optionalDependencies));
    expect(optional.filter((name) => !names.has(name))).toEqual([]);
  });
});

describe('the workflows', () => {
  const folder = join(ROOT, '.github/workflows');
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));

  it('use actions by commit only, and say which version that is', () => {
    const uses = texts.flatMap((text) => [...text.matchAll(/uses: (?!\.\/)(.*)$/gm)].map(([, used]) => used));
    expect(uses.length).toBeGreaterThan(0);
    expect(uses.filter((used = '') => !/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(used))).toEqual([]);
  });

  it('use one commit of an action everywhere', () => {
    const commits = new Map<string, Set<string>>();
    for (const [, action = '', commit = ''] of texts.join().matchAll(/uses: ([\w/-]+)@(\w+)/g)) {
      commits.set(action, (commits.get(action) ?? new Set()).add(commit));
    }
    expect([...commits].filter(([, used]) => used.size > 1)).toEqual([]);
  });

  it('give no more rights than reading to what does not ask for more', () => {
    expect(texts.filter((text) => !text.includes('\npermissions:\n  contents: read\n'))).toEqual([]);
  });

  // A package that runs code there could sign and publish in our name.
  it('run no code of packages in a job that may write or sign', () => {
    const jobs = texts.flatMap((text) => Object.entries(Workflow.parse(parse(text)).jobs));
    const mayWrite = jobs.filter(([, { permissions }]) => Object.values(permissions).includes('write'));
    expect(mayWrite.map(([name]) => name)).toContain('publish');
    const runs = mayWrite.flatMap(([name, { steps }]) => steps.map(({ run = '' }) => `${name}: ${run}`));
    expect(runs.filter((run) => /\b(npm (?!view|publish)\w+|npx|node)\b/.test(run))).toEqual([]);
  });

  // release.yml calls ci.yml, so their artifacts are those of one run.
  it('upload each artifact under a name of its own', () => {
    const names = texts.flatMap((text) =>
      [...text.matchAll(/uses: actions\/upload-artifact@[^]*?name: ([^\s,]+)/g)].map(([, name]) => name),
    );
    expect(names).toContain('release');
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('run the Node that everything here is tested with', () => {
    const versions = texts.flatMap((text) =>
      [...text.matchAll(/node-version: ([\d.]+)/g)].map(([, version]) => version),
    );
    expect(new Set(versions)).toEqual(new Set([packageJson.devDependencies.node]));
  });
});

describe('npm run sbom', () => {
  const Sbom = z.object({
    bomFormat: z.literal('CycloneDX'),
    components: z.array(
      z.object({
        name: z.string(),
        version: z.string(),
        purl: z.string().startsWith('pkg:npm/'),
        hashes: z.array(z.object({ alg: z.literal('SHA-512'), content: z.string() })).nonempty(),
      }),
    ),
  });
  let components: z.infer<typeof Sbom>['components'];

  beforeAll(async () => {
    const { stdout } = await run('npm', ['run', '--silent', 'sbom'], { cwd: ROOT, maxBuffer: 2 ** 26 });
    ({ components } = Sbom.parse(JSON.parse(stdout)));
  }, SBOM_TIMEOUT_MS);

  it('lists every package of the lockfile that is not for development only, and no other', () => {
    const shipped = locked
      .filter(([, { dev }]) => !dev)
      .map(([path, { version = '' }]) => ({ name: nameAt(path), version }));
    expect(each(components)).toEqual(each(shipped));
  });

  /** Some packages are there in several places. */
  function each(all: readonly { name: string; version: string }[]): string[] {
    return [...new Set(all.map(({ name, version }) => `${name}@${version}`))].sort();
  }
});

/** `node_modules/a/node_modules/@b/c` holds `@b/c`. */
function nameAt(path: string): string {
  return path.split('node_modules/').at(-1) ?? path;
}
