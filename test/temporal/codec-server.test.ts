import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { defaultPayloadConverter, type Payload, type PayloadCodec } from '@temporalio/common';
import { z } from 'zod';
import { parseConfig } from '../../src/config/config.ts';
import { ConfigurationError } from '../../src/config/configuration-error.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import type { ListeningServer } from '../../src/observability/http-server.ts';
import { runCodecServer, startCodecServer } from '../../src/temporal/codec-server.ts';
import { payloadEncryption } from '../../src/temporal/data-converter.ts';
import { parsePayloadKeys } from '../../src/temporal/payload-keys.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

const UI = 'http://localhost:8233';

const Answer = z.object({
  payloads: z.array(z.object({ metadata: z.record(z.string(), z.string()), data: z.string() })),
});
type InJson = z.infer<typeof Answer>['payloads'][number];

const aCodec = (id = 'a') =>
  payloadEncryption(parsePayloadKeys(`${id} ${randomBytes(32).toString('base64')}`));
const inJson = ({ metadata, data }: Payload): InJson => ({
  metadata: Object.fromEntries(
    Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
  ),
  data: Buffer.from(data ?? []).toString('base64'),
});
const plain = (value: unknown) => inJson(defaultPayloadConverter.toPayload(value));

describe('the codec server', () => {
  let codec: PayloadCodec;
  let server: ListeningServer;
  let log: ReturnType<typeof aRecordingLogger>;

  beforeEach(async () => {
    codec = aCodec();
    log = aRecordingLogger();
    const address = { host: '127.0.0.1', port: 0 };
    server = await startCodecServer({ address, allowOrigins: [UI], codec, log });
  });
  afterEach(() => server.close());

  const ask = (path: string, init: RequestInit = {}) => fetch(server.url + path, { method: 'POST', ...init });
  const encrypted = async (by: PayloadCodec, value: unknown) => {
    const payloads = await by.encode([defaultPayloadConverter.toPayload(value)]);
    return payloads.map(inJson);
  };
  const convert = async (path: string, payloads: readonly object[], headers = {}) => {
    const response = await ask(path, { body: JSON.stringify({ payloads }), headers });
    return Answer.parse(await response.json()).payloads;
  };

  it('decodes what it encodes, under any path', async () => {
    const encoded = await convert('/encode', [plain('from the UI')]);
    expect(encoded).not.toEqual([plain('from the UI')]);
    // The CLI puts the namespace before the path.
    expect(await convert('/default/decode', encoded)).toEqual([plain('from the UI')]);
  });

  it('leaves as it is what no key fits, and decodes the others', async () => {
    const foreign = await encrypted(aCodec('lost'), 'x');
    const payloads = [...(await encrypted(codec, 1)), ...foreign, ...(await encrypted(codec, 2))];
    expect(await convert('/decode', payloads)).toEqual([plain(1), ...foreign, plain(2)]);
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: 'cannot convert a payload: returning it unchanged' }),
    );
  });

  it('leaves as it is what was never encrypted, payloads without data included', async () => {
    expect(await convert('/decode', [plain('x'), { metadata: {} }])).toEqual([
      plain('x'),
      { metadata: {}, data: '' },
    ]);
  });

  it('lets pages of the allowed origin read its answers', async () => {
    const body = JSON.stringify({ payloads: [] });
    const { status, headers } = await ask('/decode', { body, headers: { origin: UI } });
    const seen = [status, headers.get('access-control-allow-origin'), headers.get('vary')];
    expect(seen).toEqual([200, UI, 'Origin']);
  });

  it.each(['http://localhost:8234', 'null', `${UI}.evil.example`])(
    'does nothing for pages of %s',
    async (origin) => {
      const body = JSON.stringify({ payloads: await encrypted(codec, 'the secret') });
      const response = await ask('/decode', { body, headers: { origin } });
      expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([403, null]);
      expect(await response.text()).not.toContain(plain('the secret').data);
      const before = await ask('/decode', { method: 'OPTIONS', headers: { origin } });
      expect([before.status, before.headers.get('access-control-allow-methods')]).toEqual([403, null]);
    },
  );

  it('allows beforehand what the UI will send', async () => {
    const { status, headers } = await ask('/decode', { method: 'OPTIONS', headers: { origin: UI } });
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe(UI);
    expect(headers.get('access-control-allow-methods')).toBe('POST');
    expect(headers.get('access-control-allow-headers')).toBe('content-type, authorization, x-namespace');
    expect(headers.get('access-control-allow-private-network')).toBeNull();
    const fromInternet = { origin: UI, 'access-control-request-private-network': 'true' };
    const response = await ask('/decode', { method: 'OPTIONS', headers: fromInternet });
    expect(response.headers.get('access-control-allow-private-network')).toBe('true');
  });

  it.each(['{', '[]', '{"payloads": [{"data": "%"}]}'])('answers 400 to %s', async (body) => {
    expect((await ask('/decode', { body })).status).toBe(400);
  });

  it('answers 413 to more than 16 MiB', async () => {
    expect((await ask('/decode', { body: 'x'.repeat(16 * 1024 * 1024 + 1) })).status).toBe(413);
  });

  it('answers 404 elsewhere, and 405 to other methods', async () => {
    expect((await ask('/')).status).toBe(404);
    const { status, headers } = await ask('/decode', { method: 'GET' });
    expect([status, headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
  });
});

describe('the command codec-server', () => {
  const run = async (...args: string[]) => {
    const parsed = await parseConfig(durableOperator, ['codec-server', ...args], {});
    if (parsed.kind === 'exit') throw new Error(parsed.output);
    return runCodecServer(parsed.config, aRecordingLogger(), AbortSignal.abort());
  };

  it('wants keys', async () => {
    await expect(run()).rejects.toBeInstanceOf(ConfigurationError);
    await expect(run()).rejects.toThrow('the codec server needs --payload-keys');
  });

  it('wants an address', async () => {
    // Any file that can be read will do: its keys are read after that.
    const file = import.meta.filename;
    await expect(run('--payload-keys', file, '--codec-addr', '0')).rejects.toThrow('set --codec-addr');
  });
});
