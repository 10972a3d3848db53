import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { readBugs } from './bug-hunt.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const bugs = await readBugs();

describe('the bugs that the campaign has to catch', () => {
  it('are twenty or more', () => {
    expect(bugs.length).toBeGreaterThanOrEqual(20);
  });

  it.each(bugs)('$name can be put into the project as it is now', async ({ patch, title, seeds }) => {
    await run('git', ['apply', '--check', patch], { cwd: ROOT });
    expect(title).toMatch(/^[A-Z].*\.$/);
    expect(seeds).not.toEqual([]);
  });
});
