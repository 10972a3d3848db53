import { setTimeout as delay } from 'node:timers/promises';
import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker';
import { ConfigurationError } from '../contract/configuration-error.ts';
import type { Logger } from '../contract/logger.ts';
import { connectionProblem } from './connection-problem.ts';
import { registerSearchAttributes } from './search-attributes.ts';

export interface ConnectRequest {
  readonly options: NativeConnectionOptions;
  /** `host:port`, for people. */
  readonly address: string;
  /** The Temporal namespace. */
  readonly namespace: string;
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
  await persistently(
    request,
    () => registerSearchAttributes(connection, namespace),
    (message) =>
      `Temporal at ${address} cannot be used with namespace "${namespace}" (${message}); retrying; check TEMPORAL_NAMESPACE`,
  );
  return connection;
}

const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 10_000;

async function persistently<T>(
  { log, signal }: ConnectRequest,
  attempt: () => Promise<T>,
  problem: (message: string) => string,
): Promise<T> {
  let said = '';
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MOST_WAIT_MS)) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      const words = problem(firstLine(error));
      if (words !== said) log.warn({}, words);
      said = words;
      await delay(waitMs, undefined, { signal });
    }
  }
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n')[0] ?? '';
}
