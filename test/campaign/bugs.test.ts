import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from '@jest/globals';

const ROOT = join(import.meta.dirname, '../..');
const BUGS = join(import.meta.dirname, 'bugs');

describe('a deliberate mistake for the campaign', () => {
  it.each(readdirSync(BUGS))('can be put into the project as it is now: %s', (file) => {
    execFileSync('git', ['apply', '--check', join(BUGS, file)], { cwd: ROOT });
  });
});
