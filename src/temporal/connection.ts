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
  /** Whether to register missing search attributes, or else to wait for them. */
  readonly registersSearchAttributes: boolean;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Connects to Temporal and makes its namespace ready for our runs, however long it takes. Logs each reason to wait once.
 * Client and worker share the connection, so that Temporal can answer a start with the first task.
 *
 * @throws AbortError if the signal comes first; ConfigurationError if waiting cannot help
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
