import { describe, expect, it } from '@jest/globals';
import type { References } from '../../src/engine/controller.ts';
import { NAMESPACES } from '../../src/api/kinds.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { ReferenceIndex, type ReferencesOptions } from '../../src/watcher/references.ts';
import { Audience } from '../../src/watcher/audience.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';
import type { Joined } from '../../src/watcher/watches.ts';

type Labels = Readonly<Record<string, string>>;

/** Namespaces, and resources that select some of them, as the watcher of a controller knows them. */
class World {
  readonly index: ReferenceIndex;
  /** Keys of resources. */
  readonly told = new Set<string>();
  #audience: Audience<never> | undefined;
  #version = 0;

  constructor() {
    const watch = ((type, audience) => {
      const joined = new Audience({ ...audience, log: aRecordingLogger() });
      this.#audience = joined as unknown as Audience<never>;
      return { type, items: joined.items } as unknown as Joined;
    }) as ReferencesOptions['watch'];
    this.index = new ReferenceIndex({
      references: [{ type: NAMESPACES, isSelected: true, of: (view) => view as References }],
      namespace: undefined,
      watch,
      onChange: (key) => this.told.add(key),
    });
  }

  put(name: string, labels: Labels): void {
    this.#version += 1;
    const metadata = { name, uid: `uid-${name}`, resourceVersion: String(this.#version), labels };
    this.#audience?.changed({ metadata } satisfies KubernetesObject);
  }

  remove(name: string): void {
    this.#version += 1;
    const metadata = { name, uid: `uid-${name}`, resourceVersion: String(this.#version) };
    this.#audience?.vanished({ metadata });
  }

  selected(key: string): readonly string[] {
    return (this.index.stateFor(key)?.objects ?? []).map(({ name }) => name);
  }

  /** What a change makes each resource that it concerns ask, and for how many milliseconds of CPU. */
  costOf(change: () => void): number {
    const before = process.cpuUsage();
    this.told.clear();
    change();
    for (const key of this.told) this.index.stateFor(key);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  }
}

describe('10,000 Namespaces and 1,000 resources that select some of them', () => {
  it.each<readonly [string, (index: number) => Labels]>([
    ['ten, all the same', () => ({ tenant: 'shop' })],
    ['ten, each in its own words', (index) => ({ tenant: 'shop', [`rule-${index % 100}`]: 'yes' })],
    ['all', () => ({})],
  ])('cost less than 100 ms of CPU where a label is changed: %s', (_, selector) => {
    const world = new World();
    const rules = Object.fromEntries(Array.from({ length: 100 }, (_each, rule) => [`rule-${rule}`, 'yes']));
    const labelsOf = (index: number) => (index < 10 ? { tenant: 'shop', ...rules } : { tenant: 'other' });
    for (let index = 0; index < 1_000; index += 1)
      world.index.seen(`shop/${index}`, { keys: [], labels: selector(index) });
    for (let index = 0; index < 10_000; index += 1) world.put(`team-${index}`, labelsOf(index));
    const costs = [1, 2, 3].map((round) =>
      world.costOf(() => world.put('team-7', { ...labelsOf(7), round: String(round) })),
    );
    expect(world.told.size).toBe(1_000);
    expect(world.selected('shop/0')).toHaveLength('tenant' in selector(0) ? 10 : 10_000);
    expect(Math.min(...costs)).toBeLessThan(100);
  });
});

describe('a resource', () => {
  const select = (labels: Labels): References => ({ keys: [], labels });

  it('refers to what has all of its labels, whichever comes first', () => {
    const world = new World();
    world.put('one', { tier: 'web', team: 'a' });
    world.index.seen('shop/a', select({ tier: 'web', team: 'a' }));
    world.index.seen('shop/b', { ...select({ team: 'b' }), keys: ['three'] });
    world.put('two', { team: 'b', tier: 'web' });
    expect([...world.told]).toEqual(['shop/b']);
    expect([world.selected('shop/a'), world.selected('shop/b')]).toEqual([['one'], ['three', 'two']]);
    world.remove('two');
    expect(world.selected('shop/b')).toEqual(['three']);
  });

  it('shares what it knows with those who refer to the same, until that changes or it refers to something else', () => {
    const world = new World();
    const a = { keys: ['one'] };
    for (const key of ['shop/1', 'shop/2', 'shop/3']) world.index.seen(key, a);
    const before = world.index.stateFor('shop/1');
    expect(world.index.stateFor('shop/2')).toBe(before);
    world.put('one', {});
    expect(world.told).toEqual(new Set(['shop/1', 'shop/2', 'shop/3']));
    expect(world.index.stateFor('shop/3')).not.toEqual(before);
    world.index.seen('shop/3', { keys: ['two'] });
    world.index.forget('shop/2');
    world.told.clear();
    world.put('one', { team: 'a' });
    expect(world.told).toEqual(new Set(['shop/1']));
    expect(world.selected('shop/3')).toEqual(['two']);
  });
});
