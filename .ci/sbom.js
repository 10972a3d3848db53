// Prints the SBOM of what the image ships, in CycloneDX's format.
// `npm sbom --omit=dev` also leaves out what development packages need besides (npm 11.19), so it is given a copy of
// the project that has no development packages. The copy's folder is the name that the SBOM tells.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const [project, lock] = ['package.json', 'package-lock.json'].map((name) =>
  JSON.parse(readFileSync(join(root, name), 'utf8')),
);
for (const root of [project, lock.packages['']]) delete root.devDependencies;
lock.packages = Object.fromEntries(Object.entries(lock.packages).filter(([, { dev }]) => dev !== true));

const temporary = mkdtempSync(join(tmpdir(), 'durable-operator-sbom-'));
const copy = join(temporary, project.name);
try {
  mkdirSync(copy);
  writeFileSync(join(copy, 'package.json'), JSON.stringify(project));
  writeFileSync(join(copy, 'package-lock.json'), JSON.stringify(lock));
  const sbom = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
  execFileSync('npm', sbom, { cwd: copy, stdio: ['ignore', 'inherit', 'inherit'] });
} finally {
  rmSync(temporary, { recursive: true });
}
