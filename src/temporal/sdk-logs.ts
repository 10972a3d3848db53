import type { LogLevel, LogMetadata, Logger as SdkLogger } from '@temporalio/common';
import type { Logger } from '../api/logger.ts';

/** The SDK's native library logs this dozens of times a minute while Temporal is away. */
const RETRIED = /^gRPC call \w+ retried \d+ times$/;
const ONCE_EVERY_MS = 60_000;

/**
 * Passes the SDK's log on to ours. Repeated messages have level debug, except once a minute.
 *
 * @param nowMs monotonic
 */
export function sdkLogger(log: Logger, nowMs = () => performance.now()): SdkLogger {
  let quietUntilMs = -Infinity;

  function isRepeated(message: string): boolean {
    if (!RETRIED.test(message)) return false;
    if (nowMs() < quietUntilMs) return true;
    quietUntilMs = nowMs() + ONCE_EVERY_MS;
    return false;
  }

  const write = (level: LogLevel, message: string, fields?: LogMetadata) =>
    log[isRepeated(message) ? 'debug' : ourLevel(level)](loggable(fields ?? {}), message);
  const at = (level: LogLevel) => (message: string, fields?: LogMetadata) => write(level, message, fields);
  return {
    log: write,
    trace: at('TRACE'),
    debug: at('DEBUG'),
    info: at('INFO'),
    warn: at('WARN'),
    error: at('ERROR'),
  };
}

/** Messages of the SDK below a warning are for its developers. */
function ourLevel(level: LogLevel): 'debug' | 'warn' | 'error' {
  if (level === 'ERROR') return 'error';
  return level === 'WARN' ? 'warn' : 'debug';
}

/** JSON has no big integers, and our log shows an error only where it is named `err`. */
function loggable(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => {
      if (key === 'error' && value instanceof Error) return ['err', value];
      return [key, typeof value === 'bigint' ? value.toString() : (value as unknown)];
    }),
  );
}
