import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { defaultOptions } from '../../config/config.ts';
import { settingsFrom, type PublishedSettings } from '../../config/published.ts';
import { temporalFrom, type TemporalTarget } from '../../config/temporal.ts';
import { ConfigurationError } from '../../contract/configuration-error.ts';
import { createKubernetesClient, type KubernetesClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { VERSION } from '../../version.ts';
import { temporalProblem } from './temporal-problem.ts';

/** Where to ask, as the command line says it. */
export interface SessionOptions {
  readonly namespace?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Undefined: the default one, or that of the only operator. */
  readonly taskQueue?: string;
  /** A file. */
  readonly payloadKeys?: string;
  readonly temporalUiUrl?: string;
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

/** Where one command asks. */
export interface Session {
  /** Asks with the user's own rights. */
  readonly client: KubernetesClient;
  /** That of `-n`, or of the context. */
  readonly namespace: string;
  /** Connects, once. @throws TemporalProblem where it cannot be reached or refuses */
  temporal(): Promise<TemporalAccess>;
  /** The page of a run in the Temporal UI; undefined where nobody has said where that is. */
  linkTo(workflowId: string, runId: string): Promise<string | undefined>;
  close(): Promise<void>;
}

/** @throws ConfigurationError */
export function openSession(options: SessionOptions, env: NodeJS.ProcessEnv): Session {
  const { kubeconfig, context } = options;
  const kubeConfig = loadKubeConfig({ kubeconfig, context, env });
  const client = createKubernetesClient(kubeConfig, { version: VERSION });
  const target = temporalTarget(env);
  let connecting: Promise<OpenTemporal> | undefined;
  const temporal = () => (connecting ??= connect(target, options));
  return {
    client,
    namespace:
      options.namespace ?? kubeConfig.getContextObject(kubeConfig.currentContext)?.namespace ?? 'default',
    temporal,
    linkTo: async (workflowId, runId) => {
      const published = await temporal().then(
        ({ settings }) => settings?.options.temporalUi.url,
        () => undefined,
      );
      const base = options.temporalUiUrl ?? published ?? localUi(target);
      return base && linkTo(base, { namespace: target.namespace, workflowId, runId });
    },
    async close() {
      const open = await connecting?.catch(() => undefined);
      await Promise.all([client.close(0), open?.close()]);
    },
  };
}

function temporalTarget(env: NodeJS.ProcessEnv): TemporalTarget {
  const problems: string[] = [];
  const target = temporalFrom(env, (problem) => problems.push(problem));
  const [problem] = problems;
  if (problem !== undefined) throw new ConfigurationError(problem);
  return target;
}

interface OpenTemporal extends TemporalAccess {
  close(): Promise<void>;
}

/** Of one command, all that Temporal takes. */
const CALL_TIMEOUT_MS = 5_000;

/** @throws TemporalProblem */
async function connect(target: TemporalTarget, options: SessionOptions): Promise<OpenTemporal> {
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

async function dataConverterFrom({ payloadKeys }: SessionOptions): Promise<DataConverter> {
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

/** The local stack has its UI there, as Temporal's own development server has. */
function localUi({ address }: TemporalTarget): string | undefined {
  return /^(localhost|127\.0\.0\.1|\[::1\]):7233$/.test(address) ? 'http://localhost:8233' : undefined;
}

interface RunPlace {
  readonly namespace: string;
  readonly workflowId: string;
  readonly runId: string;
}

export function linkTo(base: string, { namespace, workflowId, runId }: RunPlace): string {
  const [inNamespace, ofWorkflow] = [namespace, workflowId].map(encodeURIComponent);
  return `${base.replace(/\/+$/, '')}/namespaces/${inNamespace ?? ''}/workflows/${ofWorkflow ?? ''}/${runId}`;
}
