import { stripVTControlCharacters } from 'node:util';
import type { Advice } from '../../api/cause.ts';
import type { ExitStatus } from '../ask.ts';
import { harmless, type Paint } from '../output.ts';
import { colourOf, type ResourceState } from '../state.ts';

export interface Explanation {
  readonly resource: string;
  /** Undefined: the resource does not exist, or its state is unknown. */
  readonly state?: ResourceState;
  /** Of the cause, where something is wrong: `QuotaExceeded`. */
  readonly reason?: string | undefined;
  /** It follows the resource: `is retrying: 7 of 10 Pods, for 4m12s`. */
  readonly headline: string;
  readonly facts: readonly Fact[];
  readonly advice: readonly Advice[];
  readonly link?: string | undefined;
  readonly exit: ExitStatus;
}

export interface Fact {
  /** `because`, `step` … */
  readonly label: string;
  readonly text: string;
}

/** Facts by their labels, without those that have no text. */
export function facts(texts: Readonly<Record<string, string | undefined>>): Fact[] {
  return Object.entries(texts).flatMap(([label, text]) => (text === undefined ? [] : [{ label, text }]));
}

const INDENT = '  ';
const LABEL_WIDTH = 10;
const COMMAND_GAP = ' '.repeat(6);
const COMMAND_MAX = 70;

/** For people; ends in a line feed. */
export function explanationText(explanation: Explanation, paint: Paint): string {
  const { resource, headline, facts, advice, link, state, reason: reason } = explanation;
  const head = `${paint('bold', resource)} ${paint(colourOf({ state, cause: reason }), headline)}`;
  const line = lineOf(paint);
  const lines = [
    ...facts.map(({ label, text }) => line(label, harmless(text))),
    ...adviceTexts(advice, paint).map((text, index) => line(index === 0 ? 'you can' : '', text)),
  ];
  const linkLines = link === undefined ? [] : ['', INDENT + paint('underline', link)];
  return [head, ...(lines.length === 0 ? [] : ['', ...lines]), ...linkLines, ''].join('\n');
}

/** A line of a label and a text. */
export function lineOf(paint: Paint): (label: string, text: string) => string {
  return (label, text) => `${INDENT}${paint('dim', label.padEnd(LABEL_WIDTH))}${text}`.trimEnd();
}

/** Sentences first, then commands in two columns. A very long command does not widen the column. */
export function adviceTexts(advice: readonly Advice[], paint: Paint): string[] {
  const commands = advice.filter((each) => typeof each !== 'string');
  const lengths = commands.map(({ run }) => run.length).filter((length) => length <= COMMAND_MAX);
  const width = Math.max(0, ...lengths);
  return [
    ...advice.filter((each) => typeof each === 'string'),
    ...commands.map(({ run, to }) => run.padEnd(width) + COMMAND_GAP + paint('dim', to)),
  ];
}

export function explanationData(explanation: Explanation): object {
  const { resource, state = null, reason: reason = null, headline, facts, advice, link } = explanation;
  return {
    resource,
    state,
    reason,
    headline,
    facts: facts.map(({ label, text }) => ({ label, text: stripVTControlCharacters(text) })),
    advice: advice.map((each) => (typeof each === 'string' ? { sentence: each } : each)),
    ...(link !== undefined && { link }),
  };
}
