import { describe, expect, it } from '@jest/globals';
import type { EventObject } from '../../activities/events/event-object.ts';
import { RecentEvents } from '../../activities/events/recent-events.ts';

const named = (name: string): EventObject => ({ metadata: { name, namespace: 'shop' }, reason: 'Test' });

describe('the memory of what was recorded', () => {
  it('is bounded: beyond 4,096 Events it forgets the one that was not met for longest', () => {
    const recent = new RecentEvents();
    recent.met(named('old'), 0);
    recent.met(named('met-again'), 0);
    for (let i = 0; i < 4_094; i += 1) recent.met(named(`event-${i}`), 0);
    expect(recent.met(named('met-again'), 0)).toBeUndefined();
    recent.met(named('one-more'), 0);
    recent.met(named('and-one-more'), 0);
    expect(recent.met(named('met-again'), 0)).toBeUndefined();
    expect(recent.met(named('old'), 0)).toBe(1);
  });
});
