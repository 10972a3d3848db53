import { styleText } from 'node:util';
import type { Narrator } from './narrator.ts';

/** In characters. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** A screen as it is to look; lines may have colours. */
export interface Frame {
  readonly lines: readonly string[];
  readonly news: News;
}

/** A frame, and when it was shown. */
export interface RecordedFrame extends Frame {
  /** Since the beginning, in milliseconds. */
  readonly atMs: number;
}

/** What there is to read that was not there before: a count, a line or an answer, or how an act ended. */
export type News = 'count' | 'line' | 'end of act';

/** Below that, lines one below the other are easier to read. */
export const SMALLEST: Size = { columns: 80, rows: 28 };

interface Act {
  readonly title: string;
  readonly lines: readonly Line[];
}

interface Line {
  readonly kind: 'said' | 'checked' | 'progress';
  readonly text: string;
}

interface Scene {
  readonly acts: readonly Act[];
  readonly question: string;
  readonly answer: string;
  readonly end: string | undefined;
}

/** What happens above, and why below. */
export function splitScreen(size: Size, show: (frame: Frame) => void): Narrator {
  let scene: Scene = { acts: [], question: '', answer: '', end: undefined };
  let shownText = '';
  const change = (changes: Partial<Scene>, news: News = 'line') => {
    scene = { ...scene, ...changes };
    const lines = linesOf(scene, size);
    const text = lines.join('\n');
    if (text !== shownText) show({ lines, news });
    shownText = text;
  };
  const add = (kind: Line['kind'], text: string) =>
    change({ acts: withLine(scene.acts, { kind, text }) }, NEWS[kind]);
  return {
    act: (title) => change({ acts: [...scene.acts, { title, lines: [] }] }),
    say: (text) => add('said', text),
    checked: (text) => add('checked', text),
    progress: (text) => add('progress', text),
    answered: (question, answer) => change({ question, answer }),
    end: (end) => change({ end }, 'end of act'),
  };
}

const NEWS: Readonly<Record<Line['kind'], News>> = { said: 'line', checked: 'end of act', progress: 'count' };

/** The next line takes the place of a progress. */
function withLine(acts: readonly Act[], line: Line): Act[] {
  const last = acts.at(-1) ?? { title: '', lines: [] };
  const kept = last.lines.filter(({ kind }) => kind !== 'progress');
  return [...acts.slice(0, -1), { ...last, lines: [...kept, line] }];
}

const HAPPENS_ROWS = 15;

function linesOf({ acts, question, answer, end }: Scene, { columns, rows }: Size): string[] {
  const above = [
    paint('bold', ' What happens'),
    '',
    ...acts.flatMap((act, index) => outline(act, index, acts)),
  ];
  if (end !== undefined) above.push('', paint('bold', ` ${end}`));
  // A table is easier to read with its rows cut off.
  const fitted = question.includes(' get ') ? cut : wrapped;
  const below = answer
    .trimEnd()
    .split('\n')
    .flatMap((line) => fitted(` ${line}`, columns));
  const head = question === '' ? ' Why' : ` Why   ${paint('cyan', `$ ${question}`)}`;
  const lines = [
    ...filled(above, HAPPENS_ROWS),
    paint('dim', '─'.repeat(columns)),
    paint('bold', head),
    '',
    ...below,
  ];
  return filled(lines, rows);
}

function filled(lines: readonly string[], rows: number): string[] {
  return Array.from({ length: rows }, (_, row) => lines[row] ?? '');
}

/** Of the acts that are over, the title alone. */
function outline({ title, lines }: Act, index: number, acts: readonly Act[]): string[] {
  if (index < acts.length - 1) return [paint('green', ` ✓ ${title}`)];
  return [paint('bold', ` ▸ ${title}`), ...lines.map(shown)];
}

function shown({ kind, text }: Line): string {
  switch (kind) {
    case 'said':
      return `     ${text}`;
    case 'checked':
      return paint('green', `   ✓ ${text}`);
    case 'progress':
      return paint('dim', `     ${text}`);
  }
}

/** At spaces; what follows stands below the text that a label of `why` begins, or below the line's first word. */
export function wrapped(line: string, columns: number): string[] {
  if (line.length <= columns) return [line];
  const [label = ''] = /^ *(\S+ {2,})?/.exec(line) ?? [];
  const at = line.lastIndexOf(' ', columns);
  const end = at > label.length ? at : columns;
  const rest = `${' '.repeat(label.length)}${line.slice(end).trimStart()}`;
  return [line.slice(0, end), ...wrapped(rest, columns)];
}

function cut(line: string, columns: number): string {
  return line.length <= columns ? line : `${line.slice(0, columns - 1)}…`;
}

function paint(format: Parameters<typeof styleText>[0], text: string): string {
  return styleText(format, text, { validateStream: false });
}
