import { describe, expect, it } from '@jest/globals';
import { answer } from '../../src/ask/command-line.ts';

async function problemOf(words: readonly string[]): Promise<string> {
  const said: string[] = [];
  const status = await answer(words, {
    ...{ stdout: { write: () => undefined }, stderr: { write: (text: string) => said.push(text) } },
    ...{ env: {}, isTerminal: false, now: Date.now, signal: new AbortController().signal },
    open: () => Promise.reject(new Error('nothing is to be asked')),
  });
  expect(status).toBe(2);
  return said.join('');
}

describe('what is wrong with the words', () => {
  it.each([
    [[], 'name a command; see kubectl durable --help'],
    [['nonsense'], "unknown command 'nonsense'; see kubectl durable --help"],
    [['get', '--nope'], "unknown option '--nope'; see kubectl durable get --help"],
    [
      ['history', 'podset/web', '--tail', '0'],
      'is invalid. Write a number from 1; see kubectl durable history',
    ],
    [
      ['get', '-o', 'name'],
      'is invalid. Allowed choices are json, yaml, wide; see kubectl durable get --help',
    ],
  ])('is said in a line, with where to look it up: %j', async (words, says) => {
    const said = await problemOf(words);
    expect(said).toMatch(/^kubectl durable: .*\n$/);
    expect(said).toContain(says);
  });
});

describe('--task-queue', () => {
  it.each(['say "x"', 'a\\', "'a", 'tab\there', '/_sys/q', ''])('is refused, in a line: %j', async (name) => {
    const said = await problemOf(['why', 'podset/web', '--task-queue', name]);
    expect(said).toMatch(
      /^kubectl durable: option '--task-queue <name>' argument .* is invalid\. It is .*\n$/,
    );
  });
});
