import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { parseDocument } from 'yaml';
import { buildPrograms, type Binaries } from '../local/build.ts';
import packageJson from '../package.json' with { type: 'json' };

/*
 * Makes what a release publishes, in dist/release: `npm run release -- --image REPOSITORY@sha256:… [--github OWNER/NAME]`.
 * It publishes nothing itself; .github/workflows/release.yml does. The image must have been pushed before, since the
 * manifests name its digest.
 */

const ROOT = join(import.meta.dirname, '..');
const OUTPUT = join(ROOT, 'dist/release');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const { version } = packageJson;

const run = promisify(execFile);

/** An image by its digest, which no later push can change. */
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

/** What `kubectl apply` installs: deploy/default with the image of the release. */
async function installManifest(image: Image, { kubectl }: Binaries<'kubectl'>): Promise<void> {
  const folder = join(OUTPUT, 'install');
  const kustomization = {
    resources: [relative(folder, join(ROOT, 'deploy/default'))],
    images: [{ name: 'durable-operator', newName: image.repository, digest: image.digest }],
  };
  await write(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
  const { stdout } = await run(kubectl, ['kustomize', folder], { maxBuffer: 2 ** 26 });
  await write(join(OUTPUT, 'install.yaml'), stdout);
  await rm(folder, { recursive: true });
}

/** The chart, whose default image is that of the release: by its digest, as long as nobody sets another tag. */
async function chart(image: Image, { helm }: Binaries<'helm'>): Promise<void> {
  const folder = join(OUTPUT, 'durable-operator');
  await cp(join(ROOT, 'deploy/helm'), folder, { recursive: true });
  await setIn(join(folder, 'values.yaml'), ['image', 'repository'], image.repository);
  await setIn(join(folder, 'Chart.yaml'), ['annotations', 'durable-operator.dev/image-digest'], image.digest);
  await run(helm, ['package', folder, '--destination', OUTPUT]);
  await rename(
    join(OUTPUT, `durable-operator-${version}.tgz`),
    join(OUTPUT, `durable-operator-chart-${version}.tgz`),
  );
  await rm(folder, { recursive: true });
}

async function setIn(file: string, path: readonly string[], value: string): Promise<void> {
  const document = parseDocument(await readFile(file, 'utf8'));
  document.setIn(path, value);
  await write(file, document.toString());
}

/** The package has the local stack, too, compiled: Node runs no TypeScript in node_modules. */
async function npmPackage(github: string): Promise<void> {
  const folder = join(OUTPUT, 'npm');
  const dist = join(folder, 'dist');
  await run(process.execPath, [TSC, '-p', join(ROOT, 'tsconfig.package.json'), '--outDir', dist]);
  // The build has put more into these than the compiler alone: the commands in one file, and the workflows' bundles.
  for (const built of await readdir(join(ROOT, 'dist'))) {
    if (built !== basename(OUTPUT))
      await cp(join(ROOT, 'dist', built), join(dist, built), { recursive: true });
  }
  for (const kept of ['README.md', 'LICENSE', 'deploy/crd', 'deploy/samples', 'tools']) {
    await cp(join(ROOT, kept), join(folder, kept), { recursive: true });
  }
  await write(join(folder, 'package.json'), JSON.stringify(publishedPackage(github), null, 2));
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', OUTPUT], { cwd: folder });
  // npm and helm would give their archives the same name.
  await rename(join(OUTPUT, stdout.trim()), join(OUTPUT, `durable-operator-npm-${version}.tgz`));
  await rm(folder, { recursive: true });
}

/** Its provenance is checked against the repository that it names. */
function publishedPackage(github: string): object {
  const { name, description, license, type, bin, files, exports, engines, dependencies } = packageJson;
  const repository = { type: 'git', url: `git+https://github.com/${github}.git` };
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

/** The kubectl plugin, which needs Node and nothing else, so that one archive is for every platform. */
async function plugin(): Promise<void> {
  const folder = join(OUTPUT, 'plugin');
  const programs = [packageJson.bin['kubectl-durable'], packageJson.bin['kubectl_complete-durable']];
  for (const file of await withWhatTheyName(programs)) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await cp(join(ROOT, file), join(folder, file));
  }
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

/** Files by their paths from the root, with all other files that they name: what they import, and their thread. */
async function withWhatTheyName(files: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  const open = [...files];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    const text = await readFile(join(ROOT, file), 'utf8');
    const named = [...text.matchAll(/["'](\.{1,2}\/[\w./-]+\.js)["']/g)];
    const paths = named.map(([, path = '']) => join(dirname(file), path));
    open.push(...paths.filter((path) => existsSync(join(ROOT, path))));
  }
  return found;
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

/** What the changelog says of this version. */
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
  const programs = await buildPrograms(['kubectl', 'helm']);
  await installManifest(image, programs);
  await chart(image, programs);
  await npmPackage(values.github);
  await sbom();
  await plugin();
  await krewManifest(values.github);
  await notes();
  await checksums();
  process.stdout.write(await readFile(join(OUTPUT, 'checksums.txt'), 'utf8'));
}

await release();
