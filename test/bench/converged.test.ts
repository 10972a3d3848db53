import { describe, expect, it } from '@jest/globals';
import { isBuilt } from '../../bench/build-cases.ts';
import { hasAvailable } from '../../bench/pod-set-cases.ts';

const metadata = { name: 'a', uid: 'u', resourceVersion: '1', generation: 2 };

describe('a PodSet counts as scaled', () => {
  const status = { readyReplicas: 1, podNames: ['a-pod-1'], observedGeneration: 2 };

  it('once its status has as many Pods as wanted', () => {
    expect(hasAvailable({ metadata, status }, 1)).toBe(true);
    expect(hasAvailable({ metadata, status }, 2)).toBe(false);
  });

  it('to nothing, once none is left', () => {
    expect(hasAvailable({ metadata, status }, 0)).toBe(false);
    expect(hasAvailable({ metadata, status: { ...status, readyReplicas: 0, podNames: [] } }, 0)).toBe(true);
  });

  it('only by a status that names them all', () => {
    expect(hasAvailable({ metadata, status: { ...status, podNames: [] } }, 1)).toBe(false);
  });

  it('only by a status that is about its present spec', () => {
    expect(hasAvailable({ metadata, status: { ...status, observedGeneration: 1 } }, 1)).toBe(false);
    expect(hasAvailable({ metadata }, 0)).toBe(false);
  });
});

describe('an Xxx counts as built', () => {
  it('once it has succeeded', () => {
    expect(isBuilt({ metadata, status: { phase: 'Succeeded', observedGeneration: 2 } })).toBe(true);
    expect(isBuilt({ metadata, status: { phase: 'Building', observedGeneration: 2 } })).toBe(false);
    expect(isBuilt({ metadata })).toBe(false);
  });

  it('only with its present spec', () => {
    expect(isBuilt({ metadata, status: { phase: 'Succeeded', observedGeneration: 1 } })).toBe(false);
  });
});
