// Runs the integration files that have failed once more, each alone. Exits with 0 if all pass then.
import { spawnSync } from 'node:child_process';
import process from 'node:process';
import { results } from './results.js';

/** More than these do not fail by chance. */
const FILES_MAX = 5;

const failed = results().filter((each) => each.failed > 0);
const isWorthIt = failed.length > 0 && failed.length <= FILES_MAX;
if (!isWorthIt || !failed.every(({ path }) => path.endsWith('.integration.ts'))) process.exit(1);

for (const { path } of failed)
  spawnSync('npm', ['run', 'test:integration', '--', '--runTestsByPath', path], { stdio: 'inherit' });

const now = new Map(results().map((each) => [each.path, each]));
const flaky = failed.filter(({ path }) => now.get(path)?.failed === 0);
for (const { path, why } of flaky) process.stdout.write(`flaky: ${path}: ${why}\n`);
process.exit(flaky.length === failed.length ? 0 : 1);
