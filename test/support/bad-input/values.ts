import fc, { type Arbitrary } from 'fast-check';
import { fieldsOf } from '../../../src/controllers/fields.ts';
import { faultsOf, type Schema } from './schema.ts';

/*
 * Values made from a schema: good ones, at and just inside each limit too, and whatever lies around the limits. Which of
 * these are bad, `faultsOf` says.
 */

/** A field that is not there at all. */
export const ABSENT = undefined;

/** The same values in each run; another seed, and more runs, by the environment. */
export const SEED = Number(process.env['BAD_INPUT_SEED'] ?? 20_261_122);
const RUNS = Number(process.env['BAD_INPUT_RUNS'] ?? 1);

/** How often a property is tried, and with what: the seed and the path of a failure are in its message. */
export function runs(numRuns: number) {
  return { seed: SEED, numRuns: numRuns * RUNS };
}

const MEGABYTE = 2 ** 20;
const PAGE = 2 ** 12;

/** Each is inserted into good values, too. */
export const HOSTILE_PARTS = [
  ' ',
  '\n',
  '\r\n',
  '\t',
  '\v',
  '\0',
  '\x1b[2J',
  '\x7f',
  '\u00a0',
  '\u0085',
  '\u2028',
  '\ufeff',
  // Combining, from right to left, without width, beyond 16 bits, and halves of such.
  'e\u0301',
  '\u202e',
  '\u200b',
  '😀',
  '\ud83d',
  '\ude00',
  ...';|&<>(){}*?!#~%$`"\'\\'.split(''),
  '$(id)',
  '$(GIT_URL)',
  '$$',
  '${HOME}',
  '--',
  '::',
  '..',
  '/../',
  '//',
  ',',
] as const;

export const HOSTILE_TEXTS = [
  '',
  '.',
  '..',
  '/',
  '-',
  '--',
  '-rf',
  '../x',
  '/proc/self/environ',
  '--upload-pack=touch /tmp/x',
  'ext::sh -c id',
  '-oProxyCommand=id',
  'ssh://-oProxyCommand=id/x',
  'file:///etc/passwd',
  'true',
  'null',
  '0',
  '__proto__',
  'constructor',
] as const;

/** Of any other type than text. */
const NO_TEXTS = [0, 1, -1, 1.5, true, false, [], ['a'], {}, { a: 'b' }] as const;
const NO_INTEGERS = ['', '3', 'x', true, false, [], [3], {}, 0.5, 1.5, -1.5, 1e300] as const;

/** Whatever a schema's field may be given: good, bad, and what is nearly one or the other. */
export function anyOf(schema: Schema): Arbitrary<unknown> {
  switch (schema.type) {
    case 'string':
      return fc.oneof(
        { weight: 12, arbitrary: textsOf(schema) },
        { weight: 4, arbitrary: fc.constantFrom<unknown>(...NO_TEXTS) },
        { weight: 2, arbitrary: fc.constantFrom<unknown>(ABSENT, null) },
      );
    case 'integer':
      return fc.oneof(
        { weight: 12, arbitrary: integersOf(schema) },
        { weight: 4, arbitrary: fc.constantFrom<unknown>(...NO_INTEGERS) },
        { weight: 2, arbitrary: fc.constantFrom<unknown>(ABSENT, null) },
      );
    case 'array':
      return fc.oneof(
        { weight: 4, arbitrary: fc.array(anyOf(itemsOf(schema)), { maxLength: 4 }) },
        { weight: 1, arbitrary: fc.constantFrom<unknown>(ABSENT, null, {}, 'x', 3) },
      );
    case 'object':
      return fc.oneof(
        { weight: 6, arbitrary: objectsOf(schema, anyOf) },
        { weight: 1, arbitrary: fc.constantFrom<unknown>(ABSENT, null, [], 'x', 3) },
      );
  }
}

/** What an API server accepts. */
export function goodOf(schema: Schema): Arbitrary<unknown> {
  switch (schema.type) {
    case 'string':
      return goodTextsOf(schema);
    case 'integer':
      return integersOf(schema).filter((value) => isGood(schema, value));
    case 'array':
      return goodListsOf(schema);
    case 'object':
      return objectsOf(schema, goodOf);
  }
}

export function isGood(schema: Schema, value: unknown): boolean {
  return faultsOf(schema, value).length === 0;
}

function goodListsOf(schema: Schema): Arbitrary<unknown> {
  const { 'x-kubernetes-list-map-keys': keys = [] } = schema;
  const item = goodOf(itemsOf(schema));
  const id = (each: unknown) => JSON.stringify(keys.map((key) => fieldsOf(each)[key]));
  return keys.length === 0
    ? fc.array(item, { maxLength: 4 })
    : fc.uniqueArray(item, { maxLength: 4, selector: id });
}

function itemsOf({ items }: Schema): Schema {
  if (items === undefined) throw new Error('no generator knows a list without a schema of its items');
  return items;
}

function objectsOf(schema: Schema, each: (schema: Schema) => Arbitrary<unknown>): Arbitrary<object> {
  const { properties = {}, required = [] } = schema;
  const fields = Object.entries(properties).map(([name, property]): [string, Arbitrary<unknown>] => {
    const value = each(property);
    return [name, required.includes(name) ? value : fc.option(value, { nil: ABSENT })];
  });
  return fc.record(Object.fromEntries(fields));
}

/** At the limits, beside them, and anywhere. */
function integersOf({ minimum, format }: Schema): Arbitrary<number> {
  const limits = [minimum ?? 0, 0, 2 ** 31, -(2 ** 31), ...(format === 'int64' ? [2 ** 53, 2 ** 63] : [])];
  const beside = limits.flatMap((limit) => [limit - 1, limit, limit + 1]);
  return fc.oneof(fc.constantFrom(...beside), fc.integer(), fc.nat({ max: 5 }));
}

function textsOf(schema: Schema): Arbitrary<string> {
  const good = goodTextsOf(schema);
  return fc.oneof(
    { weight: 3, arbitrary: good },
    { weight: 3, arbitrary: fc.tuple(good, fc.constantFrom(...HOSTILE_PARTS), fc.nat()).map(inserted) },
    { weight: 1, arbitrary: tooLongOf(schema, good) },
    { weight: 1, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
    { weight: 1, arbitrary: fc.constantFrom('', ...nearRulesOf(schema)) },
    { weight: 1, arbitrary: fc.constantFrom(...HOSTILE_PARTS).map((part) => filling(part, schema)) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
    { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
  );
}

export function inserted([text, part, at]: readonly [string, string, number]): string {
  const place = [0, text.length, text.length >> 1][at % 3] ?? 0;
  return text.slice(0, place) + part + text.slice(place);
}

/** As many of them as are allowed: what is counted in bytes or in UTF-16 is too long long before. */
function filling(part: string, { maxLength = 300 }: Schema): string {
  return part.repeat(Math.max(1, Math.floor(maxLength / Array.from(part).length)));
}

function tooLongOf({ maxLength }: Schema, good: Arbitrary<string>): Arbitrary<string> {
  if (maxLength === undefined) return good.map((text) => text + 'a'.repeat(PAGE));
  const lengths = [maxLength + 1, maxLength + 2, maxLength + PAGE];
  return fc.oneof(
    { weight: 12, arbitrary: fc.tuple(good, fc.constantFrom(...lengths)).map(longer) },
    { weight: 1, arbitrary: fc.tuple(good, fc.constant(MEGABYTE)).map(longer) },
  );
}

function longer([text, length]: readonly [string, number]): string {
  return text + 'a'.repeat(length - Array.from(text).length);
}

/** Nearly what the rules forbid: `/proc`, `/procx`, `/proc/x`, `x-delete`, `-deletex`. */
function nearRulesOf({ 'x-kubernetes-validations': rules = [] }: Schema): readonly string[] {
  const words = rules
    .filter(({ rule }) => !rule.includes('.matches('))
    .flatMap(({ rule }) => [...rule.matchAll(/'([^']+)'/g)].map(([, word = '']) => word));
  return words.flatMap((word) => [word, `${word}x`, `x${word}`, `${word}/x`, `${word}-x`]);
}

function goodTextsOf(schema: Schema): Arbitrary<string> {
  const { enum: choices, format, minLength = 0, maxLength } = schema;
  if (choices !== undefined) return fc.constantFrom(...choices);
  if (format === 'date-time') return timesOf();
  const plain = matchingOf(schema).filter((text) => isGood(schema, text));
  if (maxLength === undefined) return plain;
  const lengths = [minLength, minLength + 1, maxLength - 1, maxLength];
  const limits = fc
    .tuple(plain, fc.constantFrom(...lengths))
    .map(([text, length]) => ofLength(schema, text, length));
  return fc.oneof({ weight: 2, arbitrary: plain }, { weight: 1, arbitrary: limits });
}

function timesOf(): Arbitrary<string> {
  const [min, max] = [new Date('0001-01-01T00:00:00Z'), new Date('9999-12-31T23:59:59Z')];
  return fc.date({ min, max, noInvalidDate: true }).map((date) => date.toISOString().replace(/\.\d+Z$/, 'Z'));
}

function matchingOf({ pattern, 'x-kubernetes-validations': rules = [] }: Schema): Arbitrary<string> {
  const inRules = rules.map(({ rule }) => /^self\.matches\(r'([^']*)'\)$/.exec(rule)?.[1]);
  const [first] = [pattern, ...inRules].filter((each) => each !== undefined);
  return first === undefined
    ? fc.string({ unit: 'grapheme', maxLength: 30 })
    : fc.stringMatching(new RegExp(first));
}

/** A good text like this one, of exactly this length where there is one. */
function ofLength(schema: Schema, text: string, length: number): string {
  const characters = Array.from(text);
  const missing = 'a'.repeat(Math.max(0, length - characters.length));
  for (let place = 0; place <= Math.min(characters.length, length); place += 1) {
    const [before, after] = [characters.slice(0, place), characters.slice(place)];
    const longer = [...before, missing, ...(missing === '' ? [] : after)].join('');
    if (Array.from(longer).length === length && isGood(schema, longer)) return longer;
  }
  return text;
}
