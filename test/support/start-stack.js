import { glob, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { buildServers } from '../../local/build.ts';
import { build } from './built.ts';
import { startInstalledStack } from './installed-stack.ts';

/**
 * Starts a stack for each of Jest's workers; stack.ts finds it. An operator watches a whole cluster, so the test files
 * on one stack take turns.
 */
export default async function startStacksForTests({ maxWorkers, testPathPatterns, rootDir }) {
  await Promise.all([build(), buildServers()]);
  const count = Math.min(maxWorkers, await filesThatMatch(testPathPatterns.patterns, rootDir));
  const stacks = await Promise.all(Array.from({ length: count }, () => startInstalledStack()));
  globalThis.durableOperatorTestStacks = stacks;
  if (stacks.length === 0) return;
  const coordinates = join(stacks[0].dir, 'coordinates.json');
  await writeFile(coordinates, JSON.stringify(stacks));
  process.env.DURABLE_OPERATOR_TEST_STACKS = coordinates;
}

async function filesThatMatch(patterns, rootDir) {
  const files = await Array.fromAsync(glob('test/**/*.{integration,nightly}.ts', { cwd: rootDir }));
  const isMatch = (file) => patterns.some((pattern) => new RegExp(pattern, 'i').test(join(rootDir, file)));
  return patterns.length === 0 ? files.length : files.filter(isMatch).length;
}
