import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Schedule } from './events.ts';

/** What a person has cut down by hand is checked no further than this. */
const Written = z.object({
  seed: z.number(),
  events: z.array(z.object({ afterMs: z.number(), what: z.looseObject({}) })),
});

/** A schedule that was written down. */
export async function readSchedule(file: string): Promise<Schedule> {
  return Written.parse(JSON.parse(await readFile(file, 'utf8'))) as unknown as Schedule;
}
