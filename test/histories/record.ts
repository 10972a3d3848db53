/**
 * Records the history of every case of every workflow that is one step, for test/workflows/replay.test.ts:
 *
 *   node test/histories/record.ts 0.2.0
 *
 * Files are only ever added: one that is there is what some version has written, and stays.
 */
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { buildServers } from '../../src/local/build.ts';
import { startStack } from '../../src/local/stack.ts';
import { ONE_STEP_WORKFLOWS, WorkflowWorld, type OneStepWorkflow } from '../support/workflow-world.ts';
import { CASE_NAMES, CASES, type CaseName } from '../workflows/cases.ts';

const WORKFLOWS = Object.keys(ONE_STEP_WORKFLOWS).filter(isWorkflow);

function isWorkflow(name: string): name is OneStepWorkflow {
  return name in ONE_STEP_WORKFLOWS;
}

async function record(version: string): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'durable-operator-record-'));
  const stack = await startStack({ dir, binaries: await buildServers({}) });
  const world = await WorkflowWorld.open(stack.temporalAddress);
  try {
    for (const workflow of WORKFLOWS) {
      for (const name of CASE_NAMES) await recordCase(world, { workflow, name, version });
    }
  } finally {
    await world.close();
    await stack.stop();
  }
}

interface Recording {
  readonly workflow: OneStepWorkflow;
  readonly name: CaseName;
  readonly version: string;
}

async function recordCase(world: WorkflowWorld, { workflow, name, version }: Recording): Promise<void> {
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
if (version === undefined) throw new Error('say the version that writes them: node test/histories/record.ts 0.2.0');
await record(version);
