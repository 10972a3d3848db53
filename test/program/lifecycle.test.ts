import { expect, it } from '@jest/globals';
import { Lifecycle } from '../../src/program/lifecycle.ts';

it('names on /readyz what a start waits for, until it goes on', () => {
  const lifecycle = new Lifecycle();
  expect(lifecycle.health().ready).toEqual(['Temporal: not connected yet']);
  lifecycle.waits('Temporal cannot be reached (connection refused)');
  expect(lifecycle.health().ready).toEqual(['Temporal cannot be reached (connection refused)']);
  lifecycle.connected();
  lifecycle.waits('the API server cannot be asked');
  expect(lifecycle.health().ready).toEqual(['the API server cannot be asked']);
  lifecycle.started(undefined);
  lifecycle.waits('too late');
  expect(lifecycle.health().ready).toEqual([]);
});
