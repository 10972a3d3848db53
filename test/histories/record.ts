/**
 * Records the history of every case, of each workflow where it differs, for test/workflows/replay.test.ts:
 *
 *   node test/histories/record.ts 0.3.0
 *
 * Files are only ever added: one that is there is what some version has written, and stays.
 */
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { buildServers } from '../../local/build.ts';
import { startStack } from '../../local/stack.ts';
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
  const history = withoutTraces(historyToJSON(await run.history()));
  await writeFile(new URL(`${version}-${name}.json`, folder), history, { flag: 'wx' }).catch(ignoreExisting);
  if (name.endsWith('waits')) await run.terminate();
}

/** Stack traces and the names of machines say nothing to a replay, and something about who recorded it. */
function withoutTraces(json: string): string {
  const untraced = json.replaceAll(/"(stackTrace|identity)": "(?:[^"\\]|\\.)*"/g, '"$1": ""');
  return `${untraced.replaceAll(/\b\d+@[\w.-]+/g, 'a-worker')}\n`;
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

const [version] = process.argv.slice(2);
if (version === undefined) throw new Error('say the version that writes them: node test/histories/record.ts 0.3.0');
await record(version);
