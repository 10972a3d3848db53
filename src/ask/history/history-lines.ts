import { isRestNamed, sentenceOf } from '../../runs/decision.ts';
import { unreachable } from '../../api/unreachable.ts';
import { ENCRYPTED_WORDS } from '../../temporal/payloads.ts';
import type {
  TimelineEntry,
  TimelineNextStep,
  RunTimeline,
  StepEntry,
  FailureInHistory,
} from '../../temporal/timeline.ts';
import { durationText, timeText } from '../output.ts';

/** An Event of the resource, as `kubectl events` shows it. */
export interface ObjectEvent {
  readonly id: string;
  /** When it was first recorded. */
  readonly atMs: number;
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly count: number;
}

/** One object of the name, from its creation to its deletion. */
export interface Incarnation {
  readonly uid: string;
  readonly createdAtMs: number | undefined;
  readonly isLive: boolean;
  readonly runs: readonly RunTimeline[];
  readonly events: readonly ObjectEvent[];
}

export interface Line {
  readonly atMs: number;
  readonly kind: 'object' | 'run' | 'event' | 'entry';
  /** Identifies the line, also after its text has changed. */
  readonly id: string;
  /** A step's name, `Event`, `signal` … */
  readonly label: string;
  readonly words: string;
  /** Its duration, the number of attempts … */
  readonly notes: readonly string[];
  readonly isBad: boolean;
}

/** All lines of a name, the oldest object first. The lines of an object are in the order of time. */
export function historyLines(incarnations: readonly Incarnation[]): readonly Line[] {
  return incarnations.toSorted((a, b) => beginOf(a) - beginOf(b)).flatMap(linesOfObject);
}

function beginOf({ createdAtMs, runs, events }: Incarnation): number {
  const times = [createdAtMs, runs[0]?.startedAtMs, events[0]?.atMs].filter((time) => time !== undefined);
  return Math.min(...times, Number.MAX_SAFE_INTEGER);
}

function linesOfObject(incarnation: Incarnation): readonly Line[] {
  const { uid, createdAtMs, isLive, runs, events } = incarnation;
  const created = createdAtMs === undefined ? '' : `, created ${timeText(createdAtMs)}`;
  const words = `UID ${uid}${created}${isLive ? '' : ', deleted'}`;
  const head = { ...PLAIN, atMs: beginOf(incarnation), kind: 'object', id: uid, label: '', words } as const;
  const lines = [...runs.flatMap(linesOfRun), ...events.map(lineOfEvent)];
  return [head, ...lines.toSorted((a, b) => a.atMs - b.atMs)];
}

const PLAIN = { kind: 'entry', notes: [], isBad: false } as const;

function lineOfEvent({ id, atMs, type, reason, note, count }: ObjectEvent): Line {
  const notes = count > 1 ? [`${count} times`] : [];
  return { kind: 'event', id, atMs, label: `Event ${reason}`, words: note, notes, isBad: type === 'Warning' };
}

function linesOfRun({ runId, startedAtMs, reason, entries, end }: RunTimeline): readonly Line[] {
  const head: Line = {
    ...{ atMs: startedAtMs, kind: 'run', id: `${runId} start`, label: 'reconcile' },
    ...{ words: reason, notes: [`run ${runId}`], isBad: false },
  };
  const lines = entries.map((entry, index) => lineOfEntry(entry, `${runId} ${index}`));
  if (end === undefined) return [head, ...lines];
  const { atMs, how, words } = end;
  const isBad = how !== 'completed' && how !== 'continued as new';
  const notes = [tookText(atMs - startedAtMs)];
  return [head, ...lines, { atMs, kind: 'entry', id: `${runId} end`, label: how, words, notes, isBad }];
}

function lineOfEntry(entry: TimelineEntry, id: string): Line {
  const line = { ...PLAIN, id, atMs: entry.atMs };
  switch (entry.kind) {
    case 'step':
      return { ...line, label: entry.step, ...textOfStep(entry) };
    case 'signal': {
      const { signal, reason, by } = entry;
      return { ...line, label: signal, words: reason, notes: by === '' ? [] : [`by ${by}`] };
    }
    case 'wait': {
      const { end, timeoutMs, summary } = entry;
      const took = end.how === 'in progress' ? `at most ${tookText(timeoutMs)}` : tookText(end.tookMs);
      const notes = end.how === 'something changed' ? [took, 'ended by a change'] : [took];
      return { ...line, label: 'wait', words: summary, notes };
    }
    case 'state': {
      const { state, untilMs, atMs } = entry;
      const rest =
        untilMs === undefined
          ? { words: 'waiting for a change of the resource' }
          : { words: 'until a change came', notes: [tookText(untilMs - atMs)] };
      return { ...line, label: state, isBad: true, ...rest };
    }
    default:
      return unreachable(entry);
  }
}

function textOfStep(entry: StepEntry): Pick<Line, 'words' | 'notes' | 'isBad'> {
  const { end, isLocal, failure, attempts, mayLackWrites } = entry;
  const notes = [
    ...('tookMs' in end ? [tookText(end.tookMs)] : []),
    ...(attempts > 1 ? [`attempt ${attempts}`] : []),
    ...(mayLackWrites === true ? ['last writes may be missing'] : []),
  ];
  const after = failure === undefined ? [] : [`after ${failureText(failure)}`];
  const because = failure === undefined ? '' : `: ${failureText(failure)}`;
  switch (end.how) {
    case 'done': {
      const { refusal } = end;
      const refused = refusal === undefined ? '' : `; refused: ${refusal}`;
      return { words: doneText(entry) + refused, notes: [...notes, ...after], isBad: refused !== '' };
    }
    case 'failed': {
      const again = isLocal && failure?.type !== 'RetryAfter' ? ['tried again with backoff'] : [];
      const { did = [] } = failure ?? {};
      const words = did.length === 0 ? `failed${because}` : `${sentenceOf(did)}; then failed${because}`;
      return { words, notes: [...notes, ...again], isBad: true };
    }
    case 'dropped':
      return { words: 'ended by a change', notes: [...notes, ...after], isBad: false };
    case 'in progress': {
      const next = end.nextTryAtMs === undefined ? [] : [`next try at ${timeText(end.nextTryAtMs)}`];
      const words = failure === undefined ? 'in progress' : `retrying${because}`;
      return { words, notes: [...notes, ...next], isBad: failure !== undefined };
    }
    default:
      return unreachable(end);
  }
}

function doneText({ end, summary }: StepEntry): string {
  if (end.how !== 'done') return '';
  const { did, next } = end;
  if (did === 'encrypted') return ENCRYPTED_WORDS;
  return sentenceOf(did) || (next === undefined ? (summary ?? '') : nextText(next));
}

function nextText(next: TimelineNextStep): string {
  const what = isRestNamed(next) ? NOTHING[next.do] : undefined;
  return [what ?? `next: ${next.do}`, next.because].filter((words) => words !== '').join(': ');
}

const NOTHING: Readonly<Record<string, string>> = {
  converged: 'up to date',
  wait: 'nothing to do now',
  stalled: 'stalled',
  held: 'held',
};

function failureText({ type, message }: FailureInHistory): string {
  return type === undefined || message.includes(type) ? message : `${type}: ${message}`;
}

/** `8ms`, `1.2s`, `4m12s`. */
export function tookText(ms: number): string {
  if (ms < 1_000) return `${ms}ms`;
  return ms < 59_950 ? `${(ms / 1_000).toFixed(1).replace(/\.0$/, '')}s` : durationText(ms);
}
