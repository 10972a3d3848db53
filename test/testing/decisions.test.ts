import { describe, expect, it } from '@jest/globals';
import { decisions } from '../../testing/index.ts';
import { bucketIn, type Store } from '../support/bucket.ts';

const { of, status } = decisions(bucketIn({} as Store));

describe('decisions', () => {
  it('answers with a step and its data', () => {
    expect(of({ spec: { versioned: true } }, { versioned: false })).toEqual({
      do: 'setVersioning',
      because: 'the spec asks for it',
      data: { to: true },
    });
  });

  it('adds the defaults of the schema, as the API server does', () => {
    expect(of({}, { versioned: false })).toEqual({
      do: 'converged',
      because: 'the bucket is as specified',
    });
  });

  it('knows a resource that is being deleted', () => {
    expect(of({ isBeingDeleted: true }, undefined)).toEqual({
      do: 'removeFinalizer',
      because: 'no bucket is left',
    });
  });

  it('refuses a spec that the controller is never asked about', () => {
    expect(() => of({ spec: { versioned: 'yes' } }, undefined)).toThrow('spec.versioned');
  });

  it('answers with the status', () => {
    expect(status({ metadata: { uid: 'uid-1' } }, { versioned: false })).toEqual({ url: 'store://uid-1' });
  });
});
