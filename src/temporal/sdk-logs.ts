import type { LogLevel, LogMetadata, Logger as SdkLogger } from '@temporalio/common';
import type { Logger } from '../contract/logger.ts';

/** What the SDK's native library says each time it calls again: dozens of lines a minute while Temporal is away. */
const RETRIED = /^gRPC call \w+ retried \d+ times$/;
const ONCE_EVERY_MS = 60_000;

/**
 * The log of the SDK and of its native library, which is ours: what repeats is at level debug, but once a minute.
 *
 * @param nowMs on a clock that nobody sets
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
    log[isRepeated(message) ? 'debug' : ourLevel(level)](withoutBigInts(fields ?? {}), message);
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

/** What the SDK finds worth telling below a warning is of no interest to an operator's reader. */
function ourLevel(level: LogLevel): 'debug' | 'warn' | 'error' {
  if (level === 'ERROR') return 'error';
  return level === 'WARN' ? 'warn' : 'debug';
}

function withoutBigInts(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      typeof value === 'bigint' ? value.toString() : (value as unknown),
    ]),
  );
}
