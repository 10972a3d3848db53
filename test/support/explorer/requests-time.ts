import { wakeAtMs, type RequestState } from '../../../src/watcher/request-state.ts';
import { VISIBILITY_LAG_MS, YOUNG_MS } from '../../../src/watcher/timing.ts';
import { caughtUp, type State } from './requests-state.ts';

/* Times are relative to now, which is zero. */

/** Longer than any backoff. */
export const LONGEST_MS = 180_000;
/** What is older counts as this old. */
const OLD_MS = -10_000;

/** When the next thing is due, or something is old enough to count as such; undefined: nothing will be. */
export function nextMs({ watchers, visibleUntilMs }: State): number | undefined {
  const times = watchers.flatMap(({ state, list, listAtMs }) => {
    const { phase, run } = state ?? {};
    const touchedAtMs = run !== undefined && run.is !== 'unknown' ? run.touchedAtMs : undefined;
    return [
      phase?.at === 'queued' ? phase.dueMs : undefined,
      wakeAtMs(state ?? undefined),
      ...(touchedAtMs == null ? [] : [touchedAtMs + VISIBILITY_LAG_MS, touchedAtMs + YOUNG_MS + 1]),
      list?.[1],
      listAtMs,
    ];
  });
  const due = [...times, visibleUntilMs].filter((time) => time != null && time > 0);
  return due.length === 0 ? undefined : Math.min(...(due as number[]));
}

export function passed(state: State, ms: number): void {
  const earlier = (time: number) => Math.max(time - ms, OLD_MS);
  for (const watcher of state.watchers) {
    const { list, listAtMs } = watcher;
    if (listAtMs !== null) watcher.listAtMs = earlier(listAtMs);
    if (list !== null) watcher.list = [list[0], earlier(list[1])];
    if (watcher.state !== null) watcher.state = shifted(watcher.state, earlier);
  }
  if (state.lastStart !== null) {
    const [atMs, of, inVain] = state.lastStart;
    state.lastStart = [Math.max(atMs - ms, -LONGEST_MS), of, inVain];
  }
  if (state.visibleUntilMs === null) return;
  state.visibleUntilMs -= ms;
  if (state.visibleUntilMs <= 0) caughtUp(state);
}

export function shifted(state: RequestState, earlier: (time: number) => number): RequestState {
  const { phase, run, notBeforeMs, settledAtMs } = state;
  const notBefore = (time: number) => Math.max(earlier(time), 0);
  return {
    ...state,
    notBeforeMs: notBefore(notBeforeMs),
    settledAtMs: notBefore(settledAtMs),
    run: run.is === 'unknown' ? run : { ...run, touchedAtMs: earlier(run.touchedAtMs) },
    ...(state.signalUnlessChangedAtMs !== undefined && {
      signalUnlessChangedAtMs: earlier(state.signalUnlessChangedAtMs),
    }),
    phase:
      phase.at === 'queued'
        ? { ...phase, dueMs: notBefore(phase.dueMs) }
        : phase.at === 'starting'
          ? { ...phase, untilMs: earlier(phase.untilMs) }
          : phase,
  };
}

/** In text, -Infinity is null. */
export function revived(state: RequestState | null): RequestState | undefined {
  if (state === null) return undefined;
  const { run } = state;
  const isNever = run.is !== 'unknown' && (run.touchedAtMs as number | null) === null;
  return isNever ? { ...state, run: { ...run, touchedAtMs: -Infinity } } : state;
}

/** States that differ in nothing that counts have the same text. */
export function textOf(state: State): string {
  const watchers = state.watchers.map((watcher) => ({
    ...watcher,
    state: watcher.state && {
      ...shifted(watcher.state, (time) => time),
      neededSinceMs: watcher.state.neededSinceMs === undefined ? undefined : 0,
    },
  }));
  return JSON.stringify({ ...state, watchers });
}
