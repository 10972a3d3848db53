import { describe, expect, it } from '@jest/globals';
import { durationText, harmless, paintFor, tableOf } from '../../src/ask/output.ts';

const plain = (_: unknown, text: string) => text;

describe('a table', () => {
  const columns = [
    { title: 'NAME', text: ({ name }: { name: string; state: string }) => name },
    {
      title: 'STATE',
      text: ({ state }: { name: string; state: string }) => state,
      format: () => 'red' as const,
    },
  ];
  const rows = [
    { name: 'a', state: 'UpToDate' },
    { name: 'longer-than-its-title', state: '' },
  ];

  it('has columns as wide as their widest text, and no space at the end of a line', () => {
    expect(tableOf(rows, columns, { paint: plain }).text).toBe(
      ['NAME                    STATE', 'a                       UpToDate', 'longer-than-its-title', ''].join(
        '\n',
      ),
    );
  });

  it('does not count colours as width', () => {
    const paint = paintFor({ isTerminal: true, env: {} });
    const colourful = tableOf(rows, columns, { paint }).text;
    expect(colourful).toContain('\u001b[31mUpToDate');
    // eslint-disable-next-line no-control-regex -- the colours
    expect(colourful.replaceAll(/\u001b\[\d+m/g, '').replaceAll(/ +$/gm, '')).toBe(
      tableOf(rows, columns, { paint: plain }).text,
    );
  });
});

describe('colours', () => {
  it.each([
    ['without a terminal', { isTerminal: false, env: {} }],
    ['with NO_COLOR', { isTerminal: true, env: { NO_COLOR: '1' } }],
    ['on a dumb terminal', { isTerminal: true, env: { TERM: 'dumb' } }],
  ])('%s are none', (_, about) => {
    expect(paintFor(about)('red', 'text')).toBe('text');
  });
});

describe('a duration', () => {
  it.each([
    [0, '0s'],
    [21_400, '21s'],
    [252_000, '4m12s'],
    [3_600_000, '1h'],
    [3_605_000, '1h'],
    [93_600_000, '1d2h'],
    [-5, '0s'],
  ])('of %d ms is %s', (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });
});

describe('what a server says', () => {
  it('cannot command the terminal, nor begin a line', () => {
    expect(harmless('\u001b[2Jgone\r\n  and\u0007 more')).toBe('gone and more');
  });
});
