import { destination as toFile, pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import pinoPretty from 'pino-pretty';

export type LogFormat = 'auto' | 'json' | 'pretty';

export interface LoggerOptions {
  /** One of pino's levels, or `silent`. */
  readonly level: string;
  /** `auto` is `pretty` on a terminal and `json` elsewhere. */
  readonly format: LogFormat;
  /** Where the lines go. Default: stdout. */
  readonly destination?: DestinationStream & { readonly isTTY?: boolean };
}

/**
 * The program's logger: one line an event, ISO time, level as a word, errors as class and message (the
 * stack only where debug is logged). Nothing that looks like a credential leaves it.
 */
export function createLogger(options: LoggerOptions): Logger {
  const withStack = options.level === 'debug' || options.level === 'trace';
  return pino(
    {
      level: options.level,
      // The process and host are known to whoever collects the lines.
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      serializers: { err: (err: unknown) => describeError(err, withStack) },
      hooks: { streamWrite: withoutCredentials },
    },
    streamFor(options),
  );
}

/** Synchronous in every format: a line that was logged before a crash is there after it. */
function streamFor({ format, destination }: LoggerOptions): DestinationStream {
  const onTerminal = destination === undefined ? process.stdout.isTTY : destination.isTTY === true;
  const pretty = format === 'pretty' || (format === 'auto' && onTerminal);
  const lines = destination ?? toFile({ dest: 1, sync: true });
  return pretty ? prettified(lines, onTerminal) : lines;
}

function prettified(lines: DestinationStream, onTerminal: boolean): DestinationStream {
  const prettify = pinoPretty.prettyFactory({
    colorize: onTerminal && pinoPretty.isColorSupported,
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
  });
  return { write: (line) => lines.write(prettify(line)) };
}

interface DescribedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string | number;
  readonly stack?: string;
  readonly cause?: DescribedError;
}

/** Errors nest without end only by mistake. */
const DEEPEST_CAUSE = 5;

function describeError(err: unknown, withStack: boolean, depth = 0): DescribedError {
  if (!(err instanceof Error)) return { type: typeof err, message: String(err) };
  const code = codeOf(err);
  return {
    type: err.constructor.name === 'Error' ? err.name : err.constructor.name,
    message: err.message,
    ...(code === undefined ? {} : { code }),
    ...(withStack && err.stack !== undefined ? { stack: err.stack } : {}),
    // A bare `fetch failed` says nothing; what it was caused by does.
    ...(err.cause === undefined || depth === DEEPEST_CAUSE
      ? {}
      : { cause: describeError(err.cause, withStack, depth + 1) }),
  };
}

function codeOf(err: Error): string | number | undefined {
  const code: unknown = 'code' in err ? err.code : undefined;
  return typeof code === 'string' || typeof code === 'number' ? code : undefined;
}

const REDACTED = '[redacted]';

const CREDENTIAL_NAME =
  '(?:authorization|token|password|passwd|secret|api[-_]?key|private[-_]?key|cookie|credentials?)';

/** A field whose name ends like a credential's, with a string as its value. */
const CREDENTIAL_FIELD = new RegExp(`("[\\w.-]*${CREDENTIAL_NAME}":")(?:[^"\\\\]|\\\\.)*`, 'gi');

/** The same in JSON that is itself the text of a field, such as the body of an answer in an error's message. */
const QUOTED_CREDENTIAL_FIELD = new RegExp(
  `(\\\\+"[\\w.-]*${CREDENTIAL_NAME}\\\\+"\\s*:\\s*(\\\\+"))(?:(?<=\\\\)"|[^"])*?(?<!\\\\)\\2`,
  'gi',
);

const URL_USER_INFO = /(\b[a-z][a-z0-9+.-]{0,15}:\/\/)[^\s/?#"'<>@]+@/gi;

const URL_PARAMETER = /([?&][\w.-]*(?:token|password|secret|signature|sig|api[-_]?key)=)[^&#\s"'\\]+/gi;

/** A lower-case word after `Basic` is prose. */
const AUTHORIZATION_VALUE = /\b([Bb]earer|[Bb]asic)\s+(?=[\w.~+/-]*[\dA-Z=])[\w.~+/=-]{4,}/g;

/**
 * Works on the finished line, so that it sees every field at every depth, messages of errors included.
 */
function withoutCredentials(line: string): string {
  return line
    .replaceAll(AUTHORIZATION_VALUE, `$1 ${REDACTED}`)
    .replaceAll(CREDENTIAL_FIELD, `$1${REDACTED}`)
    .replaceAll(QUOTED_CREDENTIAL_FIELD, `$1${REDACTED}$2`)
    .replaceAll(URL_USER_INFO, `$1${REDACTED}@`)
    .replaceAll(URL_PARAMETER, `$1${REDACTED}`);
}
