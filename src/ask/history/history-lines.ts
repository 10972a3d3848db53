import { sentenceOf } from '../../contract/decision.ts';
import { whyRechecked } from '../../contract/sentences.ts';
import { unreachable } from '../../contract/unreachable.ts';
import { durationText } from '../output.ts';
import {
  ENCRYPTED_WORDS,
  type Entry,
  type NextWords,
  type RunEnd,
  type RunTimeline,
  type StepEntry,
  type StepFailure,
  type WaitEntry,
} from '../runs/timeline.ts';

/** An Event of the resource, as `kubectl events` shows it. */
export interface ObjectEvent {
  /** The UID of the Event itself. */
  readonly id: string;
  /** When it was first recorded. */
  readonly atMs: number;
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  /** How often. */
  readonly count: number;
}

/** One object of the name: between a create and a delete. */
export interface Incarnation {
  readonly uid: string;
  /** Undefined where nobody knows any more. */
  readonly createdAtMs: number | undefined;
  /** Whether it is the one that is there now. */
  readonly isLive: boolean;
  readonly runs: readonly RunTimeline[];
  readonly events: readonly ObjectEvent[];
}

/** A line of the history. Lines of the same object are in the order of time. */
export interface Line {
  readonly atMs: number;
  readonly kind: 'object' | 'run' | 'end' | 'step' | 'signal' | 'wait' | 'state' | 'event';
  /** Identifies it among all lines, for whoever follows; a line whose text changes keeps it. */
  readonly id: string;
  /** In the second column: a step's name, `Event`, `signal`. */
  readonly label: string;
  readonly words: string;
  /** How long it took, how many attempts. */
  readonly notes: readonly string[];
  readonly tone: 'good' | 'bad' | 'plain';
  /** Nothing about it will change any more. */
  readonly isFinal: boolean;
}

/** All of a name, the oldest first; a line begins each object. */
export function linesOf(incarnations: readonly Incarnation[]): readonly Line[] {
  return incarnations
    .toSorted((a, b) => beginOf(a) - beginOf(b))
    .flatMap((one) => [headOf(one), ...linesIn(one)]);
}

function beginOf({ createdAtMs, runs, events }: Incarnation): number {
  const times = [createdAtMs, runs[0]?.startedAtMs, events[0]?.atMs].filter((time) => time !== undefined);
  return Math.min(...times, Number.MAX_SAFE_INTEGER);
}

function headOf(incarnation: Incarnation): Line {
  const { uid, createdAtMs, isLive } = incarnation;
  const created = createdAtMs === undefined ? '' : `, created ${timeText(createdAtMs)}`;
  const words = `UID ${uid}${created}${isLive ? '' : ', deleted'}`;
  return { ...PLAIN, atMs: beginOf(incarnation), kind: 'object', id: uid, label: '', words };
}

const PLAIN = { notes: [], tone: 'plain', isFinal: true } as const;

function linesIn({ runs, events }: Incarnation): readonly Line[] {
  return [...runs.flatMap(linesOfRun), ...events.map(lineOfEvent)].toSorted((a, b) => a.atMs - b.atMs);
}

function lineOfEvent({ id, atMs, type, reason, note, count }: ObjectEvent): Line {
  const notes = count > 1 ? [`${count} times`] : [];
  const tone = type === 'Warning' ? 'bad' : 'plain';
  return { ...PLAIN, atMs, kind: 'event', id, label: `Event ${reason}`, words: note, notes, tone };
}

function linesOfRun({ runId, startedAtMs, reason, entries, end }: RunTimeline): readonly Line[] {
  const id = (what: string | number) => `${runId} ${what}`;
  const head: Line = {
    ...PLAIN,
    atMs: startedAtMs,
    kind: 'run',
    id: id('start'),
    label: 'reconcile',
    words: reason,
    notes: [`run ${runId}`],
  };
  const lines = entries.map((entry, index) => lineOfEntry(entry, id(index)));
  return [head, ...lines, ...(end ? [lineOfEnd(end, { id: id('end'), startedAtMs })] : [])];
}

function lineOfEntry(entry: Entry, id: string): Line {
  const { atMs } = entry;
  switch (entry.kind) {
    case 'step':
      return lineOfStep(entry, id);
    case 'signal': {
      const { signal, reason, by } = entry;
      const notes = by === '' ? [] : [`by ${by}`];
      return { ...PLAIN, atMs, kind: 'signal', id, label: signal, words: reason, notes };
    }
    case 'wait':
      return lineOfWait(entry, id);
    case 'state': {
      const { state, untilMs } = entry;
      const isFinal = untilMs !== undefined;
      const words = isFinal ? 'until a change came' : 'waiting for a change of the resource';
      const notes = isFinal ? [tookText(untilMs - atMs)] : [];
      return { atMs, kind: 'state', id, label: state, words, notes, tone: 'bad', isFinal };
    }
    default:
      return unreachable(entry);
  }
}

function lineOfStep(entry: StepEntry, id: string): Line {
  const { atMs, step, end, isLocal, failure } = entry;
  const line = { atMs, kind: 'step', id, label: step, isFinal: end.how !== 'in progress' } as const;
  const notes = 'tookMs' in end ? [tookText(end.tookMs)] : [];
  const failed = failure === undefined ? [] : [`after ${failureText(failure)}`];
  switch (end.how) {
    case 'done': {
      const { refusal } = end;
      const words = refusal === undefined ? doneText(entry) : `${doneText(entry)}; refused: ${refusal}`;
      const tone = refusal === undefined ? 'good' : 'bad';
      return { ...line, words, notes: [...notes, ...attemptsText(entry), ...failed], tone };
    }
    case 'failed': {
      const words = failure === undefined ? 'failed' : `failed: ${failureText(failure)}`;
      const next = isLocal && failure?.type !== 'RetryAfter' ? ['tried again with backoff'] : [];
      return { ...line, words, notes: [...notes, ...attemptsText(entry), ...next], tone: 'bad' };
    }
    case 'dropped':
      return {
        ...line,
        words: 'ended by a change',
        notes: [...notes, ...attemptsText(entry), ...failed],
        tone: 'plain',
      };
    case 'in progress': {
      const words = failure === undefined ? 'in progress' : `retrying: ${failureText(failure)}`;
      const next = end.nextTryAtMs === undefined ? [] : [`next try at ${timeText(end.nextTryAtMs)}`];
      const tone = failure === undefined ? 'plain' : 'bad';
      return { ...line, words, notes: [...attemptsText(entry), ...next], tone };
    }
    default:
      return unreachable(end);
  }
}

function doneText({ end, summary }: StepEntry): string {
  if (end.how !== 'done') return '';
  const { did, next } = end;
  if (did === 'encrypted') return ENCRYPTED_WORDS;
  const deeds = sentenceOf(did);
  if (deeds !== '') return deeds;
  return next === undefined ? (summary ?? '') : nextText(next);
}

function nextText({ do: next, because }: NextWords): string {
  return [NOTHING[next] ?? `next: ${next}`, because].filter((words) => words !== '').join(': ');
}

/** What a step has found that wrote nothing. */
const NOTHING: Readonly<Record<string, string>> = {
  converged: 'up to date',
  wait: 'nothing to do now',
  stalled: 'stalled',
  held: 'held',
};

function lineOfWait({ atMs, summary, atMostMs, end }: WaitEntry, id: string): Line {
  const words = whyRechecked(summary);
  const line = { atMs, kind: 'wait', id, label: 'wait', words, tone: 'plain' } as const;
  switch (end.how) {
    case 'in progress':
      return { ...line, notes: [`at most ${tookText(atMostMs)}`], isFinal: false };
    case 'something changed':
      return { ...line, notes: [tookText(end.tookMs), 'ended by a change'], isFinal: true };
    case 'time passed':
      return { ...line, notes: [tookText(end.tookMs)], isFinal: true };
    default:
      return unreachable(end);
  }
}

function lineOfEnd(
  { atMs, how, words }: RunEnd,
  { id, startedAtMs }: { readonly id: string; readonly startedAtMs: number },
): Line {
  const tone = how === 'completed' || how === 'continued as new' ? 'good' : 'bad';
  const notes = [tookText(atMs - startedAtMs)];
  return { atMs, kind: 'end', id, label: how, words, notes, tone, isFinal: true };
}

function attemptsText({ attempts }: StepEntry): string[] {
  return attempts > 1 ? [`attempt ${attempts}`] : [];
}

function failureText({ type, message }: StepFailure): string {
  return type === undefined || message.includes(type) ? message : `${type}: ${message}`;
}

/** In UTC, which every log has: `2026-11-22T02:24:29Z`. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** `8ms`, `1.2s`, `4m12s`. */
export function tookText(ms: number): string {
  if (ms < 1_000) return `${ms}ms`;
  return ms < 59_950 ? `${(ms / 1_000).toFixed(1).replace(/\.0$/, '')}s` : durationText(ms);
}
