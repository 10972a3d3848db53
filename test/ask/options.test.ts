import { describe, expect, it } from '@jest/globals';
import { asked } from '../support/ask-session.ts';

async function problemOf(words: readonly string[]): Promise<string> {
  const { status, stderr } = await asked(words);
  expect(status).toBe(2);
  return stderr;
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
