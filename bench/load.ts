import { setTimeout as delay } from 'node:timers/promises';
import type { Arrivals } from './arrivals.ts';

/** `at rest`: one at a time, with a pause, so that nothing waits for anything else. */
export type Load = 'at rest' | 'at once';

export interface LoadRequest {
  readonly load: Load;
  readonly names: readonly string[];
  readonly write: (name: string) => Promise<unknown>;
  readonly arrivals: Arrivals;
}

export interface Timing {
  /** One a resource: from the start of the write that calls for work to the event that shows it done. */
  readonly latenciesMs: readonly number[];
  /** From the first write to the last arrival. */
  readonly elapsedMs: number;
}

const PAUSE_MS = 50;
const IN_FLIGHT = 20;

/** Writes every one, and resolves when all have arrived. @throws Error where one does not */
export async function timed(request: LoadRequest): Promise<Timing> {
  const startMs = performance.now();
  const begun = request.load === 'at rest' ? await oneByOne(request) : await manyAtOnce(request);
  const arrivals: [number, number][] = [];
  for (const [name, atMs] of begun) arrivals.push([atMs, await request.arrivals.of(name)]);
  return {
    latenciesMs: arrivals.map(([begunMs, arrivedMs]) => arrivedMs - begunMs),
    elapsedMs: Math.max(...arrivals.map(([, arrivedMs]) => arrivedMs)) - startMs,
  };
}

/** Calls for all of them, 20 under way at a time. */
export async function inFlight(
  names: readonly string[],
  call: (name: string) => Promise<unknown>,
): Promise<void> {
  const left = names.values();
  const caller = async () => {
    for (const name of left) await call(name);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, caller));
}

async function oneByOne({ names, write, arrivals }: LoadRequest): Promise<Map<string, number>> {
  const begun = new Map<string, number>();
  for (const name of names) {
    begun.set(name, performance.now());
    await write(name);
    await arrivals.of(name);
    await delay(PAUSE_MS);
  }
  return begun;
}

async function manyAtOnce({ names, write }: LoadRequest): Promise<Map<string, number>> {
  const begun = new Map<string, number>();
  await inFlight(names, async (name) => {
    begun.set(name, performance.now());
    await write(name);
  });
  return begun;
}
