import { describe, expect, it } from '@jest/globals';
import { defineController, operator, SERVICES } from 'durable-operator';
import { definedController } from '../../src/engine/defined-controller.ts';
import { inputsDigest } from '../../src/engine/inputs.ts';
import { noteKeyOf, noteOf } from '../../src/engine/note.ts';

const FINALIZER = 'example.com/dns';
const dns = defineController({
  name: 'dns',
  for: SERVICES,
  view: ({ metadata }) => metadata.annotations?.['hostname'],
  finalizer: FINALIZER,
  observe: () => Promise.resolve(undefined),
  decide: (_, next) => next.converged('it is as asked'),
});
const controller = definedController(dns);
const KEY = noteKeyOf(dns);
const CONDITION = {
  type: 'Ready',
  status: 'True',
  observedGeneration: 0,
  lastTransitionTime: '2026-01-01T00:00:00Z',
  reason: 'AsSpecified',
  message: 'it is as asked',
} as const;

function seen({
  annotations = {},
  ...more
}: {
  annotations?: Record<string, string>;
  finalizers?: string[];
}) {
  const metadata = {
    name: 'web',
    namespace: 'shop',
    uid: 'uid-1',
    resourceVersion: '7',
    annotations,
    ...more,
  };
  return controller.primary.view({ metadata });
}

describe('a resource whose status is not ours', () => {
  it('is not kept in mind at all where it is of no interest', () => {
    expect(seen({})).toBeUndefined();
  });

  it('is watched where it has our finalizer or our state, whatever became of it', () => {
    expect(seen({ finalizers: [FINALIZER] })).toMatchObject({
      note: 'missing',
      resource: { view: undefined },
    });
    expect(seen({ annotations: { [KEY]: 'x' } })).toMatchObject({
      note: 'there',
      resource: { view: undefined },
    });
  });

  it('is as its annotation says', () => {
    const annotations = { hostname: 'a', [KEY]: noteOf('uid-1', [CONDITION]) };
    expect(seen({ annotations })).toMatchObject({ observedGeneration: 0, conditions: [CONDITION] });
  });

  it.each([
    ['of another object that had the name', noteOf('uid-0', [CONDITION])],
    ['of a later format', JSON.stringify({ version: 2, uid: 'uid-1', conditions: [CONDITION] })],
    ['no JSON', '{'],
  ])('is unknown where the annotation is %s', (_, note) => {
    const annotations = { hostname: 'a', [KEY]: note };
    expect(seen({ annotations })).toMatchObject({ observedGeneration: undefined, conditions: [] });
  });

  it('has another digest once its view changes, or our finalizer comes or goes, and not for our annotation', () => {
    const digest = (given: Parameters<typeof seen>[0]) => {
      const view = seen(given);
      return view && inputsDigest(dns, { view, owned: [] });
    };
    const before = digest({ annotations: { hostname: 'a' } });
    expect(digest({ annotations: { hostname: 'b' } })).not.toBe(before);
    expect(digest({ annotations: { hostname: 'a' }, finalizers: [FINALIZER] })).not.toBe(before);
    expect(digest({ annotations: { hostname: 'a', [KEY]: 'x' } })).toBe(before);
  });

  it('needs names that fit into that of an annotation', () => {
    const long = { ...dns, name: 'd'.repeat(50) };
    expect(() => operator({ name: 'dns-operator', controllers: [long] })).not.toThrow();
    expect(() => operator({ name: 'dns-operator-x', controllers: [long] })).toThrow('choose a shorter name');
  });
});
