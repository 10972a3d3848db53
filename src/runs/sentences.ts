/*
 * Sentences that one part of the program writes into histories, and another recognises there. Each is written and recognised
 * here alone. What is recognised stays: histories are older than the program.
 */

const WAITING_FOR = 'waiting for ';

/** @param what has to happen: `Job shop/build-hello to end` */
export function waitingFor(what: string): string {
  return WAITING_FOR + what;
}

const RECHECK = 'recheck: ';

/** What the Temporal UI calls the timer of a run that looks again after a while. @param reason why it waits */
export function recheckTimer(reason: string): string {
  return RECHECK + reason;
}

/** Of the timer between two attempts whose results are known; any change ends it. */
export function backoffTimer(step: string): string {
  return `backoff: the next attempt of ${step}`;
}

/** Of a timer that no signal shortens. */
export const RETRY_AFTER_TIMER = 'Retry-After, as the server asked';

/** Of the timer that lets an attempt end before it is dropped; it is no wait of the run. */
export const GRACE_TIMER = 'the resource changed: grace period for the attempt in progress';

/** Of the timer after which such an attempt is dropped, likewise. */
export const LAST_WORDS_TIMER = 'the resource changed: the attempt in progress is asked to end';

export function isGraceTimer(summary: string): boolean {
  return summary.startsWith('the resource changed: ');
}
