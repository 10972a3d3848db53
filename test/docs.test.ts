import { describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { parseCommandLine } from '../src/config/command-line.ts';
import { optionTable } from '../src/config/option-table.ts';
import { durableOperator } from '../src/controllers/index.ts';
import { isAskCommand } from '../src/ask/commands.ts';
import { API_ERROR_CLASSES } from '../src/api/api-error.ts';

const ROOT = join(import.meta.dirname, '..');

/** The text of each Markdown page, by its path from the root. */
const PAGES = new Map(
  [...pagesIn('.'), ...pagesIn('tools'), ...pagesIn('test', true), ...pagesIn('docs', true)].map((path) => [
    path,
    readFileSync(join(ROOT, path), 'utf8'),
  ]),
);

function pagesIn(folder: string, recursive = false): string[] {
  return readdirSync(join(ROOT, folder), { recursive, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
}

describe('links', () => {
  it('lead to files that exist, and to headings that they have', () => {
    const broken = [...PAGES].flatMap(([path, text]) =>
      linksIn(text)
        .filter((target) => !resolves(path, target))
        .map((target) => `${path}: ${target}`),
    );
    expect(broken).toEqual([]);
  });
});

describe.each(['docs/build-your-own.md', 'docs/test-your-controller.md'])('%s', (page) => {
  it('shows the examples as they are', () => {
    const files = [...(PAGES.get(page) ?? '').matchAll(/```ts\n\/\/ (\S+)\n(.*?)```/gs)];
    expect(files).not.toEqual([]);
    for (const [, path = '', code] of files) {
      expect(readFileSync(join(ROOT, 'examples/bucket', path), 'utf8')).toBe(code);
    }
  });
});

describe('the table of what `kube` throws', () => {
  it('has a row for each class', () => {
    const [, section = ''] = (PAGES.get('docs/build-your-own.md') ?? '').split('\n## What `kube` throws\n');
    const [table = ''] = section.split('```');
    const classes = [...table.matchAll(/^\| `([a-z-]+)`/gm)].map(([, name]) => name);
    expect(classes.toSorted()).toEqual([...API_ERROR_CLASSES].toSorted());
  });
});

describe('the first screen of the README', () => {
  const screen = (PAGES.get('README.md') ?? '').split('\n## ')[0] ?? '';
  const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');

  it('shows a part of an example', () => {
    const [, code = 'no code'] = /```ts\n(.*?)```/s.exec(screen) ?? [];
    expect(textOf('examples/website/src/website.ts')).toContain(code);
  });

  it('names the two commands that CI runs', () => {
    const commands = [...screen.matchAll(/`(npm install && npm \w+)`/g)].map(([, command]) => command);
    expect(commands).toEqual(['npm install && npm start', 'npm install && npm test']);
    expect(textOf('.ci/start')).toContain(commands[0]);
    expect(textOf('.ci/run')).toContain(commands[1]);
  });
});

describe('the commands in the documentation', () => {
  it('name only scripts that package.json has', () => {
    const scripts = [...PAGES.values()].flatMap((text) =>
      [...text.matchAll(/npm (?:run |(?=start|test))([a-z][a-z:-]*)/g)].map(([, script = '']) => script),
    );
    expect(scripts.length).toBeGreaterThan(0);
    expect(scripts.filter((script) => !Object.hasOwn(packageJson.scripts, script))).toEqual([]);
  });

  /** `kubectl durable …` is checked by test/ask/documented-commands.test.ts. */
  it('call the program with options that it has', () => {
    const calls = [...PAGES.values()].flatMap((text) => callsIn(text));
    expect(calls.length).toBeGreaterThan(0);
    const options = optionTable(durableOperator);
    const parsed = calls
      .filter(([first]) => !isAskCommand(first))
      .map((args) => parseCommandLine(options, args));
    expect(parsed.filter(({ kind }) => kind === 'wrong')).toEqual([]);
  });
});

function linksIn(text: string): string[] {
  const targets = [...withoutCodeBlocks(text).matchAll(/\]\(([^)\s]+)\)/g)];
  return targets.map(([, target = '']) => target).filter((target) => !/^[a-z]+:/.test(target));
}

function resolves(from: string, target: string): boolean {
  const [path = '', heading] = target.split('#');
  const file = path === '' ? join(ROOT, from) : resolve(ROOT, dirname(from), path);
  if (!existsSync(file)) return false;
  return heading === undefined || headingsOf(PAGES.get(relative(ROOT, file)) ?? '').includes(heading);
}

/** As GitHub makes an anchor of a heading: the second of one name ends in `-1`. Tables may have anchors of their own. */
function headingsOf(text: string): string[] {
  const headings = [...withoutCodeBlocks(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  const numbered = headings.map((heading, i) => {
    const before = headings.slice(0, i).filter((each) => each === heading).length;
    return before === 0 ? heading : `${heading}-${before}`;
  });
  return [...numbered, ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)];
}

/** The arguments of each call of `durable-operator` in a block of commands. */
function callsIn(text: string): string[][] {
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block);
  const lines = blocks.flatMap((block) => block.replaceAll(/\\\n\s*/g, '').split('\n'));
  return lines
    .map((line) => line.replace(/(^| )#.*/, ''))
    .flatMap((line) => /^(?:durable-operator|node \S*src\/main\.[jt]s) (.*)$/.exec(line.trim())?.[1] ?? [])
    .map((args) => args.match(/\S+/g) ?? []);
}

function withoutCodeBlocks(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```/gm, '');
}
