import { describe, expect, it } from '@jest/globals';
import { LineSplitter } from '../../src/kubernetes/lines.ts';

const LINES = ['{"name":"a"}', '{"name":"schön – 名前 🎉"}', '{}'];
const BYTES = Buffer.from(LINES.map((line) => `${line}\n`).join(''));

function split(...chunks: Buffer[]): string[] {
  const splitter = new LineSplitter();
  return chunks.flatMap((chunk) => splitter.push(chunk));
}

describe('LineSplitter', () => {
  it('gives the same lines wherever the bytes are cut in two, within a character too', () => {
    for (let at = 0; at <= BYTES.length; at += 1) {
      expect(split(BYTES.subarray(0, at), BYTES.subarray(at))).toEqual(LINES);
    }
  });

  it('gives the same lines where every byte comes alone', () => {
    expect(split(...Array.from(BYTES, (byte) => Buffer.of(byte)))).toEqual(LINES);
  });

  it('holds a line back until its newline has come', () => {
    const splitter = new LineSplitter();
    expect(splitter.push(Buffer.from('{"a":1}'))).toEqual([]);
    expect(splitter.inMidLine).toBe(true);
    expect(splitter.push(Buffer.from('\n'))).toEqual(['{"a":1}']);
    expect(splitter.inMidLine).toBe(false);
  });

  it('leaves out empty lines', () => {
    expect(split(Buffer.from('\n{}\n\n'))).toEqual(['{}']);
  });

  it('keeps a long line of many chunks whole', () => {
    const megabyte = 'x'.repeat(1024 * 1024);
    const bytes = Buffer.from(`${megabyte}\n`);
    const chunks = Array.from({ length: 65 }, (_, i) => bytes.subarray(i * 16_384, (i + 1) * 16_384));
    expect(split(...chunks)).toEqual([megabyte]);
  });
});
