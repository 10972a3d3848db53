import type { Advice } from '../../contract/words.ts';
import { durationText, serversWords } from '../output.ts';
import { titleOf } from '../resource-name.ts';
import type { PendingStep, SignalEntry } from '../runs/timeline.ts';
import type { State } from '../state.ts';
import type { Explanation, Fact } from './explanation.ts';
import { ago, commandOn, deletion, orHowToDecrypt, progressOf, wantedAndThere } from './facts.ts';
import { objectNameOf, type Known, type Open } from './findings.ts';

/*
 * What explanations of open runs have in common.
 */

export interface OpenRunParts {
  readonly state: State;
  readonly headline: string;
  readonly facts: readonly Fact[];
  readonly advice: readonly Advice[];
}

/** What all explanations of open runs have in common. */
export function openRun(open: Open, { state, headline, facts, advice }: OpenRunParts): Explanation {
  const { run, nowMs, link } = open;
  const progress = progressOf(open);
  const duration = `for ${ago(run.startedAtMs, nowMs)}`;
  return {
    resource: titleOf(objectNameOf(open)),
    state,
    headline: progress === undefined ? `${headline}, ${duration}` : `${headline}: ${progress}, ${duration}`,
    facts: [...deletion(open), ...wantedAndThere(open), ...facts, ...lastSignal(open)],
    advice: [...advice, commandOn(open, 'history', 'what happened before')],
    link,
    exit: 1,
  };
}

/** What ended the last wait of an open run. */
function lastSignal({ temporal, nowMs }: Known): Fact[] {
  const signal = temporal.timeline?.entries.findLast(
    (entry): entry is SignalEntry => entry.kind === 'signal',
  );
  if (signal === undefined) return [];
  return [{ label: 'signal', text: `${ago(signal.atMs, nowMs)} ago: ${orHowToDecrypt(signal.reason)}` }];
}

export function stepFact({ step, attempt, nextTryAtMs }: PendingStep, nowMs: number): Fact {
  return { label: 'step', text: `${step}, attempt ${attempt}, ${nextText(nextTryAtMs, nowMs)}` };
}

function nextText(nextTryAtMs: number | undefined, nowMs: number): string {
  if (nextTryAtMs === undefined) return 'in progress';
  return nextTryAtMs <= nowMs ? 'due, not begun' : `next in ${durationText(nextTryAtMs - nowMs)}`;
}

export function wordsOfFailure(pending: PendingStep | undefined): string {
  return serversWords(orHowToDecrypt(pending?.failure?.message ?? ''));
}
