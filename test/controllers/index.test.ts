import { expect, it } from '@jest/globals';
import { defaultControllers } from '../../deploy/generate.ts';
import { CONTROLLER_NAMES } from '../../src/controllers/index.ts';

it('lists every controller by its own name', () => {
  expect(defaultControllers().map(({ name }) => name)).toEqual(CONTROLLER_NAMES);
});
