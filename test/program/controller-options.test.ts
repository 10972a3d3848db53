import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { StepRun } from '../../activities/step-run.ts';
import { allow, CONFIG_MAPS, defineController, durationMs, withOptions } from '../../src/index.ts';
import { defaultOptions, parseConfig, type Options } from '../../src/config/config.ts';
import { settingsFrom, textsToPublish } from '../../src/config/published.ts';
import type { KubernetesClient, RequestOptions } from '../../src/kubernetes/client.ts';
import { controllersOf, type Program } from '../../src/program/program.ts';
import { reconcilersOf } from '../../src/program/reconcilers.ts';
import { Bucket, UNDER_WAY } from '../support/bucket.ts';
import { aFile } from '../support/configs.ts';

const OPTIONS = z.object({
  storeUrl: z.url().default('http://store.local').meta({ description: 'where the store is' }),
  retries: z.int().min(1).default(3),
  dryRun: z.boolean().default(false),
  tier: z.enum(['hot', 'cold']).optional(),
});
const REF = { controller: 'bucket', namespace: 'shop', name: 'photos', uid: 'uid-1' };
const PHOTOS = {
  metadata: { ...REF, resourceVersion: '7', generation: 1 },
  spec: {},
  status: { conditions: [UNDER_WAY] },
};

/** An operator whose controller notes what it is given. */
function anOperator(options: z.ZodObject = OPTIONS) {
  const made: unknown[] = [];
  const seen: unknown[] = [];
  const bucket = defineController({
    name: 'bucket',
    for: Bucket,
    options,
    clients: (given) => {
      made.push(given);
      return { store: { find: () => Promise.resolve('there') } };
    },
    observe: async ({ clients, options: given }) => {
      seen.push(['observe', given]);
      return clients.store.find();
    },
    steps: {
      act: {
        summary: 'act',
        run: async ({ clients, options: given, idempotencyKey }) => {
          seen.push(['run', given, await clients.store.find(), idempotencyKey]);
          return 'acted on it';
        },
      },
    },
    decide: ({ observed, options: given }, next) => {
      seen.push(['decide', given, observed]);
      return next.do.act('it has to');
    },
    status: ({ options: given }) => ({ url: JSON.stringify(given) }),
  });
  const program: Program = { name: 'bucket-operator', controllers: [bucket] };
  return { program, made, seen };
}

const { program } = anOperator();
const LOCAL = { TEMPORAL_ADDRESS: 'localhost:7233', XDG_CONFIG_HOME: '/nowhere' };

async function given(args: readonly string[] = [], env: Record<string, string> = {}): Promise<unknown> {
  const parsed = await parseConfig(program, args, { ...LOCAL, ...env });
  return parsed.kind === 'config'
    ? (parsed.config as unknown as Record<string, unknown>)['controller bucket']
    : parsed.output;
}

describe('an option of a controller', () => {
  it('has its default, and is set by a flag, a variable or a key of a file, in this order', async () => {
    const url = (value: string) => ({ storeUrl: `http://${value}`, retries: 3, dryRun: false });
    expect(await given()).toEqual(url('store.local'));
    const file = ['--config', aFile('store-url: http://file\n')];
    const variable = { DURABLE_OPERATOR_STORE_URL: 'http://variable' };
    expect(await given(file)).toEqual(url('file'));
    expect(await given(file, variable)).toEqual(url('variable'));
    expect(await given([...file, '--store-url', 'http://flag'], variable)).toEqual(url('flag'));
  });

  it('is a number, a boolean or one of some words, also where it is given as text', async () => {
    const expected = { storeUrl: 'http://store.local', retries: 5, dryRun: true, tier: 'cold' };
    expect(await given(['--retries', '5', '--dry-run', '--tier=cold'])).toEqual(expected);
    expect(await given(['--config', aFile('retries: 5\ndry-run: true\ntier: cold\n')])).toEqual(expected);
  });

  it('is a boolean with a digit in its name, written as for programs in Go', async () => {
    const { program: odd } = anOperator(z.object({ useV2: z.boolean().default(false) }));
    const parsed = await parseConfig(odd, ['--use-v2=true'], LOCAL);
    expect(parsed).toMatchObject({ config: { 'controller bucket': { useV2: true } } });
  });

  it.each([
    ['prefault', durationMs({ from: '1s', to: '1h' }).prefault('30s'), 'default: 30s'],
    ['default', durationMs({ from: '1s', to: '1h' }).default(30_000), 'default: 30000ms'],
  ])('is a duration within bounds, in milliseconds: %s', async (_, settle, shown) => {
    const { program: odd } = anOperator(z.object({ settle }));
    const parsed = async (...args: readonly string[]) => {
      const read = await parseConfig(odd, args, LOCAL);
      return read.kind === 'config'
        ? (read.config as object)
        : { output: read.output.replaceAll(/\s+/g, ' ') };
    };
    expect(await parsed()).toMatchObject({ 'controller bucket': { settle: 30_000 } });
    expect(await parsed('--settle=2m')).toMatchObject({ 'controller bucket': { settle: 120_000 } });
    expect(await parsed('--settle', '2h')).toMatchObject({
      output: expect.stringContaining('--settle "2h" is out of range; write a duration from 1s to 1h'),
    });
    expect(await parsed('--help')).toMatchObject({
      output: expect.stringContaining(`--settle <duration> (${shown})`),
    });
    const read = await parseConfig(odd, ['--settle=2m'], LOCAL);
    if (read.kind !== 'config') throw new Error(read.output);
    const texts = textsToPublish(odd, read.config, { version: '1', clusterUid: undefined });
    expect(settingsFrom(odd, texts)?.options).toMatchObject({ 'controller bucket': { settle: 120_000 } });
  });

  it('is a list of strings, or of some words, with commas or as a list of a file; each entry once', async () => {
    const host = z.string().regex(/^[a-z]+$/, 'is not a host; use lower-case letters');
    const { program: odd } = anOperator(
      z.object({
        hosts: z.array(host).default(['a', 'b']).meta({ argument: 'names', unset: 'all' }),
        tiers: z.array(z.enum(['hot', 'cold'])).optional(),
      }),
    );
    const parsed = async (...args: readonly string[]) => {
      const read = await parseConfig(odd, args, LOCAL);
      const its: unknown =
        read.kind === 'config' ? Reflect.get(read.config, 'controller bucket') : read.output;
      return its;
    };
    expect(await parsed()).toEqual({ hosts: ['a', 'b'] });
    expect(await parsed('--hosts=c, d,c', '--tiers=hot')).toEqual({ hosts: ['c', 'd'], tiers: ['hot'] });
    expect(await parsed('--config', aFile('hosts: [c, d]\n'))).toEqual({ hosts: ['c', 'd'] });
    expect(await parsed('--hosts=c,D', '--tiers=warm')).toMatch(
      /--hosts "c,D" contains "D", which is not a host; use .*\n.*--tiers "warm" contains "warm", which is unknown; write one of hot, cold\n/,
    );
    expect(await parsed('--config', aFile('hosts: [1]\ntiers: {a: b}\n'))).toMatch(
      /hosts \[1\] contains 1, which is not a string; put it in quotes\n.* is not a list; write names separated by commas\n/,
    );
    expect(await parsed('--help')).toMatch(/--hosts <names> +\(default: a,b\)\n +--tiers <list>/);
    const read = await parseConfig(odd, ['--hosts=c,d'], LOCAL);
    if (read.kind !== 'config') throw new Error(read.output);
    const texts = textsToPublish(odd, read.config, { version: '1', clusterUid: undefined });
    expect(texts).toMatchObject({ hosts: 'c,d' });
    expect(settingsFrom(odd, texts)?.options).toMatchObject({ 'controller bucket': { hosts: ['c', 'd'] } });
  });

  it('is refused with what its schema says, beside all else that is wrong', async () => {
    expect(await given(['--store-url', 'nowhere', '--retries', 'x', '--resync', '1'])).toMatch(
      /--resync "1" is not a duration.*\n.*--store-url "nowhere" is not valid: Invalid URL\n.*--retries "x" is not valid/,
    );
  });

  it('is in the help', async () => {
    const help = String(await given(['--help'])).replaceAll(/\s+/g, ' ');
    expect(help).toContain(
      'Controller bucket: --store-url <text> where the store is (default: http://store.local)',
    );
    expect(help).toContain('--dry-run');
  });

  it('is published for the commands, as the operator has it', async () => {
    const parsed = await parseConfig(program, ['--store-url', 'http://flag'], LOCAL);
    if (parsed.kind !== 'config') throw new Error(parsed.output);
    const texts = textsToPublish(program, parsed.config, { version: '1', clusterUid: undefined });
    expect(settingsFrom(program, texts)?.options).toMatchObject({
      'controller bucket': { storeUrl: 'http://flag', retries: 3 },
    });
  });

  it.each([
    [
      'apiToken',
      z.string().default(''),
      /apiToken of controller bucket looks secret, and options are published/,
    ],
    ['storeUrl', z.string(), /storeUrl of controller bucket needs a default, or has to be optional/],
    ['ports', z.array(z.number()).default([]), /ports of controller bucket has to be a string, a number/],
    ['resync', z.string().default('1m'), /there are two options --resync; rename that of a controller/],
  ])('cannot be %s of %p', async (name, field, problem) => {
    const odd = anOperator(z.object({ [name]: field })).program;
    const parsed = await parseConfig(odd, [], LOCAL);
    expect(parsed).toMatchObject({ kind: 'exit', code: 2, output: expect.stringMatching(problem) });
  });
});

const client = {
  fieldManager: 'bucket-operator',
  request: ({ path }: RequestOptions) => Promise.resolve(path.includes('buckets') ? PHOTOS : {}),
} as unknown as KubernetesClient;

/** A step of an operator with these options. */
async function act(program: Program, options: Options): Promise<void> {
  const reconciler = reconcilersOf(program, { client, options })['bucket'];
  if (reconciler === undefined) throw new Error('there is no such controller');
  const superseded = new AbortController().signal;
  const context = { ref: REF, now: Date.now, superseded, idempotencyKey: () => 'key-1' };
  await new StepRun(reconciler, context).perform('act', undefined);
}

describe('clients of outside systems', () => {
  it('are made once per process, when they are first asked for, with the options that everything is given', async () => {
    const { program, made, seen } = anOperator();
    const options = defaultOptions(program);
    expect(made).toEqual([]);
    await act(program, options);
    await act(program, options);
    const values = { storeUrl: 'http://store.local', retries: 3, dryRun: false };
    expect(made).toEqual([values]);
    expect(seen.slice(0, 3)).toEqual([
      ['observe', values],
      ['decide', values, 'there'],
      ['run', values, 'there', 'key-1'],
    ]);
  });
});

describe('a controller whose definition follows from its options', () => {
  const selector = z.codec(z.string(), z.object({ label: z.string() }), {
    decode: (label) => ({ label }),
    encode: ({ label }) => label,
  });
  const shelf = withOptions(
    z.object({ shelfSelector: selector.prefault('a'), shelfName: z.string().default('top') }),
    ({ shelfSelector, shelfName }, { namespaces }) =>
      defineController({
        name: 'shelf',
        for: Bucket,
        permissions: [
          allow(CONFIG_MAPS, ['get'], { names: [shelfName, shelfSelector.label, ...namespaces] }),
        ],
        decide: (_, next) => next.converged('it stands'),
      }),
  );
  const shelves: Program = { name: 'shelves', controllers: [shelf] };
  /** What it may read, with some options. */
  const readable = async (args: readonly string[], controllers: Program['controllers'] = [shelf]) => {
    const read = await parseConfig(shelves, args, LOCAL);
    if (read.kind !== 'config') throw new Error(read.output);
    const [controller] = controllersOf({ ...shelves, controllers }, read.config);
    return controller?.permissions.flatMap(({ resourceNames = [] }) => resourceNames);
  };

  it('is made of what the operator has, and of the namespaces that it watches', async () => {
    expect(await readable([])).toEqual(['top', 'a']);
    const args = ['--shelf-name=low', '--shelf-selector=b', '--namespaces=x,y'];
    expect(await readable(args)).toEqual(['low', 'b', 'x', 'y']);
  });

  it('keeps what a test has replaced', async () => {
    const replaced = { ...shelf, permissions: [] };
    expect(await readable(['--shelf-name=low'], [replaced])).toEqual([]);
  });

  it('is refused where an option has no default, or no name of an option', () => {
    const define = () => shelf;
    expect(() => withOptions(z.object({ shelfName: z.string() }), define)).toThrow(
      'withOptions: the option shelfName needs a default, or has to be optional',
    );
    expect(() => withOptions(z.object({ 'shelf-name': z.string().default('') }), define)).toThrow(
      'the option "shelf-name" must be in camelCase',
    );
  });
});
