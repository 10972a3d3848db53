import type { News, RecordedFrame, Size } from './split-screen.ts';

/*
 * An animated picture of a recording, which a page can show without a script: docs/adr/0023. A line is one text that is
 * visible as long as it stands in its row.
 */

const CHARACTER = { width: 8.43, height: 18, font: 14 };
const PADDING = 14;
/** What happens within a moment is shown slower, and a wait is shortened; at the end of an act there is time to read. */
const LEAST_MS: Readonly<Record<News, number>> = { count: 100, line: 700, 'end of act': 3_500 };
const MOST_MS = 2_000;
const LAST_MS = 6_000;

const COLOURS: Readonly<Record<string, string>> = {
  1: 'font-weight:bold',
  2: 'fill:#7d8590',
  32: 'fill:#3fb950',
  36: 'fill:#79c0ff',
};

export function svgOf(frames: readonly RecordedFrame[], { columns, rows }: Size): string {
  const times = timesOf(frames);
  const totalMs = times.at(-1) ?? 0;
  const width = Math.ceil(columns * CHARACTER.width + 2 * PADDING);
  const height = rows * CHARACTER.height + 2 * PADDING;
  const stretches = Array.from({ length: rows }, (_, row) => stretchesOf(frames, row)).flat();
  const spans = new Map<string, string>();
  const texts = stretches.map(({ row, line, from, to }) => {
    const key = `s${from}-${to}`;
    if (from > 0 || to < frames.length)
      spans.set(
        key,
        keyframes(
          key,
          [from, to].map((at) => (times[at] ?? 0) / totalMs),
        ),
      );
    return textOf(line, {
      row,
      className: spans.has(key) ? ` class="${key}"` : '',
      isLast: to === frames.length,
    });
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="A recording of durable-operator demo">`,
    `<style>text{font:${CHARACTER.font}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e6edf3;white-space:pre}`,
    `[class]{animation-duration:${(totalMs / 1000).toFixed(1)}s;animation-timing-function:step-end;animation-iteration-count:infinite}`,
    ...spans.values(),
    '@media (prefers-reduced-motion:reduce){[class]{animation:none}}</style>',
    `<rect width="100%" height="100%" rx="8" fill="#0d1117"/>`,
    ...texts,
    '</svg>\n',
  ].join('\n');
}

/** When each frame begins in the picture, and at last when it ends. */
function timesOf(frames: readonly RecordedFrame[]): number[] {
  let atMs = 0;
  return [0, ...frames.map((frame, index) => (atMs += shownMs(frame, frames[index + 1])))];
}

function shownMs({ atMs, news }: RecordedFrame, next: RecordedFrame | undefined): number {
  return next === undefined ? LAST_MS : Math.max(LEAST_MS[news], Math.min(next.atMs - atMs, MOST_MS));
}

/** A line that stands in a row from one frame until before another. */
interface Stretch {
  readonly row: number;
  readonly line: string;
  readonly from: number;
  readonly to: number;
}

function stretchesOf(frames: readonly RecordedFrame[], row: number): Stretch[] {
  const found: Stretch[] = [];
  for (const [from, { lines }] of frames.entries()) {
    const line = lines[row] ?? '';
    const last = found.at(-1);
    if (last?.line === line) found[found.length - 1] = { ...last, to: from + 1 };
    else found.push({ row, line, from, to: from + 1 });
  }
  return found.filter(({ line }) => line !== '');
}

function keyframes(name: string, [from = 0, to = 1]: readonly number[]): string {
  const percent = (part: number) => `${(part * 100).toFixed(3)}%`;
  const steps = [
    `0%{opacity:${from === 0 ? 1 : 0}}`,
    `${percent(from)}{opacity:1}`,
    `${percent(to)}{opacity:0}`,
  ];
  return `@keyframes ${name}{${(from === 0 ? steps.slice(1) : steps).slice(0, to < 1 ? 3 : 2).join('')}}.${name}{animation-name:${name}}`;
}

interface Placed {
  readonly row: number;
  readonly className: string;
  /** Without animation, the last frame is shown. */
  readonly isLast: boolean;
}

function textOf(line: string, { row, className, isLast }: Placed): string {
  const y = (PADDING + (row + 0.75) * CHARACTER.height).toFixed(1);
  const hidden = isLast ? '' : ' opacity="0"';
  return `<text y="${y}"${className}${hidden}>${partsOf(line).map(tspan).join('')}</text>`;
}

interface Part {
  readonly text: string;
  readonly column: number;
  readonly style: string;
}

/** The codes that styleText writes begin and end a colour. */
function partsOf(line: string): Part[] {
  let column = 0;
  const open: string[] = [];
  // eslint-disable-next-line no-control-regex -- a colour begins with an escape character
  return line.split(/\u001b\[(\d+)m/).flatMap((piece, index) => {
    if (index % 2 === 1) {
      if (COLOURS[piece] === undefined) open.pop();
      else open.push(COLOURS[piece]);
      return [];
    }
    const part = { text: piece, column, style: open.join(';') };
    column += piece.length;
    return piece.trim() === '' ? [] : [part];
  });
}

function tspan({ text, column, style }: Part): string {
  const start = text.length - text.trimStart().length;
  const x = (PADDING + (column + start) * CHARACTER.width).toFixed(1);
  const attribute = style === '' ? '' : ` style="${style}"`;
  return `<tspan x="${x}"${attribute}>${escaped(text.trim())}</tspan>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
