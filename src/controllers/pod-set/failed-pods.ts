import type { PodView } from './pod.ts';

/** So many finished Pods stay, the newest ones, for people to look into. */
export const FINISHED_KEPT = 5;
/**
 * How long after its creation the newest finished Pod is replaced, where so many (from 1) were created
 * recently. It reaches its end with as many Pods as are kept.
 */
const REPLACED_AFTER_MS = [0, 10_000, 30_000, 90_000, 300_000] as const;
const LONGEST_MS = 300_000;
/** Long enough that all that are kept are recent where one fails at every longest pause. */
const RECENT_MS = 30 * 60_000;

/** How long from now until Pods may be created again, in milliseconds; 0: at once. */
export function pauseMs(finished: readonly PodView[], nowMs: number): number {
  const recent = newestFirst(finished).filter(({ createdAtMs }) => createdAtMs > nowMs - RECENT_MS);
  const [newest] = recent;
  if (newest === undefined) return 0;
  const replacedAfterMs = REPLACED_AFTER_MS[recent.length - 1] ?? LONGEST_MS;
  // Where the clocks differ, a Pod may come from the future.
  return Math.max(0, Math.min(newest.createdAtMs, nowMs) + replacedAfterMs - nowMs);
}

export function newestFirst(pods: readonly PodView[]): readonly PodView[] {
  return [...pods].sort((a, b) => b.createdAtMs - a.createdAtMs || (a.name < b.name ? -1 : 1));
}
