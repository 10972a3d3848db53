/** An attempt of a step that has begun, and of which nobody knows whether it took effect. */
export interface UnknownAttempt {
  readonly step: string;
  /** As `run` was given it. Absent: it is of an earlier run, of which no more is known. */
  readonly idempotencyKey?: string;
  /** Of the data that its decision handed over. Absent: likewise. */
  readonly digest?: string;
  /** When it began, or when its loss was noticed; in milliseconds since the epoch. */
  readonly begunMs: number;
  /** It may take effect until then; likewise. */
  readonly untilMs: number;
  /** Nobody has seen its end, so it may still be in progress: its step is not tried again before `untilMs`. */
  readonly isEndUnseen?: true;
  /** A later attempt with the same key has a known result. */
  readonly isSettled?: true;
}

/** An attempt that began then, and may take effect for so long. */
export function unknownSince(
  attempt: Pick<UnknownAttempt, 'step' | 'idempotencyKey' | 'digest'>,
  begunMs: number,
  maxMs: number,
): UnknownAttempt {
  return { ...attempt, begunMs, untilMs: begunMs + maxMs };
}

/** One entry for each key: what counts is the attempt that may take effect for longest. */
export function mergedUnknown(
  known: readonly UnknownAttempt[],
  more: readonly UnknownAttempt[],
): readonly UnknownAttempt[] {
  const byKey = new Map<string, UnknownAttempt>();
  for (const attempt of [...known, ...more]) {
    const key = `${attempt.step} ${attempt.idempotencyKey ?? ''}`;
    const before = byKey.get(key);
    if (before === undefined || before.untilMs <= attempt.untilMs) byKey.set(key, attempt);
  }
  return [...byKey.values()];
}

/**
 * Those that may still take effect, or whose key has no known result yet: where a system cannot be asked what became of them, the same step
 * with the same key finds out.
 */
export function stillUnknown(
  attempts: readonly UnknownAttempt[] = [],
  nowMs: number,
): readonly UnknownAttempt[] {
  return attempts.filter(
    ({ untilMs, idempotencyKey, isSettled }) =>
      untilMs > nowMs || (idempotencyKey !== undefined && isSettled !== true),
  );
}

/** The key has a known result. */
export function settled(attempts: readonly UnknownAttempt[], key: string): readonly UnknownAttempt[] {
  return attempts.map((each) => (each.idempotencyKey === key ? { ...each, isSettled: true } : each));
}

/** Until when the last of them may take effect; 0: there is none. */
export function unknownUntil(attempts: readonly UnknownAttempt[] = []): number {
  return Math.max(0, ...attempts.map(({ untilMs }) => untilMs));
}
