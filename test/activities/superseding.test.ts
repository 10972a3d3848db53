import { describe, expect, it } from '@jest/globals';
import { Superseding } from '../../activities/run-memory.ts';

/** A step that ends when the test lets it. */
function aStep() {
  const ending: { end?: (result: string) => void } = {};
  const ended = new Promise<string>((resolve) => (ending.end = resolve));
  const seen: { superseded?: AbortSignal } = {};
  const step = (superseded: AbortSignal) => {
    seen.superseded = superseded;
    return ended;
  };
  return { step, end: (result: string) => ending.end?.(result), seen };
}

describe('a step of a resource', () => {
  it('is signalled that a newer one waits, which begins once it has ended', async () => {
    const steps = new Superseding();
    const [older, newer] = [aStep(), aStep()];
    const first = steps.run('uid', older.step);
    await Promise.resolve();
    expect(older.seen.superseded?.aborted).toBe(false);
    const second = steps.run('uid', newer.step);
    expect(older.seen.superseded?.aborted).toBe(true);
    expect(newer.seen.superseded).toBeUndefined();
    older.end('the older');
    expect(await first).toBe('the older');
    newer.end('the newer');
    expect(await second).toBe('the newer');
    expect(newer.seen.superseded?.aborted).toBe(false);
  });

  it('does not hold up for ever the one that a change has called for', async () => {
    const steps = new Superseding();
    const [hanging, newer] = [aStep(), aStep()];
    void steps.run('uid', hanging.step);
    newer.end('the newer');
    expect(await steps.run('uid', newer.step)).toBe('the newer');
  });

  it('goes on beside those over other resources', async () => {
    const steps = new Superseding();
    const [one, other] = [aStep(), aStep()];
    void steps.run('one', one.step);
    other.end('other');
    expect(await steps.run('other', other.step)).toBe('other');
    expect(one.seen.superseded?.aborted).toBe(false);
  });

  it('is signalled where its run asks it to end, and that of no other run', async () => {
    const steps = new Superseding();
    const [one, other] = [aStep(), aStep()];
    void steps.run('one', one.step);
    void steps.run('other', other.step);
    await Promise.resolve();
    steps.end('one');
    steps.end('none');
    expect(one.seen.superseded?.aborted).toBe(true);
    expect(other.seen.superseded?.aborted).toBe(false);
  });

  it('is not signalled once it has ended', async () => {
    const steps = new Superseding();
    const [ended, newer] = [aStep(), aStep()];
    ended.end('it');
    await steps.run('uid', ended.step);
    newer.end('the newer');
    await steps.run('uid', newer.step);
    expect(ended.seen.superseded?.aborted).toBe(false);
  });

  it('is signalled by the one after it, although one before it has ended meanwhile', async () => {
    const steps = new Superseding();
    const [first, second, third] = [aStep(), aStep(), aStep()];
    const one = steps.run('uid', first.step);
    const other = steps.run('uid', second.step);
    first.end('the first');
    await one;
    // Until the second has begun.
    await new Promise(setImmediate);
    void steps.run('uid', third.step);
    expect(second.seen.superseded?.aborted).toBe(true);
    second.end('the second');
    expect(await other).toBe('the second');
  });

  it('may fail, and the next one begins all the same', async () => {
    const steps = new Superseding();
    await expect(steps.run('uid', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(await steps.run('uid', () => Promise.resolve('done'))).toBe('done');
  });
});
