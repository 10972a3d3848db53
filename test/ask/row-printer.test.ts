import { describe, expect, it } from '@jest/globals';
import type { Ask } from '../../src/ask/ask.ts';
import { TemporalProblem } from '../../src/ask/connection/temporal-problem.ts';
import type { OutputFormat } from '../../src/ask/connection/options.ts';
import { printerFor } from '../../src/ask/get/row-printer.ts';
import type { Row } from '../../src/ask/get/rows.ts';
import { Hiccups } from '../../src/ask/hiccups.ts';

const row = (name: string, changed: Partial<Row> = {}): Row => ({
  ...{ key: name, namespace: 'shop', resource: `podset/${name}`, controller: 'pod-set' },
  ...{ state: 'Retrying', attempt: 1, message: '', ...changed },
});

/** What is printed at each look. */
async function printed(
  output: OutputFormat | undefined,
  looks: readonly (readonly Row[])[],
  isComplete = true,
) {
  let text = '';
  const write = (more: string) => (text += more);
  // All that it takes.
  const ask = {
    stdout: { write },
    stderr: { write },
    now: () => 0,
    env: {},
    isTerminal: false,
  } as unknown as Ask;
  const print = printerFor(ask, { watch: true, ...(output && { output }) });
  const texts: string[] = [];
  for (const rows of looks) {
    text = '';
    await print(rows, isComplete);
    texts.push(text);
  }
  return texts;
}

describe('get --watch', () => {
  const looks = [
    [row('web'), row('api')],
    [row('web'), row('api')],
    [row('web', { attempt: 2 }), row('api')],
    [row('web', { attempt: 2 })],
    [row('web', { attempt: 2 })],
  ];

  it('prints a document for each row that has changed, or is no longer listed', async () => {
    const [first, second, third, fourth, fifth] = await printed('json', looks);
    expect(first).toContain('"podset/web"');
    expect(first).toContain('"podset/api"');
    expect(second).toBe('');
    expect(JSON.parse(third ?? '')).toMatchObject({ resource: 'podset/web', attempt: 2 });
    expect(JSON.parse(fourth ?? '')).toMatchObject({ resource: 'podset/api', state: null });
    expect(fifth).toBe('');
  });

  it('tells documents of YAML apart', async () => {
    const [first] = await printed('yaml', looks);
    expect(first?.match(/^---$/gm)).toHaveLength(2);
  });

  it('prints a last line of a row that is no longer listed', async () => {
    const [, , , fourth] = await printed(undefined, looks);
    expect(fourth).toMatch(/^shop +podset\/api +pod-set .*no longer listed\n$/);
  });

  it('does not take what could not be read for gone', async () => {
    expect(await printed(undefined, [[row('web')], [], [row('web')]], false)).toEqual([
      expect.stringContaining('podset/web'),
      '',
      '',
    ]);
  });
});

describe('what goes on for ever', () => {
  it('outlives a problem of Temporal, and says it once', async () => {
    let said = '';
    const hiccups = new Hiccups({ stderr: { write: (text) => (said += text) } });
    const away = () => Promise.reject<number>(new TemporalProblem('Temporal does not answer'));
    expect(await hiccups.outlive(away)).toBeUndefined();
    expect(await hiccups.outlive(away)).toBeUndefined();
    expect(said).toBe('kubectl durable: Temporal does not answer; trying on\n');
    expect(await hiccups.outlive(() => Promise.resolve(1))).toBe(1);
    await expect(hiccups.outlive(() => Promise.reject<number>(new Error('a bug')))).rejects.toThrow('a bug');
  });
});
