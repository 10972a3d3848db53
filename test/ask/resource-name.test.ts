import { describe, expect, it } from '@jest/globals';
import { argumentsOf, parseNamedResource, parseResource, placeOf } from '../../src/ask/resource-name.ts';
import { controllersOf } from '../../src/ask/session.ts';

const controllers = controllersOf(undefined);
const parsed = (...words: string[]) => {
  const { controller, name } = parseResource(words, controllers);
  return [controller.name, name];
};

describe('a resource on the command line', () => {
  it.each([
    [['podset/web'], ['pod-set', 'web']],
    [
      ['PodSet', 'web'],
      ['pod-set', 'web'],
    ],
    [['PODSETS/web'], ['pod-set', 'web']],
    [['pset/web'], ['pod-set', 'web']],
    [['podsets.batch.tutorial.kubebuilder.io/web'], ['pod-set', 'web']],
    [['podsets.v1.batch.tutorial.kubebuilder.io/web'], ['pod-set', 'web']],
    [['pod-set/web'], ['pod-set', 'web']],
    [['po/web'], ['pod-label', 'web']],
    [['ns/shop'], ['namespace-role-binding', 'shop']],
    [['xxxes'], ['git-build', undefined]],
  ])('%j is %j, as kubectl takes it', (words, expected) => {
    expect(parsed(...words)).toEqual(expected);
  });

  it.each([
    [['deployment/web'], 'no controller for "deployment"; the kinds are pod, namespace, podset, xxx'],
    [['podset/'], 'has no name; write KIND/NAME'],
    [['podset/web', 'other'], 'is more than one resource; write KIND/NAME'],
    [['podset', 'web', 'other'], 'is more than one resource; write KIND/NAME'],
    [['podset/web/status'], 'is more than one resource; write KIND/NAME'],
  ])('%j is refused, and it is said why', (words, why) => {
    expect(() => parsed(...words)).toThrow(why);
  });

  it('has a name where one is needed', () => {
    expect(() => parseNamedResource(['podset'], controllers)).toThrow('write podset/NAME');
  });
});

describe('the place of a resource', () => {
  const named = (...words: string[]) => parseNamedResource(words, controllers);

  it('is its namespace; of a Namespace it is its own name', () => {
    expect(placeOf(named('podset/web'), 'shop')).toEqual({
      controller: 'pod-set',
      namespace: 'shop',
      name: 'web',
    });
    expect(placeOf(named('ns/team-1'), 'shop')).toEqual({
      controller: 'namespace-role-binding',
      namespace: 'team-1',
      name: 'team-1',
    });
  });

  it.each([
    ['podset/web', 'podset/web -n shop'],
    ['ns/team-1', 'namespace/team-1'],
  ])('%s is written as %s after a command', (word, expected) => {
    const target = named(word);
    expect(argumentsOf(placeOf(target, 'shop'), target.controller)).toBe(expected);
  });
});
