/** A method of a {@link Logger}, as pino has them. */
export interface LogMethod {
  /** @param message a sentence for people */
  (message: string): void;
  /** @param fields of the line, in JSON: `{ url }`, `{ err }` */
  (fields: object, message?: string): void;
}

/**
 * A part of pino. The `log` of `observe` and `run` names the resource, the step, the attempt and the run in each line. What looks like a
 * credential is not written.
 *
 * @example
 * log.info({ url }, 'the store has made the bucket');
 */
export interface Logger {
  readonly debug: LogMethod;
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
  /** @param bindings fields of each of its lines */
  child(bindings: object): Logger;
}

const nothing = () => undefined;

/** It writes nothing. */
export const SILENT_LOGGER: Logger = {
  ...{ debug: nothing, info: nothing, warn: nothing, error: nothing },
  child: () => SILENT_LOGGER,
};
