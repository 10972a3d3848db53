import { describe, expect, it } from '@jest/globals';
import type { Logger } from '../../src/api/logger.ts';
import { createLogger, type LogFormat } from '../../src/observability/logging.ts';

function aLogger({
  level = 'info',
  format = 'json',
  isTTY = false,
}: {
  level?: string;
  format?: LogFormat;
  isTTY?: boolean;
}) {
  const lines: string[] = [];
  const destination = { isTTY, write: (line: string) => lines.push(line) };
  const log: Logger = createLogger({ level, format, destination });
  return { log, lines };
}

function logged(write: (log: Logger) => void, level?: string): Record<string, unknown> {
  const { log, lines } = aLogger(level === undefined ? {} : { level });
  write(log);
  expect(lines).toHaveLength(1);
  const line: unknown = JSON.parse(lines.join(''));
  return { ...(line as object) };
}

describe('a line', () => {
  it('has an ISO time, the level as a word, the fields and the sentence, and nothing else', () => {
    const line = logged((log) => log.warn({ namespace: 'default' }, 'something is odd'));
    expect(line).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      namespace: 'default',
      msg: 'something is odd',
    });
  });

  it('of a child carries the bindings of the child', () => {
    const line = logged((log) => log.child({ controller: 'pod-label' }).info({}, 'done'));
    expect(line).toMatchObject({ controller: 'pod-label', msg: 'done' });
  });

  it('below the level is not written', () => {
    const { log, lines } = aLogger({ level: 'warn' });
    log.info({}, 'no');
    log.error({}, 'yes');
    expect(lines.map((line) => line.includes('yes'))).toEqual([true]);
  });
});

class PodsUnreachable extends Error {}

describe('an error', () => {
  const failure = new PodsUnreachable('cannot list pods', {
    cause: Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:6443'), { code: 'ECONNREFUSED' }),
  });

  it('is logged as class and message, with what caused it, without a stack', () => {
    expect(logged((log) => log.error({ err: failure }, 'failed'))['err']).toEqual({
      type: 'PodsUnreachable',
      message: 'cannot list pods',
      cause: { type: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:6443', code: 'ECONNREFUSED' },
    });
  });

  it.each(['debug', 'trace'])('is logged with its stack at level %s', (level) => {
    expect(logged((log) => log.error({ err: failure }, 'failed'), level)['err']).toMatchObject({
      stack: expect.stringContaining('logging.test'),
    });
  });

  it('that is its own cause ends', () => {
    const endless = new Error('round');
    endless.cause = endless;
    expect(logged((log) => log.error({ err: endless }, 'failed'))['err']).toMatchObject({ message: 'round' });
  });

  it('that is no Error is logged as what it is', () => {
    expect(logged((log) => log.error({ err: 'thrown text' }, 'failed'))['err']).toEqual({
      type: 'string',
      message: 'thrown text',
    });
  });
});

describe('a credential never reaches the log', () => {
  const SECRET = 's3cr3t-Value.0';

  it.each<[where: string, write: (log: Logger) => void]>([
    ['a field', (log) => log.info({ token: SECRET }, 'm')],
    ['a field with quotes in it', (log) => log.info({ password: `"${SECRET}" \\"${SECRET}` }, 'm')],
    ['a field at some depth', (log) => log.info({ request: { headers: [{ Authorization: SECRET }] } }, 'm')],
    [
      'a field of a longer name',
      (log) => log.info({ bearerToken: SECRET, 'x-api-key': SECRET, apiKey: SECRET }, 'm'),
    ],
    ['a binding of a child', (log) => log.child({ clientSecret: SECRET }).info({}, 'm')],
    ['a list of headers', (log) => log.info({ headers: ['authorization', `Bearer ${SECRET}`] }, 'm')],
    ["a URL's parameter", (log) => log.info({}, `GET https://host/x?a=b&token=${SECRET}&c=d`)],
    ["a URL's first parameter", (log) => log.info({ url: `https://host/x?access_token=${SECRET}` }, 'm')],
    ["a URL's user", (log) => log.info({ gitUrl: `https://user:${SECRET}@host/x.git` }, 'm')],
    ["a URL's user without a name", (log) => log.info({}, `cannot clone https://${SECRET}@host/x.git`)],
    ["an error's message", (log) => log.error({ err: new Error(`401 for Bearer ${SECRET}`) }, 'm')],
    ['JSON in a message', (log) => log.info({}, JSON.stringify({ a: 1, password: `${SECRET}"${SECRET}` }))],
    ['JSON with spaces in a message', (log) => log.info({}, JSON.stringify({ token: SECRET }, null, 2))],
  ])('in %s', (_where, write) => {
    const text = JSON.stringify(logged(write));
    expect(text).not.toContain(SECRET);
    expect(text).toContain('[redacted]');
  });

  it('in the stack or the cause of an error at level debug', () => {
    const err = new Error('failed', { cause: new Error(`https://u:${SECRET}@host/`) });
    const text = JSON.stringify(logged((log) => log.error({ err }, 'm'), 'debug'));
    expect(text).not.toContain(SECRET);
  });

  it('in the pretty format', () => {
    const { log, lines } = aLogger({ format: 'pretty' });
    log.info({ token: SECRET }, `https://u:${SECRET}@host/`);
    expect(lines.join('')).toContain('[redacted]');
    expect(lines.join('')).not.toContain(SECRET);
  });

  it('and what stands beside it is kept', () => {
    const line = logged((log) =>
      log.info(
        { token: SECRET, name: 'web', secretName: 'kept', n: 1 },
        `https://u:p@host/x?token=${SECRET}&b=c done`,
      ),
    );
    expect(line).toMatchObject({
      token: '[redacted]',
      name: 'web',
      secretName: 'kept',
      n: 1,
      msg: 'https://[redacted]@host/x?token=[redacted]&b=c done',
    });
  });

  it.each([
    'git@github.com:owner/name.git',
    'https://host/path@v1?x=1',
    'token of 3 parts',
    'Basic authentication is off',
  ])('and %j, which holds none, is left as it is', (message) => {
    expect(logged((log) => log.info({}, message))['msg']).toBe(message);
  });
});

describe('the format', () => {
  const isJson = (lines: string[]) => lines.join('').startsWith('{');

  it.each<[LogFormat, onTerminal: boolean, json: boolean]>([
    ['json', true, true],
    ['pretty', false, false],
    ['auto', true, false],
    ['auto', false, true],
  ])('%s on a terminal (%s) is JSON: %s', (format, isTTY, json) => {
    const { log, lines } = aLogger({ format, isTTY });
    log.info({ name: 'web' }, 'converged');
    expect(lines.join('')).toContain('converged');
    expect(lines.join('')).toContain('web');
    expect(isJson(lines)).toBe(json);
  });
});
