import { describe, expect, it } from '@jest/globals';
import { repeatedly, type Ask } from '../../src/ask/ask.ts';
import { TemporalProblem } from '../../src/temporal/temporal-problem.ts';
import type { OutputFormat } from '../../src/ask/options.ts';
import { RowPrinter } from '../../src/ask/get/get.ts';
import type { Row } from '../../src/ask/get/rows.ts';

const row = (name: string, changed: Partial<Row> = {}): Row => ({
  ...{ key: name, namespace: 'shop', resource: `podset/${name}`, controller: 'pod-set' },
  ...{ state: 'Retrying', attempt: 1, message: '', ...changed },
});

/** What is printed after each read. */
async function printed(
  output: OutputFormat | undefined,
  reads: readonly (readonly Row[])[],
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
  const printer = new RowPrinter(ask, { watch: true, ...(output && { output }) });
  const texts: string[] = [];
  for (const rows of reads) {
    text = '';
    await printer.print(rows, isComplete);
    texts.push(text);
  }
  return texts;
}

describe('get --watch', () => {
  const reads = [
    [row('web'), row('api')],
    [row('web'), row('api')],
    [row('web', { attempt: 2 }), row('api')],
    [row('web', { attempt: 2 })],
    [row('web', { attempt: 2 })],
  ];

  it('prints a document for each row that has changed, or is no longer listed', async () => {
    const [first, second, third, fourth, fifth] = await printed('json', reads);
    expect(first).toContain('"podset/web"');
    expect(first).toContain('"podset/api"');
    expect(second).toBe('');
    expect(JSON.parse(third ?? '')).toMatchObject({ resource: 'podset/web', attempt: 2 });
    expect(JSON.parse(fourth ?? '')).toMatchObject({ resource: 'podset/api', state: null });
    expect(fifth).toBe('');
  });

  it('tells documents of YAML apart', async () => {
    const [first] = await printed('yaml', reads);
    expect(first?.match(/^---$/gm)).toHaveLength(2);
  });

  it('prints a last line of a row that is no longer listed', async () => {
    const [, , , fourth] = await printed(undefined, reads);
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

describe('repeatedly', () => {
  it('outlives a problem of Temporal, says it once, and ends with Ctrl-C or a bug', async () => {
    let said = '';
    const away = new TemporalProblem('Temporal does not answer');
    const interrupted = new AbortController();
    const answers = [away, away, 1, new Error('a bug')];
    const read = () => {
      const answer = answers.shift();
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    };
    const stderr = { write: (text: string) => (said += text) };
    const all = repeatedly({ stderr, signal: interrupted.signal }, 0, read);
    expect(await all.next()).toEqual({ done: false, value: 1 });
    expect(said).toBe('kubectl durable: Temporal does not answer; retrying\n');
    await expect(all.next()).rejects.toThrow('a bug');
    interrupted.abort();
    const none = repeatedly({ stderr, signal: interrupted.signal }, 0, read);
    expect(await none.next()).toEqual({ done: true, value: undefined });
  });
});
