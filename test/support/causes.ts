import type { Cause } from '../../src/contract/cause.ts';

/** A cause of which only the sentence matters. */
export function aCause(because: string): Cause {
  return { code: 'Broken', because, advice: ['mend it'] };
}
