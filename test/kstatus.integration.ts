import { beforeAll, describe, expect, it } from '@jest/globals';
import { kstatusOf } from './support/kstatus.ts';
import { STATES } from './support/states.ts';

const BUILD_TIMEOUT_MS = 600_000;

describe('to kstatus', () => {
  const found = new Map<string, string>();

  beforeAll(async () => {
    const verdicts = await kstatusOf(STATES.map(({ object }) => object));
    verdicts.forEach(({ status }, index) => found.set(STATES[index]?.name ?? '', status));
  }, BUILD_TIMEOUT_MS);

  it.each(STATES)('$name is $kstatus', ({ name, kstatus }) => {
    expect(found.get(name)).toBe(kstatus);
  });

  it('a resource that no status was written for would be current, were it not for the default', async () => {
    const fresh = STATES.filter(({ name }) => name.endsWith('before the first reconcile'));
    const bare = fresh.map(({ object }) => ({ ...object, status: {} }));
    const verdicts = await kstatusOf([...fresh.map(({ object }) => object), ...bare]);
    expect(verdicts.map(({ status }) => status)).toEqual(['InProgress', 'InProgress', 'Current', 'Current']);
  });
});
