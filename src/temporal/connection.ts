import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker';
import { ConfigurationError } from '../contract/configuration-error.ts';
import type { Logger } from '../contract/logger.ts';
import { persistently } from '../persistently.ts';
import { connectionProblem } from './connection-problem.ts';
import { ensureSearchAttributes, SearchAttributesMissing, type RegistrationRequest } from './registration.ts';

interface ConnectRequest extends Omit<RegistrationRequest, 'connection'> {
  readonly options: NativeConnectionOptions;
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
