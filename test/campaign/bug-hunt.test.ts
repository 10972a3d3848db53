import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { readBugs } from './bug-hunt.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const bugs = await readBugs();

describe('a deliberate mistake for the campaign', () => {
  it.each(bugs)('can be put into the project as it is now: $name', async ({ patch, title, seeds }) => {
    await run('git', ['apply', '--check', patch], { cwd: ROOT });
    expect(title).toMatch(/^[A-Z].*\.$/);
    expect(seeds).not.toEqual([]);
  });
});
