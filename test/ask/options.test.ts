import { describe, expect, it } from '@jest/globals';
import type { SessionOptions } from '../../src/ask/session.ts';
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
      ['-n', 'shop', 'get', 'pods'],
      "unknown option '-n'; options go after the command: kubectl durable get ...",
    ],
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

/** Where a command asks, as its words say. */
async function openedBy(words: readonly string[]): Promise<SessionOptions | undefined> {
  let opened: SessionOptions | undefined;
  await asked(words, { onOpen: (options) => (opened = options) });
  return opened;
}

describe('an option of one letter', () => {
  it.each([
    [['why', 'podset/web', '-n=team'], { namespace: 'team' }],
    [['-n=x', 'why', 'podset/web'], undefined],
    [['why', 'podset/web', '-nteam'], { namespace: 'team' }],
    [['why', 'podset/web', '-n', '=team'], { namespace: '=team' }],
    [['why', 'podset/web', '-n=a=b', '-o=json'], { namespace: 'a=b', output: 'json' }],
    [['get', '-o=wide', '-A'], { output: 'wide', allNamespaces: true }],
    [['plan', '-f=pod-set.yaml'], { filename: 'pod-set.yaml' }],
  ])('takes its value as kubectl does: %j', async (words, options) => {
    const opened = await openedBy(words);
    if (options === undefined) expect(opened).toBeUndefined();
    else expect(opened).toEqual(options);
  });

  it('is a word after --', async () => {
    const { stderr } = await asked(['why', '--', '-n=team']);
    expect(stderr).toContain('the operator has no controller for "-n=team"');
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
