import type { Controller } from '../contract/controller.ts';
import { setTimeout as pause } from 'node:timers/promises';
import type { LiveTable } from './live-table.ts';
import { awaitedSamples, observe, type AwaitedSample, type Observers } from './sample-progress.ts';
import { applySamples, sampleName } from './samples.ts';
import type { SampleRow } from './table.ts';

export interface SampleRun extends Observers {
  readonly controllers: readonly Controller[];
  readonly table: LiveTable;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** A sample is not as wanted within three minutes. The message says which, and what its workflow does. */
export class NotConverged extends Error {
  override readonly name = 'NotConverged';
}

const WITHIN_MS = 180_000;
const INTERVAL_MS = 50;

/**
 * Applies the samples and shows them until every one is as wanted.
 *
 * @throws NotConverged, ApiError, or the signal's reason
 */
export async function runSamples(run: SampleRun): Promise<void> {
  const applied = await applySamples(run.cluster);
  run.say(`applied ${applied.map(({ manifest }) => sampleName(manifest)).join(', ')} (deploy/samples)`);
  const awaited = awaitedSamples(applied, run.controllers);
  try {
    await untilConverged(awaited, run);
  } finally {
    run.table.end();
  }
}

async function untilConverged(awaited: readonly AwaitedSample[], run: SampleRun): Promise<void> {
  const deadline = performance.now() + WITHIN_MS;
  let rows: readonly SampleRow[] = [];
  for (;;) {
    rows = await Promise.all(awaited.map((each, index) => rowOf(each, rows[index], run)));
    run.table.show(rows);
    if (rows.every(({ state }) => state === 'converged')) return;
    if (performance.now() > deadline) throw notConverged(rows);
    await pause(INTERVAL_MS, undefined, { signal: run.signal });
  }
}

/** A converged sample is not looked at again: what is told is how it converged. */
async function rowOf(
  awaited: AwaitedSample,
  before: SampleRow | undefined,
  observers: Observers,
): Promise<SampleRow> {
  if (before?.state === 'converged') return before;
  const seen = await observe(awaited, observers);
  return { ...seen, elapsedMs: performance.now() - awaited.sample.appliedAtMs };
}

function notConverged(rows: readonly SampleRow[]): NotConverged {
  const waiting = rows.filter(({ state }) => state === 'waiting');
  const which = waiting.map(({ resource, workflow }) => `${resource} (workflow ${workflow})`);
  return new NotConverged(`not as wanted within ${WITHIN_MS / 1000} s: ${which.join(', ')}`);
}
