import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker';
import { ConfigurationError } from '../contract/configuration-error.ts';
import type { Logger } from '../contract/logger.ts';
import { persistently } from '../persistently.ts';
import { connectionProblem } from './connection-problem.ts';
import { ensureSearchAttributes, SearchAttributesMissing } from './registration.ts';

export interface ConnectRequest {
  readonly options: NativeConnectionOptions;
  /** `host:port`, for people. */
  readonly address: string;
  /** The Temporal namespace. */
  readonly namespace: string;
  /** Whether missing search attributes are registered; else they are waited for. */
  readonly registersSearchAttributes: boolean;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Connects to Temporal and makes its namespace ready for our runs, however long it takes; says what it
 * waits for, once for each reason.
 *
 * One connection serves client and worker, so that a start can hand its first task over at once.
 *
 * @throws AbortError where the signal came first; ConfigurationError where waiting cannot help
 */
export async function connectToTemporal(request: ConnectRequest): Promise<NativeConnection> {
  const { address, namespace } = request;
  const connection = await persistently(
    request,
    () => NativeConnection.connect(request.options),
    (message) => {
      const { words, advice, mayPass } = connectionProblem(message);
      const where = `Temporal at ${address} cannot be reached (${words})`;
      if (!mayPass) throw new ConfigurationError(`${where}; ${advice}`);
      return `${where}; retrying; ${advice}`;
    },
  );
  try {
    await persistently(
      request,
      () => ensureSearchAttributes({ ...request, connection }),
      (message, error) =>
        error instanceof SearchAttributesMissing
          ? `namespace "${namespace}" of Temporal at ${address} is not ready: ${message}`
          : `Temporal at ${address} cannot be used with namespace "${namespace}" (${message}); retrying; check TEMPORAL_NAMESPACE`,
    );
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}
