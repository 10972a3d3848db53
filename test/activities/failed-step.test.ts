import { describe, expect, it } from '@jest/globals';
import { isLeftToBackoff, refusalIn, type FailedStep } from '../../activities/step-run.ts';
import { converged, type Decision } from '../../src/contract/decision.ts';
import { ApiError, type ApiErrorClass } from '../../src/kubernetes/errors.ts';

const CREATE: Decision = { do: 'createPods', because: 'there is 1 Pod' };
const REPORT: Decision = { do: 'updateStatus', because: 'it is refused' };
const DELETE: Decision = { do: 'deletePods', because: 'there are 3 Pods' };
const REFUSED_BEFORE = { because: 'refused', message: 'no' } as const;

function isLeft(classification: ApiErrorClass, decision: Decision, rest: Partial<FailedStep> = {}): boolean {
  const error = new ApiError('no', { classification });
  return isLeftToBackoff({ step: 'createPods', error, did: [], decision, refusal: undefined, ...rest });
}

const REFUSALS = ['refused', 'access-denied', 'namespace-terminating'] as const;
const OTHERS = ['unavailable', 'retry-after', 'conflict', 'already-exists', 'not-found'] as const;

describe('a step that failed is left to its backoff', () => {
  it.each(REFUSALS)('where it is the next step, too: %s', (classification) => {
    expect(isLeft(classification, CREATE)).toBe(true);
    expect(isLeft(classification, REPORT)).toBe(false);
    expect(isLeft(classification, DELETE)).toBe(false);
    expect(isLeft(classification, converged('the resource is gone'))).toBe(false);
  });

  it.each(REFUSALS)(
    'where it was refused before, even if the status has to say something else: %s',
    (classification) => {
      expect(isLeft(classification, REPORT, { refusal: REFUSED_BEFORE })).toBe(true);
      expect(isLeft(classification, DELETE, { refusal: REFUSED_BEFORE })).toBe(false);
    },
  );

  it.each(OTHERS)('where it was not refused, whatever is next: %s', (classification) => {
    for (const decision of [CREATE, REPORT, DELETE]) expect(isLeft(classification, decision)).toBe(true);
  });

  it('unless it has done something', () => {
    const did = [{ did: 'created', what: 'Pod', count: 1 }];
    for (const classification of [...REFUSALS, ...OTHERS])
      expect(isLeft(classification, CREATE, { did, refusal: REFUSED_BEFORE })).toBe(false);
  });
});

describe('a failure, as the run gets it', () => {
  it.each([
    ['access-denied', 'access-denied'],
    ['namespace-terminating', 'namespace-terminating'],
    ['refused', 'refused'],
    ['overridden', 'overridden'],
    ['unavailable', 'refused'],
    ['conflict', 'refused'],
  ] as const)('%s: because %s', (classification, because) => {
    expect(refusalIn('createPods', new ApiError('no', { classification }))).toEqual({
      because,
      message: 'no',
      step: 'createPods',
    });
  });
});
