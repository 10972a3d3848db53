/**
 * Records the histories that test/workflows/replay.test.ts replays, each on one line:
 *
 *   node test/histories/record.ts 0.4.0
 *
 * A file of a published version is never written again: it is what that version wrote.
 */
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildServers } from '../../local/build.ts';
import { startStack } from '../../local/stack.ts';
import { writeHistory } from '../../testing/histories.ts';
import { WorkflowWorld } from '../support/workflow-world.ts';
import { CASES, recordings } from '../workflows/cases.ts';

async function record(version: string): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'durable-operator-record-'));
  const stack = await startStack({ dir, binaries: await buildServers({}) });
  const world = await WorkflowWorld.open(stack.temporalAddress);
  try {
    for (const each of recordings()) await recordCase(world, each, version);
  } finally {
    await world.close();
    await stack.stop();
  }
}

type Recording = ReturnType<typeof recordings>[number];

async function recordCase(world: WorkflowWorld, recording: Recording, version: string): Promise<void> {
  const { workflow, name } = recording;
  const run = await CASES[name](world, workflow);
  const folder = new URL(`./${workflow}/`, import.meta.url);
  await mkdir(folder, { recursive: true });
  await writeHistory(await run.history(), new URL(`${version}-${name}.json`, folder));
  if (name.endsWith('waits')) await run.terminate();
}

const [version] = process.argv.slice(2);
if (version === undefined) throw new Error('name the version that writes them: node test/histories/record.ts 0.4.0');
await record(version);
