import { writeFile } from 'node:fs/promises';
import type { RecordedFrame, Size, Frame } from './split-screen.ts';
import { svgOf } from './svg.ts';

/** Keeps what is shown, as a file for asciinema and as a picture. */
export class Recording {
  readonly #size: Size;
  readonly #frames: RecordedFrame[] = [];
  readonly #beganMs = performance.now();

  constructor(size: Size) {
    this.#size = size;
  }

  add(frame: Frame): void {
    this.#frames.push({ ...frame, atMs: performance.now() - this.#beganMs });
  }

  /** @param file `demo.cast`; the picture is `demo.svg` beside it */
  async save(file: string): Promise<void> {
    await writeFile(file, castOf(this.#frames, this.#size));
    await writeFile(`${file.replace(/\.cast$/, '')}.svg`, svgOf(this.#frames, this.#size));
  }
}

/** Source: https://docs.asciinema.org/manual/asciicast/v2/ */
export function castOf(frames: readonly RecordedFrame[], { columns, rows }: Size): string {
  const header = {
    version: 2,
    width: columns,
    height: rows,
    idle_time_limit: 3,
    title: 'durable-operator demo',
  };
  let before: readonly string[] = [];
  const events = frames.map(({ atMs, lines }) => {
    const text = changesOf(before, lines);
    before = lines;
    return [Number((atMs / 1000).toFixed(3)), 'o', text];
  });
  return [header, ...events].map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** What a terminal has to be sent: the lines that differ. The cursor ends below them all. */
export function changesOf(before: readonly string[], lines: readonly string[]): string {
  const clear = before.length === 0 ? '\u001b[2J' : '';
  const changed = lines.map((line, row) =>
    line === (before[row] ?? '') ? '' : `\u001b[${row + 1};1H${line}\u001b[K`,
  );
  return `${clear}${changed.join('')}\u001b[${lines.length};1H`;
}
