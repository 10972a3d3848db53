/*
 * Why a resource is not as it should be, as data. A cause is made where it is known. The history of the run, the condition, the
 * Event and the commands all print the same one.
 */

/** What a person can do about it: a sentence, or a command with what it is for. */
export type Advice = string | CommandAdvice;

export interface CommandAdvice {
  /** It can be pasted: `kubectl describe quota -n shop`. */
  readonly run: string;
  /** What it does: `show the quota`. */
  readonly to: string;
}

export interface Cause {
  /**
   * For programs, in CamelCase: `JobNameTaken`, of letters, digits and `_`, at most 1024 characters. Causes with the same code are shown together.
   */
  readonly reason: string;
  /** For people: one sentence without a full stop. Nothing secret: it enters workflow history. */
  readonly message: string;
  /** The most useful first. Empty: waiting is all that can be done. */
  readonly advice: readonly Advice[];
}

/** With the sentences of its advice: what a condition and an Event say. */
export function inOneLine({ message, advice }: Cause): string {
  return [message, ...advice.filter((each) => typeof each === 'string')].join('; ');
}

/** The cause alone, of a value that has more. */
export function causeIn({ reason, message, advice }: Cause): Cause {
  return { reason, message, advice };
}
