import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { argumentsFor, type Parsed } from '../../src/config/config.ts';
import type { OptionRow } from '../../src/config/option.ts';
import { ROWS } from '../../src/config/options.ts';
import { GIT_TRANSPORTS } from '../../src/controllers/git-build/resource.ts';
import { fieldsOf } from '../../src/controllers/fields.ts';
import { CONTROLLER_NAMES } from '../../src/controllers/index.ts';
import { HOSTILE_PARTS, HOSTILE_TEXTS, inserted, runs } from '../support/bad-input/values.ts';
import { parsed, SAMPLES, type Given } from '../support/configs.ts';

type Check = (value: unknown) => boolean;

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

/** What docs/configuration.md allows. */
const ALLOWED: Readonly<Record<string, Check>> = {
  kubeconfig: isText,
  'run-outside-cluster': isBoolean,
  'cluster-name': (value) => matches(value, /^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/),
  controllers: someOf(CONTROLLER_NAMES),
  namespaces: listOf(isDnsLabel),
  resync: between(100, 24 * DAY),
  'require-approval-over': between(1, 1_000_000_000),
  'namespace-selector': Array.isArray,
  'exclude-namespaces': listOf(isDnsLabel),
  'role-binding-cluster-role': (value) => isText(value) && isSegment(value) && value.length <= 253,
  'role-binding-prefix': (value) => value === '' || (isSegment(value) && String(value).length <= 190),
  'build-image': (value) => matches(value, /^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}$/),
  'build-host-dir': (value) =>
    matches(value, /^(\/[A-Za-z0-9._+@~-]+)+$/) && !matches(value, /\/\.{1,2}(\/|$)|^\/(proc|sys|dev)(\/|$)/),
  'build-deadline': between(SECOND, 24 * DAY),
  'build-git-transports': someOf(GIT_TRANSPORTS),
  'health-addr': isAddress,
  'log-level': oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
  'log-format': oneOf(['auto', 'json', 'pretty']),
  'enable-leader-election': isBoolean,
  'leader-election-namespace': isDnsLabel,
  'leader-election-name': (value) =>
    matches(value, /^[a-z0-9][a-z0-9.-]{0,252}$/) && !matches(value, /[.-]$|[.-]\.|\.-/),
  'leader-election-lease-duration': between(SECOND, HOUR),
  'leader-election-renew-deadline': between(100, HOUR),
  'leader-election-retry-period': between(100, HOUR),
  'metrics-addr': isAddress,
  'metrics-secure': isBoolean,
  'metrics-cert-dir': isText,
  tracing: isBoolean,
  'task-queue': (value) =>
    isText(value) && value.length <= 1000 && !/["\\\p{Cc}]|^'|'$|^\/_sys\//u.test(value),
  'worker-deployment': (value) => isText(value) && value.length <= 255 && !/[.:]|^__/.test(value),
  'worker-build-id': (value) => isText(value) && value.length <= 255 && !/:|^__/.test(value),
  'workflow-watchdog': isBoolean,
  'workflow-slots': between(2, 10_000),
  'activity-slots': between(1, 10_000),
  'local-activity-slots': between(1, 10_000),
  'starts-in-flight': between(1, 10_000),
  'kube-api-qps': between(1, 10_000),
  'kube-api-burst': between(1, 10_000),
  'wait-for-drain': between(0, 24 * DAY),
  'move-open-runs': isBoolean,
  'register-search-attributes': isBoolean,
  'temporal-ui-url': (value) => matches(value, /^https?:\/\/[^\s?#]+$/),
  'payload-keys': isText,
  'codec-addr': isAddress,
  'codec-allow-origin': listOf((value) => typeof value === 'string' && new URL(value).origin === value),
  dir: isText,
  'exit-when-converged': isBoolean,
  record: isText,
};

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.trim() === value;
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean';
}

function matches(value: unknown, pattern: RegExp): boolean {
  return typeof value === 'string' && pattern.test(value);
}

function isDnsLabel(value: unknown): boolean {
  return matches(value, /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
}

/** Of the path of a URL. */
function isSegment(value: unknown): boolean {
  return matches(value, /^[^/%\s\p{Cc}]+$/u) && value !== '.' && value !== '..';
}

function isAddress(value: unknown): boolean {
  if (value === 'off') return true;
  const { host, port } = value as { readonly host: unknown; readonly port: unknown };
  return typeof host === 'string' && Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535;
}

function between(from: number, to: number): Check {
  return (value) => typeof value === 'number' && value >= from && value <= to;
}

function oneOf(words: readonly string[]): Check {
  return (value) => words.some((word) => word === value);
}

function listOf(isEntry: Check): Check {
  return (value) => Array.isArray(value) && value.every(isEntry) && new Set(value).size === value.length;
}

function someOf(words: readonly string[]): Check {
  const isList = listOf(oneOf(words));
  return (value) => isList(value) && Array.isArray(value) && value.length > 0;
}

/** At the limits of one option or another; each is given to all. */
const NEAR_LIMITS = [
  ...[
    '99ms',
    '100ms',
    '999ms',
    '1s',
    '1h',
    '3600001ms',
    '24d',
    '2073600001ms',
    '0s',
    '0.0001ms',
    '1.5s',
    '1h30m',
  ],
  ...['-1s', '+1s', '.5s', '1,5s', '1e3s', '0x10s', '٣m', '3 m', ' 3m ', '3M', '3', 'xms', '9e999d'],
  `${'9'.repeat(400)}d`,
  ...[
    ':0',
    ':1',
    ':65535',
    ':65536',
    ':99999',
    ':-1',
    ':1e3',
    ':',
    '0',
    '00',
    '-0',
    '[::1]:80',
    '::1:80',
    '[zz]:1',
  ],
  ...['2', '10000', '10001', '0.5'],
  ...['true', 'false', 'True', '1', 'yes', 'on', 'no', 'null', 'undefined', '[]', '{}'],
  ...[1, 63, 64, 190, 191, 253, 254, 255, 256, 512, 513, 1000, 1001, 1024, 1025].map((length) =>
    'a'.repeat(length),
  ),
  ...['a,b', 'a,,b', ',', 'a,a', 'A', '-a', 'a-', 'a.b', 'a_b', '__a', '/_sys/a', 'a:b'],
  ...[
    '/',
    '/a',
    '/a/',
    '//a',
    '/a/..',
    '/proc',
    '/proc/x',
    '/opt',
    `/${'a'.repeat(1023)}`,
    `/${'a'.repeat(1024)}`,
  ],
  ...['a=b', 'a in (b,c)', 'a in ()', 'a in (b', '!a', '!!a', 'a==b=c', 'a!=', 'x/y/z=a', ',a'],
  ...[
    'http://x',
    'http://x/',
    'https://x:1',
    'x://',
    'null',
    'pod-label,git-build',
    'pod-labl',
    'https,ssh,ext',
  ],
];

const optionsWithSamples = ROWS.map((row) => {
  const sample = SAMPLES.find(({ name }) => name === row.name);
  return { name: row.name, row, sample: sample?.text ?? '' };
});

/** Good ones, nearly good ones, and what is good for no option or for another. */
function textsFor(sample: string): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom(sample, ...NEAR_LIMITS),
    fc.tuple(fc.constant(sample), fc.constantFrom(...HOSTILE_PARTS), fc.nat()).map(inserted),
    fc.constantFrom(...HOSTILE_TEXTS, ...HOSTILE_PARTS),
    fc.string({ unit: 'binary', maxLength: 12 }),
  );
}

/** What a command needs besides, so that the option alone is what is wrong. */
function wordsFor({ name, onlyFor }: OptionRow): string[] {
  const needsDeployment = name === 'worker-build-id' || onlyFor === 'promote';
  const needsRate = name === 'kube-api-burst';
  return [
    onlyFor ?? 'run',
    ...(needsDeployment ? ['--worker-deployment=op'] : []),
    ...(needsRate ? ['--kube-api-qps=5'] : []),
  ];
}

function valueIn(result: Parsed, { path: [group, property] }: OptionRow): unknown {
  return result.kind === 'config' ? fieldsOf(fieldsOf(result.config)[group])[property] : undefined;
}

/** A value that is allowed, or a message for people that names the option. */
function expectValueOrMessage(result: Parsed, row: OptionRow): void {
  if (result.kind === 'config') {
    const value = valueIn(result, row);
    expect({ value, isAllowed: value === undefined || ALLOWED[row.name]?.(value) === true }).toEqual({
      value,
      isAllowed: true,
    });
    return;
  }
  expect(result).toMatchObject({ code: 2, to: 'stderr' });
  expect(result.output).toMatch(new RegExp(`--${row.name}|${row.variable}|: ${row.name} `));
  expect(result.output.endsWith('\n')).toBe(true);
  for (const line of result.output.slice(0, -1).split(/[\n\r\u2028\u2029]/))
    expect(line).toMatch(/^durable-operator: /);
  expect(result.output).not.toMatch(/\bat \S+ \(|node:internal|\[object|NaN|TypeError|undefined is|ZodError/);
  expect(result.output.length).toBeLessThan(2000);
}

describe('the options', () => {
  it('are all known here', () => {
    expect(Object.keys(ALLOWED)).toEqual(ROWS.map(({ name }) => name));
  });

  describe.each(optionsWithSamples)('--$name', ({ row, sample }) => {
    it('has a value that is allowed, or a message that names it, wherever it comes from', async () => {
      await fc.assert(
        fc.asyncProperty(textsFor(sample), async (text) => {
          const args = wordsFor(row);
          const byFlag = await parsed({ args: [...args, `--${row.name}=${text}`] });
          const byVariable = await parsed({ args, env: { [row.variable]: text } });
          expectValueOrMessage(byFlag, row);
          expectValueOrMessage(byVariable, row);
          if (row.argument === undefined || text === '') return;
          // One meaning, whatever the source.
          expect([byVariable.kind, valueIn(byVariable, row)]).toEqual([byFlag.kind, valueIn(byFlag, row)]);
          if (byFlag.kind !== 'config') return;
          expect(await again(byFlag.config, row)).toEqual(valueIn(byFlag, row));
        }),
        runs(12),
      );
    });

    it('takes the flag and nothing else where both are given', async () => {
      await fc.assert(
        fc.asyncProperty(textsFor(sample), textsFor(sample), async (text, other) => {
          const args = [...wordsFor(row), `--${row.name}=${text}`];
          const flag = await parsed({ args });
          const both = await parsed({ args, env: { [row.variable]: other } });
          expect(both).toEqual(flag);
        }),
        runs(5),
      );
    });

    it('has a value that is allowed, or a message that names it, whatever a file holds', async () => {
      const values = fc.oneof(
        fc.constantFrom<unknown>(null, true, false, 0, 1, -1, 1.5, 1e21, 2 ** 53, [], {}, [[]], [null], {
          a: 1,
        }),
        fc.array(fc.oneof(fc.constantFrom(...NEAR_LIMITS), fc.integer()), { maxLength: 3 }),
        textsFor(sample),
      );
      await fc.assert(
        fc.asyncProperty(values, async (value) => {
          const file = `${row.name}: ${JSON.stringify(value)}\n`;
          expectValueOrMessage(await parsed({ args: wordsFor(row), file } satisfies Given), row);
        }),
        runs(10),
      );
    });
  });
});

/** What the option is after it was written as a flag: it means what it says. */
async function again(
  config: Parameters<typeof argumentsFor>[1] & { command: Parameters<typeof argumentsFor>[0] },
  row: OptionRow,
) {
  return valueIn(await parsed({ args: argumentsFor(config.command, config) }), row);
}
