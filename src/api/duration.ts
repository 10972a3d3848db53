import { z } from 'zod';

/** Go's units from milliseconds on, which are Kubernetes' own, and days. Source: Go, `time.ParseDuration`. */
const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

// The package parse-duration ignores what it does not know: to it, `1h foo` is an hour, and `5` five milliseconds.
const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/;
const PART = /(\d+(?:\.\d+)?)(ms|[smhd])/g;

/**
 * `3m`, `90s`, `1h30m`, `500ms`, in milliseconds; undefined where the text is anything else: every number has a unit, and
 * there is no sign, space or other word.
 *
 * @example
 * const isLate = nowMs - startedMs > (parseDuration(resource.spec.deadline) ?? Infinity);
 */
export function millisecondsIn(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined;
  return [...text.matchAll(PART)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (UNIT_MS[unit ?? ''] ?? 0),
    0,
  );
}

/** The same text for people: `90000` is `90s`, `3600000` is `1h`. */
export function durationOf(ms: number): string {
  const [unit, unitMs] = Object.entries(UNIT_MS).findLast(([, each]) => ms % each === 0) ?? ['ms', 1];
  return `${ms / unitMs}${unit}`;
}

/**
 * A duration within bounds, written as `3m`, `90s`, `1h30m` or `500ms`; in milliseconds.
 *
 * @example
 * options: z.object({ settle: durationMs({ from: '1s', to: '1h' }).prefault('30s') })
 */
export function durationMs(range: { readonly from: string; readonly to: string }) {
  const [from, to] = [millisecondsIn(range.from) ?? 0, millisecondsIn(range.to) ?? Infinity];
  const schema = z.codec(z.unknown(), z.number(), {
    decode: (raw, { issues }) => {
      const milliseconds = typeof raw === 'string' ? millisecondsIn(raw.trim()) : undefined;
      if (milliseconds !== undefined && milliseconds >= from && milliseconds <= to) return milliseconds;
      const message =
        milliseconds === undefined
          ? 'is not a duration; write a number and a unit, such as 3m, 90s, 1h or 500ms'
          : `is out of range; write a duration from ${range.from} to ${range.to}`;
      issues.push({ code: 'custom', message, input: raw });
      return z.NEVER;
    },
    encode: (milliseconds) => `${milliseconds}ms`,
  });
  return schema.meta({ argument: 'duration' });
}
