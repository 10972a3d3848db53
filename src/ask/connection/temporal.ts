import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { defaultOptions } from '../../config/config.ts';
import { clusterIn, settingsFrom, type PublishedSettings } from '../../config/published.ts';
import { temporalFrom, type TemporalTarget } from '../../config/temporal.ts';
import { labelOfCluster, type Cluster } from '../../contract/cluster.ts';
import { ConfigurationError } from '../../contract/configuration-error.ts';
import type { SettingsTexts } from '../../temporal/settings-run.ts';
import { temporalProblem } from './temporal-problem.ts';

export interface TemporalOptions {
  /** Undefined: the default one, or that of the only operator of the cluster. */
  readonly taskQueue?: string;
  /** A file. */
  readonly payloadKeys?: string;
}

/** A connection to Temporal, with what there is to know of it. */
export interface TemporalAccess {
  /** Decrypts, where keys are given. */
  readonly client: Client;
  /** `host:port` */
  readonly address: string;
  /** The Temporal namespace. */
  readonly namespace: string;
  /** Of the operator. */
  readonly taskQueue: string;
  /** What its operator has published. */
  readonly settings: PublishedSettings | undefined;
  /** The version of its operator, where that has published what this program cannot read: then there are no settings. */
  readonly unreadable: string | undefined;
  /** Other task queues whose operators have published settings, none of another cluster's; only where this one's has not. */
  readonly otherTaskQueues: readonly string[];
  /** Whose runs count; undefined: everybody's, since nothing says whose they are. */
  readonly cluster: Cluster | undefined;
  /** Whose the task queue is, where it is another cluster's: then its operator's settings do not count. */
  readonly otherCluster: string | undefined;
  /** Makes one call, or several, within a few seconds in all. @throws TemporalProblem */
  call<T>(work: (client: Client) => Promise<T>): Promise<T>;
}

/** @throws ConfigurationError */
export function temporalTarget(env: NodeJS.ProcessEnv): TemporalTarget {
  const problems: string[] = [];
  const target = temporalFrom(env, (problem) => problems.push(problem));
  const [problem] = problems;
  if (problem !== undefined) throw new ConfigurationError(problem);
  return target;
}

export interface OpenTemporal extends TemporalAccess {
  close(): Promise<void>;
}

/** Of one command, all that Temporal takes. */
const CALL_TIMEOUT_MS = 5_000;

/**
 * @param ownUid of the cluster that is asked about; undefined where whoever asks may not read it
 * @throws TemporalProblem
 */
export async function connectTemporal(
  target: TemporalTarget,
  options: TemporalOptions,
  ownUid: Promise<string | undefined>,
): Promise<OpenTemporal> {
  const { Client, Connection } = await import('@temporalio/client');
  const { address, namespace } = target;
  const dataConverter = await dataConverterFrom(options);
  const connection = Connection.lazy(target.connect.connectionOptions);
  const client = new Client({ connection, namespace, dataConverter });
  const call = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    try {
      return await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () => work(client));
    } catch (error) {
      throw temporalProblem(error, address);
    }
  };
  const close = () => connection.close();
  try {
    const plain = new Client({ connection, namespace });
    const found = await call(async () => findSettings(plain, options.taskQueue, await ownUid));
    return { client, address, namespace, call, close, ...found };
  } catch (error) {
    await close();
    throw error;
  }
}

async function dataConverterFrom({ payloadKeys }: TemporalOptions): Promise<DataConverter> {
  if (payloadKeys === undefined) return {};
  const { dataConverterFor } = await import('../../temporal/data-converter.ts');
  return dataConverterFor(payloadKeys);
}

type Found = Pick<
  TemporalAccess,
  'taskQueue' | 'settings' | 'unreadable' | 'otherTaskQueues' | 'cluster' | 'otherCluster'
>;

/** Of the task queue that is named; else of the default one; else of the only one whose operator has published any. */
async function findSettings(
  client: Client,
  named: string | undefined,
  ownUid: string | undefined,
): Promise<Found> {
  const { allPublishedSettings, publishedSettings } = await import('../../temporal/settings-run.ts');
  const taskQueue = named ?? defaultOptions().worker.taskQueue;
  const texts = await publishedSettings(client, taskQueue);
  const owner = clusterIn(texts ?? {});
  const isOthers = isOther(owner, ownUid);
  if (texts !== undefined && !isOthers) return foundIn(taskQueue, texts);
  const others = [...(await allPublishedSettings(client))].filter(
    ([each, published]) => each !== taskQueue && !isOther(clusterIn(published), ownUid),
  );
  const [only, ...more] = others;
  if (named === undefined && only !== undefined && more.length === 0) return foundIn(...only);
  return {
    ...{ taskQueue, settings: undefined, unreadable: undefined },
    otherTaskQueues: others.map(([each]) => each),
    cluster: isOthers ? { uid: ownUid } : undefined,
    otherCluster: isOthers ? labelOfCluster(owner) : undefined,
  };
}

export function foundIn(taskQueue: string, texts: SettingsTexts): Found {
  const cluster = clusterIn(texts);
  const isKnown = labelOfCluster(cluster) !== undefined;
  const settings = settingsFrom(texts);
  const unreadable = settings === undefined ? (texts['version'] ?? '') : undefined;
  const others = { otherTaskQueues: [], otherCluster: undefined };
  return { taskQueue, settings, unreadable, cluster: isKnown ? cluster : undefined, ...others };
}

/** Only where both are known: who asks may not be allowed to read it, and an operator either. */
function isOther({ uid }: Cluster, ownUid: string | undefined): boolean {
  return uid !== undefined && ownUid !== undefined && uid !== ownUid;
}
