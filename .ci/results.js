import { readFileSync } from 'node:fs';
import process from 'node:process';

/** What the file of TEST_TALLY has: of each test file, how it ended last. */
export function results() {
  const lines = readFileSync(process.env.TEST_TALLY, 'utf8').split('\n').filter(Boolean);
  return [...new Map(lines.map((line) => JSON.parse(line)).map((each) => [each.path, each])).values()];
}
