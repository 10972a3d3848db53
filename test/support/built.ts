import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** The operator as it is delivered. From the sources it bundles its workflows each time it starts, which takes seconds. */
export const PROGRAM = join(ROOT, 'dist/src/main.js');

/** `npm run build`. @throws Error where it fails */
export async function build(): Promise<void> {
  const child = spawn('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: ['ignore', 2, 2] });
  await once(child, 'exit');
  if (child.exitCode !== 0) throw new Error('npm run build failed; its output is above');
}
