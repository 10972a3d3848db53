import { expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { BUILT_IN_FILE, builtInTypes } from '../../deploy/built-in-types.ts';
import { setUpStage } from '../support/stage.ts';

const { cluster } = setUpStage();

it('the constants of built-in types are those that the API server serves', async () => {
  expect(await builtInTypes(cluster.client)).toBe(await readFile(BUILT_IN_FILE, 'utf8'));
});
