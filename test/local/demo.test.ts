import { describe, expect, it } from '@jest/globals';
import { stripVTControlCharacters } from 'node:util';
import { plainNarrator } from '../../local/demo/narrator.ts';
import { castOf, changesOf } from '../../local/demo/recording.ts';
import { splitScreen, wrapped, type Frame, type RecordedFrame } from '../../local/demo/split-screen.ts';
import { svgOf } from '../../local/demo/svg.ts';

const SIZE = { columns: 80, rows: 28 };

function frame(atMs: number, ...lines: readonly string[]): RecordedFrame {
  return { atMs, lines, news: 'line' };
}

describe('the split screen', () => {
  const shown: Frame[] = [];
  const lastLines = () => shown.at(-1)?.lines.map(stripVTControlCharacters) ?? [];

  it('has the acts above, the current one with its lines, and the answer below', () => {
    const narrator = splitScreen(SIZE, (each) => shown.push(each));
    narrator.act('One');
    narrator.say('something');
    narrator.act('Two');
    narrator.progress('1 of 2');
    narrator.checked('2 of 2');
    narrator.answered('kubectl durable why podset/web', 'because\n');
    const lines = lastLines();
    expect(lines.filter((line) => line !== '')).toEqual([
      ' What happens',
      ' ✓ One',
      ' ▸ Two',
      '   ✓ 2 of 2',
      '─'.repeat(80),
      ' Why   $ kubectl durable why podset/web',
      ' because',
    ]);
    expect(lines).toHaveLength(SIZE.rows);
  });

  it('is not shown again where nothing is different', () => {
    const frames: Frame[] = [];
    const narrator = splitScreen(SIZE, (each) => frames.push(each));
    narrator.progress('1 of 2');
    narrator.progress('1 of 2');
    expect(frames).toHaveLength(1);
  });

  it('wraps a long line below the text of its label', () => {
    expect(wrapped('  because   one two three', 18)).toEqual([
      '  because   one',
      '            two',
      '            three',
    ]);
    expect(wrapped('x'.repeat(10), 4)).toEqual(['xxxx', 'xxxx', 'xx']);
  });
});

describe('lines', () => {
  it('have no counts that change, and nothing for a terminal', () => {
    let text = '';
    const narrator = plainNarrator((more) => (text += more));
    narrator.act('One');
    narrator.progress('1 of 2');
    narrator.checked('2 of 2');
    narrator.answered('why', 'because\n');
    expect(text).toBe('\n1. One\n ✓ 2 of 2\n   $ why\n   │ because\n');
  });
});

describe('a recording', () => {
  it("is asciinema's version 2: a header, and an event for what was written", () => {
    const lines = castOf([frame(0, 'a', 'b'), frame(1_500, 'a', 'c')], { columns: 3, rows: 2 }).split('\n');
    expect(lines.slice(1)).toEqual([
      JSON.stringify([0, 'o', '\u001b[2J\u001b[1;1Ha\u001b[K\u001b[2;1Hb\u001b[K\u001b[2;1H']),
      JSON.stringify([1.5, 'o', '\u001b[2;1Hc\u001b[K\u001b[2;1H']),
      '',
    ]);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ version: 2, width: 3, height: 2 });
  });

  it('clears a line that is empty now', () => {
    expect(changesOf(['a'], [''])).toBe('\u001b[1;1H\u001b[K\u001b[1;1H');
  });

  it('is a picture that shows its last frame where nothing may move', () => {
    const picture = svgOf([frame(0, 'first'), frame(10, '\u001b[32m<last>\u001b[39m')], {
      columns: 9,
      rows: 1,
    });
    expect(picture).toContain('<tspan x="14.0" style="fill:#3fb950">&lt;last&gt;</tspan>');
    expect(picture).toMatch(/<text [^>]*opacity="0"><tspan x="14.0">first</);
    expect(picture).not.toMatch(/<text [^>]*opacity="0"><tspan [^>]*>&lt;last/);
  });
});
