import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { ConfigurationError } from '../../src/config/configuration-error.ts';
import { dataConverterFor } from '../../src/temporal/data-converter.ts';
import { parsePayloadKeys, readPayloadKeys } from '../../src/temporal/payload-keys.ts';

const aKey = () => randomBytes(32).toString('base64');
const textOf = (keys: ReturnType<typeof parsePayloadKeys>) =>
  [...keys.decryptWith].map(([id, key]) => `${id} ${key.export().toString('base64')}`);

describe('a file of payload keys', () => {
  it('encrypts with its first key, and decrypts with all', () => {
    const [newer, older] = [aKey(), aKey()];
    const keys = parsePayloadKeys(`2026-11 ${newer}\n2026-05 ${older}\n`);
    expect(keys.encryptWith?.id).toBe('2026-11');
    expect(textOf(keys)).toEqual([`2026-11 ${newer}`, `2026-05 ${older}`]);
  });

  it('may have comments, empty lines, other spaces and the line ends of Windows', () => {
    const key = aKey();
    const keys = parsePayloadKeys(`# ours\r\n\r\n  a\t${key}  \r\n`);
    expect(textOf(keys)).toEqual([`a ${key}`]);
  });

  it.each([
    ['without a key', '# none\n', 'it contains no keys'],
    ['of the word plain alone', 'plain\n', 'it contains no keys'],
    ['with a key that is too short', `a ${randomBytes(31).toString('base64')}`, 'line 1 is not a key'],
    ['with a key that is too long', `a ${randomBytes(33).toString('base64')}`, 'line 1 is not a key'],
    ['with an id of other characters', `ä ${aKey()}`, 'line 1 is not a key'],
    ['with something else than base64', `\na ${'!'.repeat(44)}`, 'line 2 is not a key'],
    ['with base64 that has a slip', `a ${aKey().replace('=', '')}`, 'line 1 is not a key'],
    ['with a key without an id', aKey(), 'line 1 is not a key'],
    ['with words after a key', `a ${aKey()} b`, 'line 1 is not a key'],
    ['where plain comes after a key', `a ${aKey()}\nplain`, 'line 2 is not a key'],
    ['with one id twice', `a ${aKey()}\na ${aKey()}`, 'two keys have the same ID'],
  ])('is refused %s', (_, text, problem) => {
    expect(() => parsePayloadKeys(text)).toThrow(problem);
  });

  it('keeps its keys out of what is logged', () => {
    const key = aKey();
    const { encryptWith } = parsePayloadKeys(`a ${key}`);
    expect(inspect(encryptWith, { depth: 9, showHidden: true })).not.toContain(key);
    expect(JSON.stringify(encryptWith)).not.toContain(key);
  });
});

describe('reading payload keys', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'payload-keys-'));
  });
  afterEach(() => rm(dir, { recursive: true }));
  const file = async (text: string) => {
    await writeFile(join(dir, 'keys'), text);
    return join(dir, 'keys');
  };

  it('fails with file, line and advice, and without what is in the file', async () => {
    const secret = 'not-quite-a-key';
    const reading = readPayloadKeys(await file(`a ${secret}`));
    await expect(reading).rejects.toBeInstanceOf(ConfigurationError);
    await expect(reading).rejects.toThrow(
      /payload keys \/.*keys: line 1 is not a key; .*openssl rand -base64 32/,
    );
    await expect(reading).rejects.toThrow(expect.not.stringContaining(secret));
  });

  it('fails with the path where there is no file', async () => {
    await expect(readPayloadKeys(join(dir, 'none'))).rejects.toThrow(/payload keys .*none: .*no such file/);
  });

  it('leaves failures readable while it encrypts nothing', async () => {
    const converter = await dataConverterFor(await file(`plain\na ${aKey()}`));
    expect(converter.failureConverterPath).toBeUndefined();
    expect(converter.payloadCodecs).toHaveLength(1);
  });
});
