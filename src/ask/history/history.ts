import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError, type Command } from 'commander';
import { answerWith, AskProblem, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { addCommand } from '../commands.ts';
import { withConnectionOptions, withOutput, type ConnectionOptions } from '../connection/options.ts';
import { Hiccups } from '../hiccups.ts';
import { harmless, paintFor, structured, type Paint } from '../output.ts';
import { parseNamedResource } from '../resource-name.ts';
import { ENCRYPTED_WORDS } from '../runs/timeline.ts';
import { linesOf, timeText, type Line } from './history-lines.ts';
import { HistoryReader, RUNS_MAX, type ReadHistory } from './history-reader.ts';

interface HistoryOptions extends ConnectionOptions {
  readonly follow?: boolean;
  readonly tail?: number;
  readonly output?: 'json' | 'yaml';
}

export function addHistory(program: Command, ask: Ask): void {
  const command = addCommand(program, 'history')
    .argument('<resource...>', 'KIND/NAME or KIND NAME')
    .option('-f, --follow', 'go on with what happens next, until Ctrl-C')
    .option('--tail <count>', `only the last so many reconciles (default: ${RUNS_MAX})`, countFrom);
  answerWith(withOutput(withConnectionOptions(command), ['json', 'yaml']), ask, answerHistory);
}

function countFrom(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('Write a number from 1.');
  return Number(text);
}

/** 1 where nothing is known of the resource. */
async function answerHistory(
  ask: Ask,
  { session, words, options }: Question<HistoryOptions>,
): Promise<ExitStatus> {
  const reader = new HistoryReader(session, parseNamedResource(words), options.tail);
  if (options.follow === true) {
    if (options.output !== undefined)
      throw new AskProblem('-o and --follow exclude each other; leave one out');
    await follow(ask, reader);
    return 0;
  }
  const { incarnations, notes } = await reader.read();
  const lines = linesOf(incarnations);
  if (options.output !== undefined) {
    ask.stdout.write(await structured({ resource: reader.title, objects: incarnations }, options.output));
  } else {
    const style = { title: reader.title, paint: paintFor(ask) };
    for (const line of lines) ask.stdout.write(textOfLine(line, style));
  }
  for (const note of [...notes, ...noteOnKeys(lines), ...noteOnNothing(lines, reader)])
    ask.stderr.write(`${note}\n`);
  return lines.length === 0 ? 1 : 0;
}

function noteOnNothing(lines: readonly Line[], { title }: HistoryReader): string[] {
  if (lines.length === 0) return [`there is no ${title}, and Temporal keeps no reconcile of one`];
  return lines.every(({ kind }) => kind === 'object') ? [`Temporal keeps no reconcile of ${title}`] : [];
}

function noteOnKeys(lines: readonly Line[]): string[] {
  if (!lines.some(({ words, notes }) => [words, ...notes].some((text) => text.includes(ENCRYPTED_WORDS))))
    return [];
  return [`what is ${ENCRYPTED_WORDS} takes the operator's keys to read: --payload-keys FILE`];
}

const NO_NEWS: ReadHistory = { incarnations: [], notes: [] };
const FOLLOW_EVERY_MS = 1_000;

/** A line that has changed, such as by another attempt, is printed again. Ends with the signal. */
async function follow(ask: Ask, reader: HistoryReader): Promise<void> {
  const printed = new Map<string, string>();
  const noted = new Set<string>();
  const style = { title: reader.title, paint: paintFor(ask) };
  const hiccups = new Hiccups(ask);
  // Where nothing can be read at first, it says so and ends.
  let read: ReadHistory | undefined = await reader.read();
  while (!ask.signal.aborted) {
    const { incarnations, notes } = read ?? NO_NEWS;
    const lines = linesOf(incarnations);
    for (const note of [...notes, ...noteOnKeys(lines)]) {
      if (!noted.has(note)) ask.stderr.write(`${note}\n`);
      noted.add(note);
    }
    for (const line of lines) {
      const text = textOfLine(line, style);
      if (printed.get(line.id) !== text) ask.stdout.write(text);
      printed.set(line.id, text);
    }
    await delay(FOLLOW_EVERY_MS, undefined, { signal: ask.signal }).catch(() => undefined);
    read = await hiccups.outlive(() => reader.read());
  }
}

interface LineStyle {
  readonly title: string;
  readonly paint: Paint;
}

const LABEL_WIDTH = 22;

/** With a line feed. */
export function textOfLine(line: Line, { title, paint }: LineStyle): string {
  if (line.kind === 'object') return `${paint('bold', `── ${title}, ${line.words}`)}\n`;
  const isHead = line.kind === 'run' || line.kind === 'event';
  const label = (isHead ? line.label : `  ${line.label}`).padEnd(LABEL_WIDTH);
  const notes = line.notes.length === 0 ? '' : ` (${harmless(line.notes.join(', '))})`;
  const format = FORMATS[line.tone];
  const text = `${label} ${harmless(line.words)}`.trimEnd();
  const shown = line.kind === 'run' ? paint('bold', text) : format === undefined ? text : paint(format, text);
  return `${paint('dim', timeText(line.atMs))} ${shown}${paint('dim', notes)}\n`;
}

const FORMATS = { good: undefined, plain: undefined, bad: 'red' } as const;
