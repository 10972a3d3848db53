import { describe, expect, it } from '@jest/globals';
import { argumentsOf, parseNamedResource, parseResource } from '../../src/ask/resource-name.ts';
import { durableOperator } from '../../src/controllers/index.ts';

const SHOP = { program: durableOperator, namespace: 'shop' };

const parsed = (...words: string[]) => {
  const { controllers, name } = parseResource(durableOperator, words);
  return [controllers[0]?.name, name];
};

describe('a resource on the command line', () => {
  it.each([
    ['podset/web', 'pod-set', 'web'],
    ['PodSet web', 'pod-set', 'web'],
    ['PODSETS/web', 'pod-set', 'web'],
    ['pset/web', 'pod-set', 'web'],
    ['podsets.batch.tutorial.kubebuilder.io/web', 'pod-set', 'web'],
    ['podsets.v1.batch.tutorial.kubebuilder.io/web', 'pod-set', 'web'],
    ['pod-set/web', 'pod-set', 'web'],
    ['xxxes', 'git-build', undefined],
  ])('%s is a resource of %s, as kubectl takes it', (words, controller, name) => {
    expect(parsed(...words.split(' '))).toEqual([controller, name]);
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
    expect(() => parseNamedResource(SHOP, ['podset'])).toThrow('write podset/NAME');
  });
});

describe('the place of a resource', () => {
  const named = (...words: string[]) => parseNamedResource(SHOP, words)[0];

  it('is its namespace; of a Namespace it is its own name', () => {
    expect(named('podset/web')?.place).toMatchObject({ namespace: 'shop', name: 'web' });
    expect(named('ns/team-1')?.place).toMatchObject({ namespace: 'team-1', name: 'team-1' });
  });

  it.each([
    ['podset/web', 'podset/web -n shop', 'PodSet shop/web'],
    ['ns/team-1', 'namespace/team-1', 'Namespace team-1'],
  ])('%s is written as %s after a command, and %s in a sentence', (word, after, title) => {
    const resource = named(word);
    expect(resource && argumentsOf(resource.object)).toBe(after);
    expect(resource?.title).toBe(title);
  });
});
