import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { defineController, defineKind } from '../../src/api/index.ts';
import { AuthorWorld } from '../support/author-world.ts';

/** Code of an author that goes on although its signal is aborted. */

const Task = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Task', description: 'A task.' },
  spec: z.object({ image: z.string() }),
});

/** A call that ends when the test says so. */
function aCall() {
  const calls: (() => void)[] = [];
  const call = () => new Promise<string>((resolve) => calls.push(() => resolve('done')));
  return { calls, call };
}

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'] });
});
afterEach(() => {
  jest.useRealTimers();
});

const GIVEN_UP_MS = 11_000;

async function afterItsTime<T>(work: Promise<T>): Promise<T> {
  await jest.advanceTimersByTimeAsync(GIVEN_UP_MS);
  return work;
}

describe('observe that ignores its signal', () => {
  it('costs its attempt only; nothing more is called until it ends, and the condition says so', async () => {
    const { calls, call } = aCall();
    const definition = defineController({
      ...{ name: 'seen', for: Task, observe: call },
      decide: ({ observed }, next) => next.converged(`it is ${observed}`),
    });
    const world = new AuthorWorld(definition, { types: [], spec: { image: 'one' } });
    const hangs = expect.stringContaining('observe of controller seen has failed: its time is over');

    const first = await afterItsTime(world.run());
    expect(first).toEqual(['updateStatus', 'observe', hangs]);
    expect(calls).toHaveLength(1);
    expect(world.condition('Ready')).toMatchObject({
      ...{ status: 'False', reason: 'CodeHangs' },
      message: expect.stringMatching(/restart .*, the Pod in which it goes on: nothing else ends it/),
    });

    expect(await world.run()).toEqual([hangs]);
    expect(calls).toHaveLength(1);

    calls[0]?.();
    const again = world.run();
    await jest.advanceTimersByTimeAsync(0);
    calls[1]?.();
    await jest.advanceTimersByTimeAsync(0);
    calls[2]?.();
    await again;
    expect(world.condition('Ready')).toMatchObject({ status: 'True', message: 'it is done' });
  });

  it('delays no other resource', async () => {
    const { call } = aCall();
    const world = new AuthorWorld(
      defineController({
        name: 'stuck',
        for: Task,
        observe: call,
        decide: (_, next) => next.converged('ok'),
      }),
      { types: [], spec: { image: 'one' } },
    );
    await afterItsTime(world.run());
    const other = defineController({ name: 'other', for: Task, decide: (_, next) => next.converged('ok') });
    const free = new AuthorWorld(other, { types: [], spec: { image: 'one' } });
    expect(await free.run()).toEqual(['updateStatus']);
  });
});

describe('run that ignores its signal', () => {
  it('is called no second time beside the first', async () => {
    const { calls, call } = aCall();
    const definition = defineController({
      ...{ name: 'done', for: Task },
      steps: { go: { summary: 'go', run: call } },
      decide: ({ resource }, next) =>
        resource.metadata.name === '' ? next.converged('ok') : next.do.go('it has to'),
    });
    const world = new AuthorWorld(definition, { types: [], spec: { image: 'one' } });
    await afterItsTime(world.run());
    await world.run();
    expect(calls).toHaveLength(1);
    expect(world.condition('Ready')).toMatchObject({ reason: 'CodeHangs' });
    expect(world.condition('Ready')?.['message']).toContain('run of step go of controller done');
  });
});

describe('a lookup that ignores its signal', () => {
  it('costs its attempt only, too', async () => {
    const { calls, call } = aCall();
    const definition = defineController({
      ...{ name: 'looks', for: Task, lookups: { copies: { read: call } } },
      steps: { go: { summary: 'go', run: () => Promise.resolve('went') } },
      decide: ({ lookups }, next) => next.do.go(`there are ${String(lookups.copies)} copies`),
    });
    const world = new AuthorWorld(definition, { types: [], spec: { image: 'one' } });
    await afterItsTime(world.run());
    await world.run();
    expect(calls).toHaveLength(1);
    expect(world.condition('Ready')).toMatchObject({ reason: 'CodeHangs' });
    expect(world.condition('Ready')?.['message']).toContain('lookup copies of controller looks');
  });
});
