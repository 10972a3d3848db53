import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { textsToPublish } from './config/published.ts';
import type { Options } from './config/config.ts';
import type { Logger } from './contract/logger.ts';
import { publishSettings } from './temporal/settings-run.ts';
import { VERSION } from './version.ts';

export interface Publishing {
  readonly connection: NativeConnection;
  /** The Temporal namespace. */
  readonly namespace: string;
  readonly taskQueue: string;
  readonly config: Options;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const CALL_TIMEOUT_MS = 5_000;
const AGAIN_MS = 30_000;

/**
 * Publishes the settings for those who ask about the operator, in the clear: they have no keys. That it fails harms nobody
 * else. Never throws.
 */
export async function publishUntilDone(publishing: Publishing): Promise<void> {
  const { connection, namespace, taskQueue, config, log, signal } = publishing;
  const client = new Client({ connection, namespace });
  while (!signal.aborted) {
    try {
      await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
        publishSettings(client, taskQueue, textsToPublish(config, VERSION)),
      );
      return;
    } catch (error) {
      log.debug({ err: error }, 'could not publish the settings; retrying');
      await delay(AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
