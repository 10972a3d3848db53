import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { CONFIG_MAPS, defineController, defineKind, StepError } from '../../src/api/index.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import type { FailedAnswer } from '../../src/kubernetes/errors.ts';
import { objectKey } from '../../testing/explorer/cluster.ts';
import { AuthorWorld } from '../support/author-world.ts';

/** What a step has written before it fails is in the history. */

const Task = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Task', description: 'A task.' },
  spec: z.object({ text: z.string() }),
});

function failedWith(status: number, reason: string, headers = {}): FailedAnswer {
  const body = JSON.stringify({ kind: 'Status', code: status, reason, message: reason });
  return { status, body, ...headers };
}

describe('a batch of which something is written, and then a write', () => {
  const task = defineController({
    name: 'task',
    for: Task,
    owns: [CONFIG_MAPS],
    children: ({ resource }) =>
      ['a', 'b', 'c'].map((name) => ({
        ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
        data: { text: resource.spec.text },
      })),
  });

  /** The text is another, and of three writes the last fails. */
  const applied = async (failure: FailedAnswer) => {
    let isBroken = false;
    const world = new AuthorWorld(task, {
      types: [CONFIG_MAPS],
      spec: { text: 'one' },
      refuse: ({ method, path }) =>
        isBroken && method === 'PATCH' && path.endsWith('/c') ? failure : undefined,
    });
    await world.run();
    world.cluster.change(objectKey(Task, 'front'), (object) => ({
      ...object,
      metadata: { ...object.metadata, generation: 2 },
      spec: { text: 'two' },
    }));
    isBroken = true;
    const end = world.step('applyConfigMap');
    return { world, end };
  };
  const DONE = [{ did: 'applied', what: 'ConfigMap', count: 2, names: ['a', 'b'] }];
  const EVENT = { type: 'Normal', reason: 'Applied', note: expect.stringContaining('and 1 more') };

  it('is in conflict tells what was written, with its Event, and goes on with the rest', async () => {
    const { world, end } = await applied(failedWith(409, 'Conflict'));
    expect(await end).toMatchObject({
      did: DONE,
      events: [EVENT],
      next: { do: 'applyConfigMap', because: expect.stringContaining('c is not as it is declared') },
    });
    expect(await end).not.toHaveProperty('refusal');
    expect(world.requests.filter((request) => request === 'PATCH configmaps/a')).toHaveLength(2);
  });

  it('is refused tells what was written, with its Event', async () => {
    const { end } = await applied(failedWith(403, 'exceeded quota'));
    expect(await end).toMatchObject({ did: DONE, events: [EVENT], refusal: { step: 'applyConfigMap' } });
  });

  it('is told to wait waits, and tells what was written', async () => {
    const { end } = await applied(failedWith(429, 'TooManyRequests', { retryAfter: '7' }));
    await expect(end).rejects.toMatchObject({
      classification: 'retry-after',
      retryAfterMs: 7_000,
      did: DONE,
      events: [EVENT],
    });
  });
});

describe('a step that has said what it did, and then makes a mistake', () => {
  const aWorld = (thrown: Error) =>
    new AuthorWorld(
      defineController({
        name: 'task',
        for: Task,
        steps: {
          act: {
            summary: 'act',
            run: ({ progress }) => {
              progress('made the first half');
              return Promise.reject(thrown);
            },
          },
        },
        decide: (_, next) => next.do.act('it has to'),
      }),
      { types: [], spec: { text: 'one' } },
    );
  const DONE = [{ did: 'made', what: 'the first half' }];

  it('fails with what it did, for the next attempt to tell', async () => {
    await expect(aWorld(new TypeError('x is undefined')).step('act')).rejects.toMatchObject({
      did: DONE,
      cause: {
        name: 'ControllerError',
        message: 'run of step act of controller task has failed: x is undefined',
      },
    });
  });

  it('tells it as soon as the status says what has failed', async () => {
    const world = aWorld(new TypeError('x is undefined'));
    expect(await world.step('act', { attempt: 3 })).toMatchObject({
      did: DONE,
      next: { do: 'updateStatus' },
    });
    await world.run({ attempt: 3 });
    expect(fieldsOf(world.condition('Ready'))['reason']).toBe('StepFailed');
  });

  it('tells it where trying again does not help', async () => {
    const end = await aWorld(new StepError('never', 'there is no such region')).step('act');
    expect(end).toMatchObject({ did: DONE, next: { do: 'updateStatus' } });
  });
});
