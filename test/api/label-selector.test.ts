import { describe, expect, it } from '@jest/globals';
import { labelSelectorText, matchesLabels, parseLabelSelector } from '../../src/api/label-selector.ts';

const selects = (selector: string, labels: Record<string, string>) =>
  matchesLabels(parseLabelSelector(selector), labels);

describe('a label selector selects as Kubernetes does', () => {
  it.each<[selector: string, labels: Record<string, string>, selected: boolean]>([
    ['', {}, true],
    ['  ', { any: 'thing' }, true],
    ['team=a', { team: 'a' }, true],
    ['team=a', {}, false],
    ['team==a', { team: 'a' }, true],
    ['team=', { team: '' }, true],
    ['team=', {}, false],
    ['team!=a', { team: 'b' }, true],
    ['team!=a', { team: 'a' }, false],
    ['team!=a', {}, true],
    ['team in (a, b)', { team: 'b' }, true],
    ['team in (a, b)', { team: 'c' }, false],
    ['team in (a,)', { team: '' }, true],
    ['team notin (a, b)', { team: 'c' }, true],
    ['team notin (a, b)', { team: 'a' }, false],
    ['team', { team: '' }, true],
    ['team', { other: 'a' }, false],
    ['!team', {}, true],
    ['!team', { team: '' }, false],
    ['team=a,env in (dev,test),!legacy', { team: 'a', env: 'dev' }, true],
    ['team=a,env in (dev,test),!legacy', { team: 'a', env: 'prod' }, false],
    ['team=a,env in (dev,test),!legacy', { team: 'a', env: 'dev', legacy: '' }, false],
    ['kubernetes.io/metadata.name notin (team-1)', { 'kubernetes.io/metadata.name': 'team-2' }, true],
    // Only where an operator may stand are these two words operators.
    ['in in (in, notin)', { in: 'notin' }, true],
    ['notin=in', { notin: 'in' }, true],
    // A name that every object inherits is not a label that it has.
    ['constructor', {}, false],
    ['!toString', {}, true],
  ])('%j of %j: %s', (selector, labels, selected) => {
    expect(selects(selector, labels)).toBe(selected);
  });
});

describe('a label selector that is wrong is refused, with the position and what was expected', () => {
  it.each([
    [',', 'position 1: expected a label key, found ","'],
    ['team=a,', 'position 8: expected a label key, found the end'],
    ['team=a env=b', 'position 8: expected "," or the end, found "env"'],
    ['team=a=b', 'position 7: expected "," or the end, found "="'],
    ['team a', 'position 6: expected =, ==, !=, in, notin or ",", found "a"'],
    ['!', 'position 2: expected a label key, found the end'],
    ['!team=a', 'position 6: expected "," or the end, found "="'],
    ['team in a', 'position 9: expected "(", found "a"'],
    ['team in ()', 'position 10: expected a label value, found ")"'],
    ['team in (a', 'position 11: expected "," or ")", found the end'],
    ['team in (a b)', 'position 12: expected "," or ")", found "b"'],
    [
      'team>1',
      'label selector, position 1: "team>1" is not a label key; write a name such as team or example.com/team',
    ],
    ['-team=a', 'position 1: "-team" is not a label key'],
    ['a/b/c', 'position 1: "a/b/c" is not a label key'],
    ['/team', 'position 1: "/team" is not a label key'],
    ['Example.com/team', 'position 1: "Example.com/team" is not a label key'],
    ['example.com/', 'position 1: "example.com/" is not a label key'],
    [`${'k'.repeat(64)}=a`, `is not a label key`],
    [
      'team=-a',
      'label selector, position 6: "-a" is not a label value; use at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends',
    ],
    ['team=(', 'position 6: expected a label value, found "("'],
    ['team in (=)', 'position 10: expected a label value, found "="'],
    ['example..com/team', 'position 1: "example..com/team" is not a label key'],
    ['team=a-', 'position 6: "a-" is not a label value'],
    ['team=ä', 'position 6: "ä" is not a label value'],
    [`team=${'v'.repeat(64)}`, 'is not a label value'],
  ])('%j', (selector, message) => {
    expect(() => parseLabelSelector(selector)).toThrow(message);
  });

  it('takes keys and values of 63 characters, and a prefix of 253', () => {
    const name = 'n'.repeat(63);
    const prefix = `${'p'.repeat(249)}.com`;
    expect(parseLabelSelector(`${prefix}/${name}=${name}`)).toEqual([
      { key: `${prefix}/${name}`, operator: 'in', values: [name] },
    ]);
    expect(() => parseLabelSelector(`p${prefix}/${name}`)).toThrow('is not a label key');
  });
});

describe('a label selector as text', () => {
  it.each([
    ['', ''],
    ['team', 'team'],
    ['! team', '!team'],
    ['team==a', 'team=a'],
    ['team=', 'team='],
    ['team != a', 'team!=a'],
    ['team in (a)', 'team=a'],
    ['team in (b,a)', 'team in (b,a)'],
    ['team notin (a, b)', 'team notin (a,b)'],
    ['team=a, !legacy ,env', 'team=a,!legacy,env'],
    ['t.e_a-m=v.a_l-1', 't.e_a-m=v.a_l-1'],
    ['a.b-c.d/team=a', 'a.b-c.d/team=a'],
    ['0.1/2=3', '0.1/2=3'],
  ])('of %j is %j, which selects the same', (text, again) => {
    const selector = parseLabelSelector(text);
    expect(labelSelectorText(selector)).toBe(again);
    expect(parseLabelSelector(again)).toEqual(selector);
  });
});
