import { clearLine, cursorTo } from 'node:readline';

const WIDTH = 30;
const INTERVAL_MS = 100;

type Output = NodeJS.WritableStream & { readonly isTTY?: boolean };

/** The progress of a download, on the last line of a terminal. Elsewhere it draws nothing. */
export class ProgressBar {
  readonly #totalBytes: number;
  readonly #output: Output;
  #bytes = 0;
  #drawnAt = -INTERVAL_MS;
  #isDrawn = false;

  constructor(totalBytes: number, output: Output = process.stderr) {
    this.#totalBytes = totalBytes;
    this.#output = output;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    const now = performance.now();
    if (!this.#output.isTTY || now - this.#drawnAt < INTERVAL_MS) return;
    this.#drawnAt = now;
    this.#isDrawn = true;
    const done = Math.round(WIDTH * Math.min(1, this.#bytes / this.#totalBytes));
    const bar = `${'#'.repeat(done)}${'.'.repeat(WIDTH - done)}`;
    cursorTo(this.#output, 0);
    this.#output.write(`[${bar}] ${megabytes(this.#bytes)} of ${megabytes(this.#totalBytes)}`);
  }

  /** Before other output. */
  clear(): void {
    if (!this.#isDrawn) return;
    this.#isDrawn = false;
    clearLine(this.#output, 0);
    cursorTo(this.#output, 0);
  }
}

export function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`;
}
