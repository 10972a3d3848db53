import { expect, it } from '@jest/globals';
import { recheckTimer, waitingFor } from '../../src/runs/sentences.ts';

it('the name of a timer says why a run waits', () => {
  const name = recheckTimer(waitingFor('Pods to end'));
  expect(name).toBe('recheck: waiting for Pods to end');
});
