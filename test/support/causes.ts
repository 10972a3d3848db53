import type { Cause } from '../../src/api/cause.ts';

/** A cause of which only the sentence matters. */
export function aCause(message: string): Cause {
  return { reason: 'Broken', message: message, advice: ['mend it'] };
}

/** The id of the plan that a condition or an Event names, as a person reads it. */
export function planIn(message: string): string | undefined {
  return /; plan (\d{1,9}-[0-9a-f]{8})$/.exec(message)?.[1];
}
