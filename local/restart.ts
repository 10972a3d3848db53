import { existsSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';

/** Editors write a file in several steps. */
const QUIET_MS = 50;

/**
 * Calls `restart` each time a file beside the main module, or below it, has changed, until the signal. Changes while it runs
 * are followed by one more call.
 */
export function whenFilesChange(mainModule: string, restart: () => Promise<void>, signal: AbortSignal): void {
  const folder = dirname(mainModule);
  let timer: NodeJS.Timeout | undefined;
  let last = Promise.resolve();
  // A main module in the project's own folder has all packages below it.
  const recursive = !existsSync(join(folder, 'node_modules'));
  watch(folder, { recursive, signal }, () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      last = last.then(restart);
    }, QUIET_MS);
  });
}
