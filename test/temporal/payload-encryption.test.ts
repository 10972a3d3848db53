import { describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { isEncrypted } from '../../src/temporal/payloads.ts';
import { payloadEncryption } from '../../src/temporal/data-converter.ts';
import { parsePayloadKeys } from '../../src/temporal/payload-keys.ts';

const aKey = (id: string) => `${id} ${randomBytes(32).toString('base64')}`;
const codecOf = (...lines: string[]) => payloadEncryption(parsePayloadKeys(lines.join('\n')));
const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);
const valueOf = (payload: Payload | undefined): unknown =>
  payload && defaultPayloadConverter.fromPayload(payload);

async function encoded(codec: ReturnType<typeof codecOf>, payload: Payload): Promise<Payload> {
  const [result] = await codec.encode([payload]);
  if (result === undefined) throw new Error('no payload came back');
  return result;
}

describe('payload encryption', () => {
  it('gives back what it encrypted, in the same order', async () => {
    const values = ['a text', { nested: ['value'] }, undefined, new Uint8Array([0, 255]), ''];
    const codec = codecOf(aKey('a'));
    const decoded = await codec.decode(await codec.encode(values.map(payloadOf)));
    expect(decoded.map(valueOf)).toEqual(values);
  });

  it('leaves nothing to read but that it is encrypted, and by which key', async () => {
    const payload = payloadOf('the secret');
    const { metadata, data } = await encoded(codecOf(aKey('2026-11')), payload);
    const texts = Object.entries(metadata ?? {}).map(([name, value]) => [
      name,
      Buffer.from(value).toString(),
    ]);
    expect(Object.fromEntries(texts)).toEqual({
      encoding: 'binary/encrypted',
      'encryption-key-id': '2026-11',
    });
    expect(Buffer.from(data ?? []).toString('latin1')).not.toMatch(/secret|json/);
  });

  it('never writes the same twice', async () => {
    const codec = codecOf(aKey('a'));
    const [one, other] = [await encoded(codec, payloadOf('x')), await encoded(codec, payloadOf('x'))];
    expect(Buffer.from(one.data ?? [])).not.toEqual(Buffer.from(other.data ?? []));
  });

  it('reads what an older key encrypted, and writes with the new one', async () => {
    const [older, newer] = [aKey('older'), aKey('newer')];
    const both = codecOf(newer, older);
    const [decoded] = await both.decode([await encoded(codecOf(older), payloadOf('x'))]);
    expect(valueOf(decoded)).toBe('x');
    const rewritten = await encoded(both, payloadOf('y'));
    expect(valueOf((await codecOf(newer).decode([rewritten]))[0])).toBe('y');
  });

  it('reads what was never encrypted', async () => {
    const [decoded] = await codecOf(aKey('a')).decode([payloadOf('in the clear')]);
    expect(valueOf(decoded)).toBe('in the clear');
  });

  it('writes in the clear where it is told so, and still reads what is encrypted', async () => {
    const key = aKey('a');
    const plain = codecOf('plain', key);
    expect(isEncrypted(await encoded(plain, payloadOf('x')))).toBe(false);
    expect(valueOf((await plain.decode([await encoded(codecOf(key), payloadOf('x'))]))[0])).toBe('x');
  });

  it('names the key that it does not have', async () => {
    const payload = await encoded(codecOf(aKey('lost')), payloadOf('x'));
    await expect(codecOf(aKey('a')).decode([payload])).rejects.toThrow(
      'a payload is encrypted with key "lost"; add it to the payload keys',
    );
  });

  it('says so where another key has the same id', async () => {
    const payload = await encoded(codecOf(aKey('a')), payloadOf('x'));
    await expect(codecOf(aKey('a')).decode([payload])).rejects.toThrow('a different key has this ID');
  });

  it.each([
    ['a bit is flipped', (data: Buffer) => flipped(data, data.length - 20)],
    ['the nonce is another', (data: Buffer) => flipped(data, 0)],
    ['the tag is another', (data: Buffer) => flipped(data, data.length - 1)],
    ['the tag is cut away', (data: Buffer) => data.subarray(0, -16)],
    ['it is cut', (data: Buffer) => data.subarray(0, -1)],
    ['it is shorter than nonce and tag', (data: Buffer) => data.subarray(0, 20)],
    ['nothing is left', () => Buffer.alloc(0)],
  ])('refuses what was changed: %s', async (_, change) => {
    const codec = codecOf(aKey('a'));
    const payload = await encoded(codec, payloadOf('x'));
    const changed = { ...payload, data: change(Buffer.from(payload.data ?? [])) };
    await expect(codec.decode([changed])).rejects.toThrow('or the payload was modified');
  });
});

function flipped(data: Buffer, index: number): Buffer {
  const copy = Buffer.from(data);
  copy[index] = (copy[index] ?? 0) ^ 1;
  return copy;
}
