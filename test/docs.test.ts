import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { withOptionTables, withReasonTables } from '../docs/generate.ts';
import packageJson from '../package.json' with { type: 'json' };
import { parseCommandLine } from '../src/config/command-line.ts';
import { ROWS } from '../src/config/options.ts';
import { CONTROLLER_NAMES } from '../src/controllers/index.ts';
import { answer } from '../src/ask/command-line.ts';
import { isAskCommand } from '../src/ask/commands.ts';
import { documentedCommands, PAGES, type DocumentedCommand } from './support/documented.ts';

const ROOT = join(import.meta.dirname, '..');

function page(path: string): string {
  const text = PAGES.get(path);
  if (text === undefined) throw new Error(`${path} is missing`);
  return text;
}

describe('links', () => {
  it('lead to files that exist, and to headings that they have', () => {
    expect([...PAGES].flatMap(([path, text]) => brokenLinksIn(path, text))).toEqual([]);
  });

  function brokenLinksIn(path: string, text: string): string[] {
    const prose = withoutCodeBlocks(text);
    const targets = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    return targets
      .filter((target) => !/^[a-z]+:/.test(target) && !resolves(path, target))
      .map((target) => `${path}: ${target}`);
  }

  function resolves(from: string, target: string): boolean {
    const [path = '', heading] = target.split('#');
    const file = path === '' ? join(ROOT, from) : resolve(ROOT, dirname(from), path);
    if (!existsSync(file)) return false;
    return heading === undefined || headingsOf(readFileSync(file, 'utf8')).includes(heading);
  }

  /** As GitHub makes an anchor of a heading. */
  function headingsOf(text: string): string[] {
    return [...withoutCodeBlocks(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    );
  }
});

describe('docs/configuration.md', () => {
  const text = page('docs/configuration.md');

  it('has the tables of options that the code says', () => {
    expect(cellsIn(withOptionTables(text))).toEqual(cellsIn(text));
  });

  it('has every option once, under the title that the help has', () => {
    const rows = text.split(/^## /m).flatMap((section) => {
      const [title = ''] = section.split('\n', 1);
      return [...section.matchAll(/^\| `--([a-z-]+)/gm)].map(([, name = '']) => `${title}: --${name}`);
    });
    expect(rows).toEqual(ROWS.map(({ title, name }) => `${title}: --${name}`));
  });

  it.each(CONTROLLER_NAMES)('names the controller %s', (name) => {
    expect(text).toContain(`\`${name}\``);
  });

  it('gets back a row that somebody changed', () => {
    const changed = text.replace('`3m`', '`4m`');
    expect(changed).not.toBe(text);
    expect(cellsIn(withOptionTables(changed))).toEqual(cellsIn(text));
  });

  it('is refused without a place for each title, and with a place for another', () => {
    const without = text.replace('<!-- options: Cluster -->', '');
    expect(() => withOptionTables(without)).toThrow('no <!-- options: Cluster -->');
    const other = text.replace('<!-- options: Cluster -->', '<!-- options: Clusters -->');
    expect(() => withOptionTables(other)).toThrow('no options titled "Clusters"');
  });

  /** However wide the columns are. */
  function cellsIn(markdown: string): string[][] {
    const lines = markdown.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| -'));
    return lines.map((line) => line.split('|').map((cell) => cell.trim()));
  }
});

describe('docs/conditions.md', () => {
  const text = page('docs/conditions.md');
  const withoutSpaces = (markdown: string) => markdown.replaceAll(/[ -]+/g, ' ');

  it('lists every reason that a condition may have, with what it means', () => {
    expect(withoutSpaces(withReasonTables(text))).toEqual(withoutSpaces(text));
  });

  it('is refused without a place for each list', () => {
    const without = text.replace('<!-- reasons: PodSet -->', '');
    expect(() => withReasonTables(without)).toThrow('no <!-- reasons: PodSet -->');
  });
});

describe('what the documentation tells people to type', () => {
  const commands = documentedCommands();

  /** How a test sees that a command is right. A program that is missing here is checked by nothing. */
  const CHECKED = new Map<string, string>([
    ['npm', 'below, and by .ci/run'],
    ['node', 'below'],
    ['durable-operator', 'below'],
    ['kubectl', 'below, and by test/docs.integration.ts'],
    ['helm', 'test/docs.integration.ts'],
    ['temporal', 'test/docs.integration.ts'],
    // What a shell and every Linux have.
    ...[
      'cat',
      'cd',
      'chmod',
      'curl',
      'export',
      'mkdir',
      'openssl',
      'printf',
      'sha256sum',
      'source',
      'unset',
    ].map((program) => [program, 'everybody knows it'] as const),
    // They need what is not here: a daemon, a release, an account.
    ...['cosign', 'docker', 'gh', 'tcld'].map((program) => [program, 'not checked'] as const),
  ]);

  it('is checked, each command', () => {
    expect(commands.length).toBeGreaterThan(50);
    expect(commands.filter(({ words: [program = ''] }) => !CHECKED.has(program))).toEqual([]);
  });

  it('names only scripts that package.json has', () => {
    const named = [...PAGES].flatMap(([path, text]) =>
      [...text.matchAll(/npm (?:run |(?=start|test))([a-z][a-z:-]*)/g)].map(([, script = '']) => ({
        path,
        script,
      })),
    );
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter(({ script }) => !Object.hasOwn(packageJson.scripts, script))).toEqual([]);
  });

  it('calls the program as its command line allows', () => {
    const calls = commands.flatMap(({ page: path, words }) => {
      const args = argumentsOfProgram(words);
      return args === undefined || isAskCommand(args[0]) ? [] : [{ path, parsed: parseCommandLine(args) }];
    });
    expect(calls.length).toBeGreaterThan(0);
    expect(calls.filter(({ parsed }) => parsed.kind === 'wrong')).toEqual([]);
  });

  function argumentsOfProgram([program, ...args]: readonly string[]): readonly string[] | undefined {
    if (program === 'durable-operator') return args;
    return program === 'node' && /src\/main\.[jt]s$/.test(args[0] ?? '') ? args.slice(1) : undefined;
  }

  it('asks the operator as its commands allow', async () => {
    const questions = commands.filter(
      ({ words: [program, plugin] }) => program === 'kubectl' && plugin === 'durable',
    );
    expect(questions.length).toBeGreaterThan(10);
    const wrong: string[] = [];
    for (const { page: path, words } of questions) {
      const problem = await problemWith(words.slice(2));
      if (problem.includes('--help')) wrong.push(`${path}: ${problem}`);
    }
    expect(wrong).toEqual([]);
  });

  /** What a command says where it can connect to nothing; where it is called wrongly, that comes first. */
  async function problemWith(args: readonly string[]): Promise<string> {
    const said: string[] = [];
    const output = { write: (text: string) => said.push(text) };
    await answer(args, {
      stdout: output,
      stderr: output,
      env: {},
      isTerminal: false,
      now: Date.now,
      signal: new AbortController().signal,
      open: () => Promise.reject(new Error('there is nothing to connect to')),
    });
    return said.join('');
  }

  it('names only files that exist', () => {
    expect(commands.flatMap((command) => missingFilesIn(command))).toEqual([]);
  });

  /** Those that are called as if they were people's own need not be there: they are not in a folder of ours. */
  function missingFilesIn({ page: path, words }: DocumentedCommand): string[] {
    const ours =
      /^(?:\.\/)?(?:\.ci|activities|bench|deploy|docs|local|src|test|tools|workflows)\/|^docker-compose/;
    return words
      .flatMap((word) => word.split('='))
      .filter((word) => ours.test(word) && !existsSync(join(ROOT, word)))
      .map((word) => `${path}: ${word}`);
  }

  it('names only variables that are read', () => {
    const read = new Set(ROWS.map(({ variable }) => variable));
    const others = ['DURABLE_OPERATOR_CONFIG', 'DURABLE_OPERATOR_CACHE'];
    const named = [...PAGES.values()].flatMap((text) => text.match(/DURABLE_OPERATOR_[A-Z_]+/g) ?? []);
    expect([...new Set(named)].filter((name) => !read.has(name) && !others.includes(name))).toEqual([]);
  });

  it('shows a configuration file whose keys are options', () => {
    const [, yaml = ''] =
      /```yaml\n# durable-operator\.yaml\n([^`]*)```/.exec(page('docs/configuration.md')) ?? [];
    const keys = [...yaml.matchAll(/^([a-z-]+):/gm)].map(([, key = '']) => key);
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.filter((key) => !ROWS.some(({ name }) => name === key))).toEqual([]);
  });
});

describe('controllers', () => {
  it.each(CONTROLLER_NAMES)('%s has a page, which the README links to', (name) => {
    expect(page('README.md')).toContain(`](docs/controllers/${name}.md)`);
    expect(page(`docs/controllers/${name}.md`)).toContain(`\`${name}\``);
  });
});

describe('decisions', () => {
  const paths = [...PAGES.keys()].filter((path) => path.startsWith('docs/adr/')).sort();

  it('are numbered without gaps', () => {
    const numbers = paths.map((path) => path.slice('docs/adr/'.length, 'docs/adr/'.length + 4));
    expect(numbers.length).toBeGreaterThan(0);
    expect(numbers).toEqual(paths.map((_, index) => String(index + 1).padStart(4, '0')));
  });

  it.each(paths)('%s says context, decision and consequences', (path) => {
    const headings = [...page(path).matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(['Context', 'Decision', 'Consequences']);
  });
});

function withoutCodeBlocks(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```/gm, '');
}
