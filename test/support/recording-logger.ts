import type { Logger } from '../../src/api/logger.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: object;
}

/** A logger whose lines can be read. */
export function aRecordingLogger(): Logger & { readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at =
    (level: LogLine['level']) =>
    (fields: object | string, message = '') => {
      lines.push(
        typeof fields === 'string' ? { level, message: fields, fields: {} } : { level, message, fields },
      );
    };
  const logger = {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => logger,
  };
  return logger;
}
