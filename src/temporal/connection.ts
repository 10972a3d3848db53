import { setTimeout as delay } from 'node:timers/promises';
import { NativeConnection } from '@temporalio/worker';
import type { NativeConnectionOptions } from '@temporalio/worker';
import type { Logger } from '../contract/logger.ts';

export interface ConnectRequest {
  readonly options: NativeConnectionOptions;
  /** `host:port`, for people. */
  readonly address: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 10_000;

/**
 * Connects to Temporal, however long it takes; says once that it waits.
 *
 * One connection serves client and worker, so that a start can hand its first task over at once.
 *
 * @throws AbortError where the signal came first
 */
export async function connectToTemporal(request: ConnectRequest): Promise<NativeConnection> {
  const { address, log, signal } = request;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MOST_WAIT_MS)) {
    signal.throwIfAborted();
    try {
      return await NativeConnection.connect(request.options);
    } catch (error) {
      if (waitMs === FIRST_WAIT_MS) log.warn({}, waitingFor(address, error));
      await delay(waitMs, undefined, { signal });
    }
  }
}

function waitingFor(address: string, error: unknown): string {
  const words = error instanceof Error ? error.message.split('\n')[0] : String(error);
  return `Temporal at ${address} cannot be reached (${words ?? ''}): waiting for it; set TEMPORAL_ADDRESS if it is elsewhere`;
}
