import { describe, expect, it } from '@jest/globals';
import { exploreSystem, type System } from '../../testing/explorer/explorer.ts';
import { operatorIn } from '../../testing/explorer/operator.ts';
import { POD_LABEL_WORLD } from '../support/explorer/pod-label.ts';

/** Counts up, and is fine at its end. */
function counterTo(end: number): System {
  return {
    start: () => Promise.resolve('0'),
    next: (state) => {
      const number = Number(state);
      const up = { what: 'one more', apply: () => Promise.resolve(String(number + 1)) };
      return Promise.resolve(number < end ? [up] : []);
    },
    shortcomings: () => [],
  };
}

describe('explore', () => {
  it('counts what it has seen', async () => {
    expect(await exploreSystem(counterTo(3), { statesMax: 4 })).toMatchObject({
      states: 4,
      transitions: 3,
      ends: 1,
    });
  });

  it('fails where there are more states than it may visit: what is left out is not said to be well', async () => {
    await expect(exploreSystem(counterTo(4), { statesMax: 4 })).rejects.toThrow('more than 4 states');
  });

  it('says what has disturbed', async () => {
    const { disturbances } = await exploreSystem(
      operatorIn(POD_LABEL_WORLD, { budget: { crash: 1, timer: 1 } }),
    );
    expect([...disturbances]).toEqual(['crash']);
  });

  it('knows all names that a budget may have', () => {
    expect(() => operatorIn(POD_LABEL_WORLD, { budget: { scale: 1 } })).toThrow(
      'nothing here is called scale',
    );
  });
});
