import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { build } from 'esbuild';
import { parseDocument } from 'yaml';
import { buildPrograms } from '../local/build.ts';
import packageJson from '../package.json' with { type: 'json' };
import { installManifest } from './install.ts';

/*
 * Makes what a release publishes, in dist/release: `npm run release -- --image REPOSITORY@sha256:… [--github OWNER/NAME]`.
 * It publishes nothing: .github/workflows/release.yml does. The image must have been pushed before, because the manifests
 * name its digest.
 */

const ROOT = join(import.meta.dirname, '..');
const OUTPUT = join(ROOT, 'dist/release');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const { version } = packageJson;

const run = promisify(execFile);

/** An image by its digest. No later push can change it. */
interface Image {
  readonly repository: string;
  readonly digest: string;
}

function parseImage(text: string): Image {
  const [, repository, digest] = /^(\S+)@(sha256:[0-9a-f]{64})$/.exec(text) ?? [];
  if (repository === undefined || digest === undefined) {
    throw new Error(`--image must be REPOSITORY@sha256:…, with 64 hexadecimal digits, not "${text}"`);
  }
  return { repository, digest };
}

/** The chart with the image of the release, by its digest unless somebody sets another tag; and the chart rendered. */
async function chartAndManifest(image: Image, github: string): Promise<void> {
  const { helm } = await buildPrograms(['helm']);
  const folder = join(OUTPUT, 'durable-operator');
  await cp(join(ROOT, 'deploy/helm'), folder, { recursive: true });
  await setIn(join(folder, 'values.yaml'), ['image', 'repository'], image.repository);
  await setIn(join(folder, 'Chart.yaml'), ['annotations', 'durable-operator.dev/image-digest'], image.digest);
  await run(helm, ['package', folder, '--destination', OUTPUT]);
  await rename(
    join(OUTPUT, `durable-operator-${version}.tgz`),
    join(OUTPUT, `durable-operator-chart-${version}.tgz`),
  );
  const owner = github.split('/')[0]?.toLowerCase();
  const reference = `oci://ghcr.io/${owner}/charts/durable-operator --version ${version}`;
  await write(join(OUTPUT, 'install.yaml'), await installManifest({ folder, reference }));
  await rm(folder, { recursive: true });
}

async function setIn(file: string, path: readonly string[], value: string): Promise<void> {
  const document = parseDocument(await readFile(file, 'utf8'));
  document.setIn(path, value);
  await write(file, document.toString());
}

/** The package has the compiled local stack, too: Node does not run TypeScript in node_modules. */
async function npmPackage(github: string): Promise<void> {
  const folder = join(OUTPUT, 'npm');
  const dist = join(folder, 'dist');
  await run(process.execPath, [TSC, '-p', join(ROOT, 'tsconfig.package.json'), '--outDir', dist]);
  // The build adds to the compiler's output: the commands in one file, and the workflows' bundles.
  for (const built of await readdir(join(ROOT, 'dist'))) {
    if (built !== basename(OUTPUT))
      await cp(join(ROOT, 'dist', built), join(dist, built), { recursive: true });
  }
  for (const kept of ['README.md', 'LICENSE', 'create/template', 'deploy/crd', 'deploy/samples', 'tools']) {
    await cp(join(ROOT, kept), join(folder, kept), { recursive: true });
  }
  await write(join(folder, 'package.json'), JSON.stringify(publishedPackage(github), null, 2));
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', OUTPUT], { cwd: folder });
  // npm and helm would give their archives the same name.
  await rename(join(OUTPUT, stdout.trim()), join(OUTPUT, `durable-operator-npm-${version}.tgz`));
  await rm(folder, { recursive: true });
  await createPackage(github);
}

/** For `npm create durable-operator`. */
async function createPackage(github: string): Promise<void> {
  const folder = join(OUTPUT, 'create');
  await cp(join(ROOT, 'create'), folder, { recursive: true });
  const file = join(folder, 'package.json');
  const about = JSON.parse(await readFile(file, 'utf8')) as object;
  const published = {
    ...about,
    version,
    repository: repositoryOf(github),
    dependencies: { [packageJson.name]: version },
  };
  await write(file, JSON.stringify(published, null, 2));
  await run('npm', ['pack', '--silent', '--pack-destination', OUTPUT], { cwd: folder });
  await rm(folder, { recursive: true });
}

function repositoryOf(github: string): object {
  return { type: 'git', url: `git+https://github.com/${github}.git` };
}

/** Its provenance is checked against the repository that it names. */
function publishedPackage(github: string): object {
  const { name, description, license, type, bin, files, exports, engines, dependencies } = packageJson;
  const repository = repositoryOf(github);
  return {
    name,
    version,
    description,
    license,
    repository,
    type,
    bin,
    files,
    exports,
    engines,
    dependencies,
  };
}

async function sbom(): Promise<void> {
  const { stdout } = await run('npm', ['run', '--silent', 'sbom'], { cwd: ROOT, maxBuffer: 2 ** 26 });
  await write(join(OUTPUT, 'sbom.cdx.json'), stdout);
}

const PLUGIN = 'kubectl-durable.tar.gz';

/** The kubectl plugin in one archive for every platform: it has its packages in it, and needs only Node. */
async function plugin(): Promise<void> {
  const folder = join(OUTPUT, 'plugin');
  const programs = [packageJson.bin['kubectl-durable'], packageJson.bin['kubectl_complete-durable']];
  await build({
    entryPoints: programs.map((program) => join(ROOT, program)),
    outbase: ROOT,
    outdir: folder,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    // CommonJS packages call it.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  // The compiler makes no file executable, and krew links to these as they are.
  for (const program of programs) await chmod(join(folder, program), 0o755);
  await cp(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  await write(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'kubectl-durable', version, type: 'module' }),
  );
  const reproducible = [
    '--sort=name',
    '--mtime=@0',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=a+rX,u+w',
  ];
  await run('tar', [...reproducible, '-czf', join(OUTPUT, PLUGIN), '-C', folder, '.'], {
    env: { ...process.env, GZIP: '-n' },
  });
  await rm(folder, { recursive: true });
}

/** The manifest of the plugin, with the place and the checksum of its archive. */
async function krewManifest(github: string): Promise<void> {
  const manifest = parseDocument(await readFile(join(ROOT, 'deploy/krew/durable.yaml'), 'utf8'));
  manifest.commentBefore = null;
  manifest.setIn(['spec', 'homepage'], `https://github.com/${github}`);
  const platform = ['spec', 'platforms', 0];
  manifest.setIn(
    [...platform, 'uri'],
    `https://github.com/${github}/releases/download/v${version}/${PLUGIN}`,
  );
  manifest.setIn([...platform, 'sha256'], await sha256Of(PLUGIN));
  await write(join(OUTPUT, 'durable.yaml'), manifest.toString());
}

async function sha256Of(name: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(join(OUTPUT, name)))
    .digest('hex');
}

/** The section of this version in the changelog. */
async function notes(): Promise<void> {
  const changelog = await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8');
  const section = changelog
    .split(/^## /m)
    .find((text) => text.startsWith(`${version} `) || text.startsWith(`${version}\n`));
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}"; write it`);
  await write(join(OUTPUT, 'notes.md'), section.slice(section.indexOf('\n')).trimStart());
}

/** As `sha256sum --check checksums.txt` reads it. */
async function checksums(): Promise<void> {
  const lines: string[] = [];
  for (const name of (await readdir(OUTPUT)).sort()) lines.push(`${await sha256Of(name)}  ${name}\n`);
  await write(join(OUTPUT, 'checksums.txt'), lines.join(''));
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

async function release(): Promise<void> {
  const { values } = parseArgs({
    options: {
      image: { type: 'string', default: '' },
      github: { type: 'string', default: 'example/durable-operator' },
    },
  });
  const image = parseImage(values.image);
  await rm(OUTPUT, { recursive: true, force: true });
  await chartAndManifest(image, values.github);
  await npmPackage(values.github);
  await sbom();
  await plugin();
  await krewManifest(values.github);
  await notes();
  await checksums();
  process.stdout.write(await readFile(join(OUTPUT, 'checksums.txt'), 'utf8'));
}

await release();
