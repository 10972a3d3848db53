import { describe, expect, it } from '@jest/globals';
import { ConfigurationError } from '../../src/config/configuration-error.ts';
import { keepPublished } from '../../src/program/publishing.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

type Step = 'there' | 'gone' | 'fails' | 'refused';

/** What is done, in its order, where the looks and the attempts to publish come to this; then the process ends. */
async function doneAfter(steps: readonly Step[]): Promise<readonly string[]> {
  const ending = new AbortController();
  const done: string[] = [];
  const left = [...steps];
  const comesTo = (what: string): Promise<Step> => {
    done.push(what);
    const step = left.shift() ?? 'there';
    if (left.length === 0) ending.abort();
    if (step === 'fails') return Promise.reject(new Error('Temporal is away'));
    if (step === 'refused') return Promise.reject(new ConfigurationError('of another cluster by now'));
    return Promise.resolve(step);
  };
  await keepPublished({
    publish: () => comesTo('publish').then(() => undefined),
    isPublished: () => comesTo('look').then((step) => step === 'there'),
    wait: (ms) => {
      done.push(`${ms / 1_000} s`);
      return Promise.resolve();
    },
    log: aRecordingLogger(),
    signal: ending.signal,
  });
  return done;
}

describe('what is published', () => {
  it('is looked at every two minutes, and left alone while it is there', async () => {
    const done = await doneAfter(['there', 'there', 'there']);
    expect(done).toEqual(['publish', '120 s', 'look', '120 s', 'look', '120 s']);
  });

  it('is published again where two looks in a row find nothing', async () => {
    const done = await doneAfter(['there', 'gone', 'there', 'gone', 'gone', 'there', 'there']);
    expect(done.filter((what) => !what.endsWith(' s'))).toEqual([
      ...['publish', 'look', 'look', 'look', 'look'],
      ...['publish', 'look'],
    ]);
  });

  it('is not taken for gone where a look fails, nor for there', async () => {
    const done = await doneAfter(['there', 'gone', 'fails', 'fails', 'gone', 'there']);
    expect(done).toEqual([
      ...['publish', '120 s', 'look', '120 s', 'look', '30 s', 'look', '30 s', 'look'],
      ...['publish', '120 s'],
    ]);
  });

  it('is published half a minute later where that fails', async () => {
    expect(await doneAfter(['fails', 'fails', 'there'])).toEqual([
      ...['publish', '30 s', 'publish', '30 s', 'publish', '120 s'],
    ]);
    expect(await doneAfter(['there', 'gone', 'gone', 'fails', 'there'])).toEqual([
      ...['publish', '120 s', 'look', '120 s', 'look', 'publish', '30 s', 'publish', '120 s'],
    ]);
  });

  it('ends the operator where the task queue belongs to another cluster by now', async () => {
    await expect(doneAfter(['there', 'gone', 'gone', 'refused'])).rejects.toThrow(ConfigurationError);
  });
});
