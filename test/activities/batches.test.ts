import { describe, expect, it } from '@jest/globals';
import { inBatches } from '../../activities/objects/batches.ts';

describe('batches', () => {
  const act = (sizes: number[]) => {
    let open = 0;
    return async () => {
      open += 1;
      sizes.push(open);
      await Promise.resolve();
      open -= 1;
    };
  };

  it('double until they are 16', async () => {
    const openAt: number[] = [];
    const items = Array.from({ length: 70 });
    const end = await inBatches(items, act(openAt), { firstSize: 1, isTimeUp: () => false });
    expect(end).toEqual({ done: items, failure: undefined });
    const ups = (size: number) => Array.from({ length: size }, (_, i) => i + 1);
    expect(openAt).toEqual([1, 2, 4, 8, 16, 16, 16, 7].flatMap(ups));
  });

  it('are begun at least once, whatever the time', async () => {
    const openAt: number[] = [];
    const items = Array.from({ length: 70 });
    const end = await inBatches(items, act(openAt), { firstSize: 4, isTimeUp: () => true });
    expect(openAt).toEqual([1, 2, 3, 4]);
    expect(end.failure).toBeUndefined();
  });

  it('end with the batch in which one fails, and tell what was done all the same', async () => {
    const error = new Error('the sixth is refused');
    const end = await inBatches(
      Array.from({ length: 70 }, (_, i) => i + 1),
      (item) => (item === 6 ? Promise.reject(error) : Promise.resolve(item)),
      { firstSize: 1, isTimeUp: () => false },
    );
    expect(end).toEqual({ done: [1, 2, 3, 4, 5, 7], failure: { error } });
  });
});
