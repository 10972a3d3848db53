import { expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { standIn } from '../support/deployed-temporal.ts';

it('what stands in for the server of a stack is removed with all that was made for it', async () => {
  const { program, remove } = await standIn('/bin/true');
  expect(existsSync(program)).toBe(true);
  await remove();
  expect(existsSync(dirname(program))).toBe(false);
});
