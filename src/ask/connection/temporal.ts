import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { defaultOptions } from '../../config/config.ts';
import { settingsFrom, type PublishedSettings } from '../../config/published.ts';
import { temporalFrom, type TemporalTarget } from '../../config/temporal.ts';
import { ConfigurationError } from '../../contract/configuration-error.ts';
import { temporalProblem } from './temporal-problem.ts';

export interface TemporalOptions {
  /** Undefined: the default one, or that of the only operator. */
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
  /** Other task queues whose operators have published settings; only where this one's has not. */
  readonly otherTaskQueues: readonly string[];
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

/** @throws TemporalProblem */
export async function connectTemporal(
  target: TemporalTarget,
  options: TemporalOptions,
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
    const found = await call(() => findSettings(plain, options.taskQueue));
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

type Found = Pick<TemporalAccess, 'taskQueue' | 'settings' | 'otherTaskQueues'>;

/** Of the task queue that is named; else of the default one; else of the only one whose operator has published any. */
async function findSettings(client: Client, named: string | undefined): Promise<Found> {
  const { publishedSettings, publishingTaskQueues } = await import('../../temporal/settings-run.ts');
  const settingsOf = async (taskQueue: string): Promise<PublishedSettings | undefined> => {
    const texts = await publishedSettings(client, taskQueue);
    return texts && settingsFrom(texts);
  };
  const taskQueue = named ?? defaultOptions().worker.taskQueue;
  const settings = await settingsOf(taskQueue);
  if (settings !== undefined) return { taskQueue, settings, otherTaskQueues: [] };
  const otherTaskQueues = (await publishingTaskQueues(client)).filter((each) => each !== taskQueue);
  const [only, ...more] = otherTaskQueues;
  if (named !== undefined || only === undefined || more.length > 0)
    return { taskQueue, settings, otherTaskQueues };
  return { taskQueue: only, settings: await settingsOf(only), otherTaskQueues: [] };
}
