import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whenFilesChange } from '../../local/restart.ts';
import { eventually } from '../../testing/eventually.ts';

let folder: string;
let restarts: number;
let watching: AbortController;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'restart-test-'));
  await writeFile(join(folder, 'main.ts'), 'one');
  restarts = 0;
  watching = new AbortController();
  const restart = () => {
    restarts += 1;
    return Promise.resolve();
  };
  whenFilesChange(join(folder, 'main.ts'), restart, watching.signal);
});

afterEach(async () => {
  watching.abort();
  await rm(folder, { recursive: true });
});

async function restartedBy(change: () => Promise<void>): Promise<void> {
  const before = restarts;
  await change();
  await eventually(() => restarts > before);
}

/** As many editors do. */
async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

describe('the operator is started again', () => {
  it('after each change of a file, also of one that was replaced before', async () => {
    const path = join(folder, 'main.ts');
    await restartedBy(() => replace(path, 'two'));
    await restartedBy(() => writeFile(path, 'three'));
    await restartedBy(() => replace(path, 'four'));
    expect(restarts).toBeGreaterThanOrEqual(3);
  });

  it('after a change of a file in a new folder', async () => {
    await restartedBy(() => mkdir(join(folder, 'shop')));
    await restartedBy(() => writeFile(join(folder, 'shop/shop.ts'), 'one'));
    await restartedBy(() => writeFile(join(folder, 'shop/shop.ts'), 'two'));
  });
});
