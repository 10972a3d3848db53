import { describe, expect, it } from '@jest/globals';
import { Superseding } from '../../activities/superseding.ts';

/** A pass that ends when the test lets it. */
function aPass() {
  const ending: { end?: (result: string) => void } = {};
  const ended = new Promise<string>((resolve) => (ending.end = resolve));
  const seen: { superseded?: AbortSignal } = {};
  const pass = (superseded: AbortSignal) => {
    seen.superseded = superseded;
    return ended;
  };
  return { pass, end: (result: string) => ending.end?.(result), seen };
}

describe('a pass over a resource', () => {
  it('is told that a newer one waits, which begins once it has ended', async () => {
    const passes = new Superseding();
    const [older, newer] = [aPass(), aPass()];
    const first = passes.run('uid', older.pass);
    await Promise.resolve();
    expect(older.seen.superseded?.aborted).toBe(false);
    const second = passes.run('uid', newer.pass);
    expect(older.seen.superseded?.aborted).toBe(true);
    expect(newer.seen.superseded).toBeUndefined();
    older.end('the older');
    expect(await first).toBe('the older');
    newer.end('the newer');
    expect(await second).toBe('the newer');
    expect(newer.seen.superseded?.aborted).toBe(false);
  });

  it('does not hold up for ever the one that a change has called for', async () => {
    const passes = new Superseding();
    const [hanging, newer] = [aPass(), aPass()];
    void passes.run('uid', hanging.pass);
    newer.end('the newer');
    expect(await passes.run('uid', newer.pass)).toBe('the newer');
  });

  it('goes on beside those over other resources', async () => {
    const passes = new Superseding();
    const [one, other] = [aPass(), aPass()];
    void passes.run('one', one.pass);
    other.end('other');
    expect(await passes.run('other', other.pass)).toBe('other');
    expect(one.seen.superseded?.aborted).toBe(false);
  });

  it('may fail, and the next one begins all the same', async () => {
    const passes = new Superseding();
    await expect(passes.run('uid', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(await passes.run('uid', () => Promise.resolve('done'))).toBe('done');
  });
});
