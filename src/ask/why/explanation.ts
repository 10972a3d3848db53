import { stripVTControlCharacters } from 'node:util';
import type { Advice } from '../../contract/words.ts';
import type { ExitStatus } from '../ask.ts';
import { harmless, type Paint } from '../output.ts';
import { colourOf, type State } from '../state.ts';

/** Why a resource is as it is. */
export interface Explanation {
  /** `PodSet shop/web` */
  readonly resource: string;
  /** Undefined: it is not there, or nobody can tell. */
  readonly state: State | undefined;
  /** What follows the resource in the headline: `is retrying: 7 of 10 Pods, for 4m12s`. */
  readonly headline: string;
  readonly facts: readonly Fact[];
  readonly advice: readonly Advice[];
  /** The run in the Temporal UI. */
  readonly link?: string | undefined;
  readonly exit: ExitStatus;
}

/** A line: `because`, and the server's words. */
export interface Fact {
  readonly label: string;
  readonly text: string;
}

const INDENT = '  ';
const LABEL_WIDTH = 10;
const COMMAND_GAP = ' '.repeat(6);
const COMMAND_MAX = 70;

/** As it is printed for people; ends in a line feed. */
export function explanationText(explanation: Explanation, paint: Paint): string {
  const { resource, headline, facts, advice, link, state } = explanation;
  const head = `${paint('bold', resource)} ${paint(colourOf(state), headline)}`;
  const lines = [...facts.map((fact) => factText(fact, paint)), ...adviceLines(advice, paint)];
  return [
    head,
    ...(lines.length === 0 ? [] : ['', ...lines]),
    ...(link === undefined ? [] : ['', INDENT + paint('underline', link)]),
    '',
  ].join('\n');
}

function factText({ label, text }: Fact, paint: Paint): string {
  return `${INDENT}${paint('dim', label.padEnd(LABEL_WIDTH))}${harmless(text)}`;
}

/** Sentences first, then commands, in columns; a very long command does not move the others' column. */
function adviceLines(advice: readonly Advice[], paint: Paint): string[] {
  const sentences = advice.filter((each) => typeof each === 'string');
  const commands = advice.filter((each) => typeof each !== 'string');
  const lengths = commands.map(({ run }) => run.length).filter((length) => length <= COMMAND_MAX);
  const width = Math.max(0, ...lengths);
  const lines = [
    ...sentences,
    ...commands.map(({ run, to }) => run.padEnd(width) + COMMAND_GAP + paint('dim', to)),
  ];
  return lines.map((line, index) => {
    const label = (index === 0 ? 'you can' : '').padEnd(LABEL_WIDTH);
    return `${INDENT}${paint('dim', label)}${line}`.trimEnd();
  });
}

/** The same, for programs. */
export function explanationData(explanation: Explanation): object {
  const { resource, state, headline, facts, advice, link } = explanation;
  return {
    resource,
    state: state ?? null,
    headline,
    facts: facts.map(({ label, text }) => ({ label, text: stripVTControlCharacters(text) })),
    advice: advice.map((each) => (typeof each === 'string' ? { sentence: each } : each)),
    ...(link !== undefined && { link }),
  };
}
