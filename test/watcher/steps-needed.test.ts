import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { converged, stalled, waitFor, type Decision } from '../../src/contract/decision.ts';
import type { ResourceRef } from '../../src/contract/resource.ts';
import type { Evaluation } from '../../src/watcher/evaluation.ts';
import { StepsNeeded } from '../../src/watcher/steps-needed.ts';

let needed: StepsNeeded;

beforeEach(() => {
  jest.useFakeTimers();
  needed = new StepsNeeded();
});
afterEach(() => void jest.useRealTimers());

const STEP: Decision = { do: 'addLabel', because: 'no label' };
const refTo = (name: string): ResourceRef => ({
  controller: 'pod-label',
  namespace: 'shop',
  name,
  uid: `uid-of-${name}`,
});
const viewOf = (name: string, decision: Decision): Evaluation => ({
  ref: refTo(name),
  decision,
  inputs: '',
  resourceVersion: '1',
  observation: {},
});
const sees = (name: string, decision: Decision = STEP) => needed.seen(viewOf(name, decision));
const oldest = () => needed.oldest.find(({ controller }) => controller === 'pod-label')?.seconds;
const pass = (seconds: number) => jest.advanceTimersByTime(seconds * 1_000);

it('counts from when the oldest resource first needed a step, whichever step it needs by now', () => {
  sees('first');
  pass(3);
  sees('second');
  sees('first', { do: 'removeLabel', because: 'not wanted' });
  pass(4);
  expect(oldest()).toBe(7);
});

it.each<[string, Decision]>([
  ['up to date', converged('no update required')],
  ['waiting', waitFor('Job build-web to end', 60_000)],
  ['stalled', stalled('the name is too long')],
])('does not count a resource that is %s, and counts it anew afterwards', (_, rest) => {
  sees('first');
  pass(3);
  sees('second');
  pass(4);
  sees('first', rest);
  expect(oldest()).toBe(4);
  sees('first');
  sees('second', rest);
  expect(oldest()).toBe(0);
});

it('does not count a resource that is gone', () => {
  sees('first');
  pass(3);
  needed.gone(refTo('first'));
  expect(oldest()).toBe(0);
});

it('counts each controller by itself', () => {
  sees('first');
  pass(3);
  const ref = { ...refTo('set'), controller: 'pod-set' };
  needed.seen({ ...viewOf('set', STEP), ref });
  pass(1);
  expect(needed.oldest).toEqual([
    { controller: 'pod-label', seconds: 4 },
    { controller: 'pod-set', seconds: 1 },
  ]);
});
