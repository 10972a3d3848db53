import { describe, expect, it } from '@jest/globals';
import type { ScheduledEvent } from './events.ts';
import { shrunk } from './shrink.ts';

const event = (afterMs: number): ScheduledEvent => ({ afterMs, what: { fault: 'watches break' } });
const events = Array.from({ length: 30 }, (_, index) => event(index));

describe('a schedule that fails', () => {
  it.each([{ needed: [4] }, { needed: [0, 29] }, { needed: [3, 11, 12, 25] }])(
    'is made so short that nothing more can be left out: $needed',
    async ({ needed }) => {
      const isThere = (left: readonly ScheduledEvent[]) =>
        needed.every((afterMs) => left.some((each) => each.afterMs === afterMs));
      const { events: shortest } = await shrunk({ seed: 1, events }, (schedule) =>
        Promise.resolve(isThere(schedule.events)),
      );
      expect(shortest).toEqual(needed.map(event));
    },
  );

  it('stays as it is where nothing shorter fails', async () => {
    const schedule = { seed: 1, events };
    expect(await shrunk(schedule, () => Promise.resolve(false))).toEqual(schedule);
  });
});
