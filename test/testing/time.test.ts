import { describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { defineController, defineKind } from 'durable-operator';
import { explore } from '../../testing/index.ts';

jest.setTimeout(300_000);

const BOUNDS = { seconds: 300 };

const Rollout = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Rollout',
  description: 'Goes from stage to stage.',
  spec: z.object({}),
  status: z.object({ stage: z.int().optional(), since: z.string().optional() }),
});

/** Each stage but the last takes so long. */
function rollout(stageMs: number, last = 2) {
  return defineController({
    name: 'rollout',
    for: Rollout,
    decide({ resource: { status }, nowMs }, next) {
      const { stage, since } = status;
      const now = new Date(nowMs).toISOString();
      if (stage === undefined || since === undefined)
        return next.record({ stage: 0, since: now }, next.wait('stage 0', { recheckAfter: '1s' }));
      const leftMs = Date.parse(since) + stageMs - nowMs;
      if (stage === last) return next.converged('it is over');
      if (leftMs > 0) return next.wait(`stage ${stage}`, { recheckAfter: `${leftMs}ms` });
      return next.record({ stage: stage + 1, since: now }, next.converged('the stage is over'));
    },
    status: ({ resource: { status } }) => status,
  });
}

describe('time goes on', () => {
  it('until nothing is due, however many waits that takes', async () => {
    const { unexplored } = await explore(
      rollout(10_000),
      {
        resource: { spec: {} },
        finally: ({ resource }) => [
          resource && resource.status?.['stage'] !== 2 && `it ends in stage ${resource.status?.['stage']}`,
        ],
      },
      BOUNDS,
    );
    expect(unexplored).toEqual([]);
  });

  it('while an answer is late: no wait is over before its end', async () => {
    const { unexplored } = await explore(
      rollout(120_000, 1),
      {
        resource: { spec: {} },
        finally: ({ resource }) => [
          resource && resource.status?.['stage'] !== 1 && `it ends in stage ${resource.status?.['stage']}`,
        ],
      },
      BOUNDS,
    );
    expect(unexplored).toEqual([]);
  });

  it('without states of its own where nothing comes of it', async () => {
    const waiting: (readsClock: boolean) => Its = (readsClock) => ({
      ...rollout(0),
      decide: (facts, next) =>
        next.wait('the name to be known', { recheckAfter: readsClock && facts.nowMs < 0 ? '1ms' : '30s' }),
    });
    expect(await statesOf(waiting(true))).toBe(await statesOf(waiting(false)));
  });

  it('until a state comes back that was there before', async () => {
    const rotating: Its = {
      ...rollout(0),
      decide({ resource: { status }, nowMs }, next) {
        const leftMs = status.since === undefined ? 0 : Date.parse(status.since) + 3_600_000 - nowMs;
        if (leftMs > 0) return next.wait('the next hour', { recheckAfter: `${leftMs}ms` });
        const stage = 1 - (status.stage ?? 0);
        const since = new Date(nowMs).toISOString();
        return next.record({ stage, since }, next.wait('the next hour', { recheckAfter: '1h' }));
      },
    };
    expect(await statesOf(rotating)).toBeLessThan(2 * (await statesOf(rollout(10_000))));
  });
});

type Its = ReturnType<typeof rollout>;

async function statesOf(controller: Its): Promise<number> {
  const { states, unexplored } = await explore(controller, { resource: { spec: {} } }, BOUNDS);
  expect(unexplored).toEqual([]);
  return states;
}
