import { InvalidArgumentError, type Command } from 'commander';
import { ENCRYPTED_WORDS } from '../../temporal/payloads.ts';
import { answerWith, AskProblem, repeatedly, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { addCommand, type SharedOptions } from '../options.ts';
import { harmless, paintFor, structured, type Paint } from '../output.ts';
import { parseNamedResource } from '../resource-name.ts';
import { linesOf, timeText, type Line } from './history-lines.ts';
import { HistoryReader, RUNS_MAX, type ReadHistory } from './history-reader.ts';

interface HistoryOptions extends SharedOptions {
  readonly follow?: boolean;
  readonly tail?: number;
  readonly output?: 'json' | 'yaml';
}

export function addHistory(program: Command, ask: Ask): void {
  const command = addCommand(program, ask, 'history', 'data')
    .argument('<resource...>', 'KIND/NAME or KIND NAME')
    .option('-f, --follow', 'then print what happens next, until Ctrl-C')
    .option('--tail <count>', `only the last COUNT reconciles (default: ${RUNS_MAX})`, countFrom);
  answerWith(command, ask, answerHistory);
}

function countFrom(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('Write a number from 1.');
  return Number(text);
}

/** The status is 1 if nothing is known of the resource. */
async function answerHistory(
  ask: Ask,
  { session, words, options: { follow: isFollowed, output, tail } }: Question<HistoryOptions>,
): Promise<ExitStatus> {
  const reader = new HistoryReader(session, parseNamedResource(session, words), tail);
  if (isFollowed === true) {
    if (output !== undefined) throw new AskProblem('-o and --follow exclude each other; leave one out');
    await follow(ask, reader);
    return 0;
  }
  const { incarnations, notes } = await reader.read();
  const lines = linesOf(incarnations);
  if (output !== undefined) {
    ask.stdout.write(await structured({ resource: reader.title, objects: incarnations }, output));
  } else {
    const style = { title: reader.title, paint: paintFor(ask) };
    for (const line of lines) ask.stdout.write(textOfLine(line, style));
  }
  for (const note of [...notes, ...noteOnKeys(lines), ...noteOnNothing(lines, reader)])
    ask.stderr.write(`${note}\n`);
  return lines.length === 0 ? 1 : 0;
}

function noteOnNothing(lines: readonly Line[], { title }: HistoryReader): string[] {
  if (lines.length === 0) return [`there is no ${title}, and Temporal has no reconcile of it`];
  return lines.every(({ kind }) => kind === 'object') ? [`Temporal has no reconcile of ${title}`] : [];
}

function noteOnKeys(lines: readonly Line[]): string[] {
  if (!lines.some(({ words, notes }) => [words, ...notes].some((text) => text.includes(ENCRYPTED_WORDS))))
    return [];
  return [`to read what is ${ENCRYPTED_WORDS}, give the operator's keys: --payload-keys FILE`];
}

const READ_EVERY_MS = 1_000;

/** Prints new lines until Ctrl-C, and again those that have changed, such as by another attempt. */
async function follow(ask: Ask, reader: HistoryReader): Promise<void> {
  const printed = new Map<string, string>();
  const noted = new Set<string>();
  const style = { title: reader.title, paint: paintFor(ask) };
  const print = ({ incarnations, notes }: ReadHistory) => {
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
  };
  // If the first read fails, the command ends.
  print(await reader.read());
  for await (const next of repeatedly(ask, READ_EVERY_MS, () => reader.read())) print(next);
}

interface LineStyle {
  readonly title: string;
  readonly paint: Paint;
}

const LABEL_WIDTH = 22;

export function textOfLine({ kind, ...line }: Line, { title, paint }: LineStyle): string {
  if (kind === 'object') return `${paint('bold', `── ${title}, ${line.words}`)}\n`;
  const label = (kind === 'entry' ? `  ${line.label}` : line.label).padEnd(LABEL_WIDTH);
  const notes = line.notes.length === 0 ? '' : ` (${harmless(line.notes.join(', '))})`;
  const text = `${label} ${harmless(line.words)}`.trimEnd();
  const plain = line.isBad ? paint('red', text) : text;
  const shown = kind === 'run' ? paint('bold', text) : plain;
  return `${paint('dim', timeText(line.atMs))} ${shown}${paint('dim', notes)}\n`;
}
