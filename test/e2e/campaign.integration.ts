import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { trialOptions } from '../campaign/campaign.ts';
import { draw } from '../campaign/draw.ts';
import { printed } from '../campaign/events.ts';
import { sharedGround } from '../campaign/ground.ts';
import { tryOut } from '../campaign/trial.ts';
import { PROGRAM } from '../support/built.ts';
import { testStack } from '../support/stack.ts';

jest.setTimeout(480_000);

/** Short schedules that together have 13 kinds of faults. The scheduled workflow runs longer ones. */
const SEEDS = [34, 53];
const STORIES = 4;
const OPTIONS = { controllers: 'all', program: PROGRAM };

const ground = sharedGround(testStack());

afterAll(() => ground.close());

describe('a campaign of changes and faults drawn from a seed', () => {
  it.concurrent.each(SEEDS)('ends in the state of an undisturbed run: seed %i', async (seed) => {
    const schedule = draw(seed, { controllers: OPTIONS.controllers, servers: false, stories: STORIES });
    const { violations, logs } = await tryOut(ground, schedule, trialOptions(OPTIONS, false));
    const end = violations.length === 0 ? '' : `\n${printed(schedule)}\n${logs.slice(-30).join('\n')}`;
    expect(`${violations.join('\n')}${end}`).toBe('');
  });
});
