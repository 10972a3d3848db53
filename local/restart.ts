import { existsSync, readdirSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';

/** Editors write a file in several steps. */
const QUIET_MS = 50;

/**
 * Calls `restart` each time a file beside the main module, or below it, has changed, until the signal. Changes while it runs
 * are followed by one more call.
 */
export function whenFilesChange(mainModule: string, restart: () => Promise<void>, signal: AbortSignal): void {
  const watched = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let last = Promise.resolve();
  const watchFolders = () => {
    for (const folder of foldersIn(dirname(mainModule))) {
      if (watched.has(folder)) continue;
      watched.add(folder);
      // Not recursive: on Linux, Node then misses later changes of a file that an editor has replaced.
      watch(folder, { signal }, changed);
    }
  };
  const changed = () => {
    watchFolders();
    clearTimeout(timer);
    timer = setTimeout(() => {
      last = last.then(restart);
    }, QUIET_MS);
  };
  watchFolders();
}

/** A main module in the project's own folder has all packages below it: then only this folder. */
function foldersIn(folder: string): string[] {
  if (existsSync(join(folder, 'node_modules'))) return [folder];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const below = entries.filter((entry) => entry.isDirectory());
  return [folder, ...below.map(({ parentPath, name }) => join(parentPath, name))];
}
