import { describe, expect, it } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { answersYes } from '../../src/ask/change/confirm.ts';

const { signal } = new AbortController();

/** A terminal on which somebody has typed this, and then Ctrl-D. */
function typed(text: string) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  input.end(text);
  return { input, output };
}

describe('a question on the terminal', () => {
  it.each(['y\n', 'yes\n', ' Y \n'])('is answered with yes by %j', async (text) => {
    expect(await answersYes('Go on?', { signal, ...typed(text) })).toBe(true);
  });

  it.each(['\n', 'n\n', 'yesterday\n', ''])('is answered with no by %j', async (text) => {
    expect(await answersYes('Go on?', { signal, ...typed(text) })).toBe(false);
  });

  it('is answered with no by an interrupt', async () => {
    const interrupted = new AbortController();
    const input = new PassThrough();
    const answer = answersYes('Go on?', { signal: interrupted.signal, input, output: new PassThrough() });
    interrupted.abort();
    expect(await answer).toBe(false);
  });
});
