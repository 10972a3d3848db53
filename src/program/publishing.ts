import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { clusterIn, textsToPublish } from '../config/published.ts';
import type { Options } from '../config/config.ts';
import type { ProgramNames } from '../config/options.ts';
import { isOfOtherCluster, labelOfCluster, type ClusterIdentity } from '../runs/cluster.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import type { Logger } from '../api/logger.ts';
import type { LeaseLocation } from '../kubernetes/lease.ts';
import { persistently, type Persistence } from '../temporal/persistently.ts';
import {
  publishedSettings,
  publishSettings,
  settingsRunId,
  type SettingsTexts,
} from '../temporal/settings-run.ts';
import { VERSION } from '../config/version.ts';

/** The operator of one task queue. */
export interface Publishing {
  readonly connection: NativeConnection;
  /** The Temporal namespace. */
  readonly namespace: string;
  readonly taskQueue: string;
  readonly cluster: ClusterIdentity;
  readonly program: ProgramNames;
  readonly config: Options;
  /** Undefined: without leader election. */
  readonly lease: LeaseLocation | undefined;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const CALL_TIMEOUT_MS = 5_000;
const AGAIN_MS = 30_000;
const LOOK_EVERY_MS = 120_000;
/** So many looks in a row have to find nothing. */
const MISSES_MAX = 2;

/**
 * Finds out whether the task queue is free for this cluster.
 *
 * @throws ConfigurationError where it is another one's; AbortError where the signal came first
 */
export async function checkTaskQueue(
  publishing: Omit<Publishing, 'program' | 'config' | 'lease'> & Persistence,
): Promise<void> {
  const { connection, namespace, taskQueue } = publishing;
  const client = new Client({ connection, namespace });
  const published = await persistently(
    publishing,
    () => connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () => publishedSettings(client, taskQueue)),
    (message) => `Temporal cannot be asked whose task queue "${taskQueue}" is (${message}); retrying`,
  );
  refuseOthers(publishing, published);
}

/**
 * Publishes the settings for those who ask about the operator, in the clear: they have no keys. That it fails harms nobody
 * else. Resolves once the signal comes.
 *
 * @throws ConfigurationError where the operator of another cluster was a moment earlier
 */
export async function publishUntilDone(publishing: Publishing): Promise<void> {
  const { connection, namespace, taskQueue, cluster, program, config, lease, log, signal } = publishing;
  const client = new Client({ connection, namespace });
  const texts = textsToPublish(program, config, { version: VERSION, clusterUid: cluster.uid, lease });
  const publish = () =>
    publishSettings(client, { taskQueue, texts, check: (before) => refuseOthers(publishing, before) });
  const withinLimit = <T>(call: () => Promise<T>) =>
    connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, call);
  await keepPublished({
    publish: () => withinLimit(publish),
    isPublished: () => withinLimit(async () => (await publishedSettings(client, taskQueue)) !== undefined),
    wait: (ms) => delay(ms, undefined, { signal }).catch(() => undefined),
    ...{ log, signal },
  });
}

/** What is published, and looked at now and then. */
export interface Published {
  readonly publish: () => Promise<void>;
  readonly isPublished: () => Promise<boolean>;
  /** Resolves after so many milliseconds, or once the signal comes. */
  readonly wait: (ms: number) => Promise<void>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Publishes, and does so again where it is gone: Temporal's data may be lost, or somebody may have ended the run. Two looks
 * have to find nothing, so that what is just being replaced or taken back stays as it is; one that fails finds nothing out.
 *
 * @throws ConfigurationError from `publish`
 */
export async function keepPublished({ publish, isPublished, wait, log, signal }: Published): Promise<void> {
  let misses = MISSES_MAX;
  while (!signal.aborted) {
    try {
      if (misses < MISSES_MAX) misses = (await isPublished()) ? 0 : misses + 1;
      if (misses >= MISSES_MAX) {
        await publish();
        misses = 0;
      }
      await wait(LOOK_EVERY_MS);
    } catch (error) {
      if (error instanceof ConfigurationError) throw error;
      log.debug({ err: error }, 'could not publish the settings; retrying');
      await wait(AGAIN_MS);
    }
  }
}

type Claim = Pick<Publishing, 'cluster' | 'namespace' | 'taskQueue'>;

function refuseOthers({ cluster, namespace, taskQueue }: Claim, published: SettingsTexts = {}): void {
  const owner = clusterIn(published);
  if (!isOfOtherCluster(owner, cluster)) return;
  const own = labelOfCluster(cluster);
  const here =
    own === undefined
      ? 'and which one this is cannot be told; set --cluster-name, or another --task-queue'
      : `and this is cluster ${own}; set another --task-queue`;
  throw new ConfigurationError(
    `task queue "${taskQueue}" of Temporal namespace "${namespace}" belongs to cluster ${labelOfCluster(owner) ?? ''}, ${here}. If that cluster is gone, terminate the workflow ${settingsRunId(taskQueue)}`,
  );
}
