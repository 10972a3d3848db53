import { expect, it } from '@jest/globals';
import { Writable } from 'node:stream';
import { ProgressBar } from '../../local/progress-bar.ts';

/** A terminal, or a file. */
class Screen extends Writable {
  readonly written: string[] = [];
  readonly isTTY: boolean;

  constructor(isTTY: boolean) {
    super({ decodeStrings: false });
    this.isTTY = isTTY;
  }

  override _write(chunk: string, _encoding: string, done: () => void): void {
    this.written.push(chunk);
    done();
  }
}

it('shows on a terminal how much has arrived, and goes away', () => {
  const screen = new Screen(true);
  const bar = new ProgressBar(30e6, screen);
  bar.add(10e6);
  expect(screen.written.at(-1)).toBe('[##########....................] 10 MB of 30 MB');
  const drawn = screen.written.length;
  bar.clear();
  expect(screen.written.slice(drawn).join('')).toContain('\u001b[2K');
});

it('writes nothing to a file', () => {
  const screen = new Screen(false);
  const bar = new ProgressBar(30e6, screen);
  bar.add(10e6);
  bar.clear();
  expect(screen.written).toEqual([]);
});
