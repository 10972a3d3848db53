const NEWLINE = 0x0a;

/**
 * Cuts a stream of bytes into lines. Works on bytes, so that a character split between two chunks stays
 * whole, and joins the pieces of a line once, so that a long line in many chunks costs its length, not its square.
 */
export class LineSplitter {
  #pieces: Buffer[] = [];

  /** The lines that this chunk completes, without their newlines; empty lines are left out. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = this.#complete(chunk, start, end);
      if (line !== '') lines.push(line);
      start = end + 1;
    }
    if (start < chunk.length) this.#pieces.push(chunk.subarray(start));
    return lines;
  }

  /** Whether a line was begun and not ended. */
  get inMidLine(): boolean {
    return this.#pieces.length > 0;
  }

  #complete(chunk: Buffer, start: number, end: number): string {
    if (this.#pieces.length === 0) return chunk.toString('utf8', start, end);
    const line = Buffer.concat([...this.#pieces, chunk.subarray(start, end)]).toString('utf8');
    this.#pieces = [];
    return line;
  }
}
