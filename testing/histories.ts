import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { temporal } from '@temporalio/proto';
import { workflowBundle } from '../src/temporal/bundle.ts';

/**
 * Replays recorded histories with the workflow of this version of the package: where it fails, open runs that the earlier version
 * has begun would fail, too.
 *
 * @param path a file, or a folder with files that end in `.json`, at any depth
 * @returns the files that were replayed
 * @throws Error which names the file
 * @example
 * await replay(new URL('histories/', import.meta.url));
 */
export async function replay(path: string | URL): Promise<readonly string[]> {
  const { Worker } = await import('@temporalio/worker');
  const bundle = await (bundled ??= workflowBundle());
  const files = await historiesIn(typeof path === 'string' ? path : fileURLToPath(path));
  if (files.length === 0) throw new Error(`there is no history in ${String(path)}`);
  for (const file of files) {
    const history: unknown = JSON.parse(await readFile(file, 'utf8'));
    await Worker.runReplayHistory({ workflowBundle: bundle }, history).catch((cause: unknown) => {
      throw new Error(`${file} cannot be replayed: an open run like it would fail`, { cause });
    });
  }
  return files;
}

let bundled: ReturnType<typeof workflowBundle> | undefined;

async function historiesIn(path: string): Promise<readonly string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const names = await readdir(path, { recursive: true });
  return names
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => join(path, name));
}

/** Which run to record. */
export interface HistorySource {
  /** Of the Temporal server: `127.0.0.1:7233`. */
  readonly address: string;
  /** Default: `default`. */
  readonly namespace?: string;
  /** `bucket/default/photos/<uid>` */
  readonly workflowId: string;
}

/**
 * Writes the history of a run into a file, for {@link replay}. A file that exists is kept: it is what that version wrote.
 *
 * @throws Error where there is no such run
 * @example
 * await downloadHistory({ address: '127.0.0.1:7233', workflowId }, 'test/histories/1.0.0-created.json');
 */
export async function downloadHistory(run: HistorySource, file: string): Promise<void> {
  const { address, namespace = 'default', workflowId } = run;
  const { Client, Connection } = await import('@temporalio/client');
  const connection = await Connection.connect({ address });
  try {
    const handle = new Client({ connection, namespace }).workflow.getHandle(workflowId);
    await writeHistory(await handle.fetchHistory(), file);
  } finally {
    await connection.close();
  }
}

/** On one line, so that a change of it is one line. A file that exists is kept. */
export async function writeHistory(
  history: temporal.api.history.v1.IHistory,
  file: string | URL,
): Promise<void> {
  const { historyToJSON } = await import('@temporalio/common/lib/proto-utils.js');
  const line = `${JSON.stringify(JSON.parse(withoutTraces(historyToJSON(history))))}\n`;
  await writeFile(file, line, { flag: 'wx' }).catch(ignoreExisting);
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

/** A replay does not need stack traces and host names, and they tell who recorded it. */
function withoutTraces(json: string): string {
  const untraced = json.replaceAll(/"(stackTrace|identity)": "(?:[^"\\]|\\.)*"/g, '"$1": ""');
  return untraced.replaceAll(/\b\d+@[\w.-]+/g, 'a-worker');
}
