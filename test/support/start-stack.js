import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { startInstalledStack } from './installed-stack.ts';

/** Once a run, before the first integration test: one stack for all of them, found through stack.ts. */
export default async function startStackForTests() {
  const stack = await startInstalledStack();
  const coordinates = join(stack.dir, 'coordinates.json');
  await writeFile(coordinates, JSON.stringify(stack));
  process.env.DURABLE_OPERATOR_TEST_STACK = coordinates;
  globalThis.durableOperatorTestStack = stack;
}
