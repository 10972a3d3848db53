import { Worker } from 'node:worker_threads';

/** More than Node gives a thread for young objects: hundreds of answers at once would be copied again and again. */
const YOUNG_OBJECTS_MB = 64;

/** Starts what {@link RunsThread} asks. It does not keep the process alive while nobody asks. */
export function startRunsThread(): Worker {
  // The built program has it in the same folder as what this is bundled into.
  const file = import.meta.url.endsWith('.ts') ? './runs-thread-main.ts' : './runs-thread-main.js';
  const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_OBJECTS_MB };
  const worker = new Worker(new URL(file, import.meta.url), { resourceLimits });
  worker.unref();
  return worker;
}
