import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';

export interface Terminal {
  readonly signal: AbortSignal;
  readonly input?: Readable;
  readonly output?: Writable;
}

/** Asks on the terminal. Anything but yes means no, and so do Ctrl-C and Ctrl-D. */
export async function answersYes(
  question: string,
  { signal, input = process.stdin, output = process.stdout }: Terminal,
): Promise<boolean> {
  const lines = createInterface({ input, output });
  const closed = once(lines, 'close').then(() => '');
  // It is rejected by Ctrl-C, Ctrl-D and the signal.
  const answered = lines.question(`${question} [y/N] `, { signal }).catch(() => '');
  const answer = await Promise.race([answered, closed]);
  lines.close();
  return /^y(es)?$/i.test(answer.trim());
}
