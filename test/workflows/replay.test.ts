import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { replay } from '../../testing/index.ts';
import { quieten } from '../support/workflow-world.ts';
import { recordings } from './cases.ts';

jest.setTimeout(60_000);

const HISTORIES = new URL('../histories/', import.meta.url);

/** `podLabel/0.3.0-local-step.json` */
const files = readdirSync(HISTORIES, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.json'))
  .sort();

beforeAll(quieten);

/** One that fails means that open runs would fail too: use `patched()`, or a new worker version. */
describe('a run that an earlier version has begun', () => {
  it.each(files)('goes on in the same way: %s', (file) =>
    replay(new URL(file, HISTORIES)).then(() => undefined),
  );

  it('that another workflow has written is refused, by its name', async () => {
    const file = new URL('../../package.json', import.meta.url);
    await expect(replay(file)).rejects.toThrow('package.json cannot be replayed');
  });
});

describe('the recorded histories', () => {
  it('are of every case, of each workflow where it differs', () => {
    const cases = new Set(files.map((file) => file.replace(/\/[\d.]+-/, '/')));
    const needed = recordings().map(({ workflow, name }) => `${workflow}/${name}.json`);
    expect(needed.filter((name) => !cases.has(name))).toEqual([]);
  });
});
