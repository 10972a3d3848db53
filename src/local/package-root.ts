import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that holds package.json and tools/: above src/ as above dist/src/. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'tools', 'kwok', 'stages.yaml'))) {
    const above = dirname(folder);
    if (above === folder) {
      throw new Error(
        'the folder tools/, which pins the servers of the local stack, is not there; run from a full checkout',
      );
    }
    folder = above;
  }
  return folder;
}
