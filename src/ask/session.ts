import type { Client } from '@temporalio/client';
import { defaultOptions } from '../config/config.ts';
import type { ProgramNames } from '../config/options.ts';
import { clusterIn, settingsFrom, type PublishedSettings } from '../config/published.ts';
import { clientConnection, temporalFrom, type TemporalTarget } from '../config/temporal.ts';
import { labelOfCluster, type ClusterIdentity } from '../runs/cluster.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import { createKubernetesClient, type KubernetesClient } from '../kubernetes/client.ts';
import { clusterUid } from '../kubernetes/cluster-uid.ts';
import { loadKubeConfig } from '../kubernetes/config.ts';
import type { Program } from '../program/program.ts';
import { harmless } from './output.ts';
import type { RunReader } from '../temporal/run-reader.ts';
import type { SettingsTexts } from '../temporal/settings-run.ts';
import { temporalProblem } from '../temporal/temporal-problem.ts';
import { VERSION } from '../config/version.ts';

/** The servers and the namespace, as the command line names them. */
export interface SessionOptions extends TemporalOptions {
  readonly namespace?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly credentialsTimeout?: number;
  readonly temporalUiUrl?: string;
}

export interface Session {
  readonly program: Program;
  readonly client: KubernetesClient;
  /** That of `-n`, or of the context. */
  readonly namespace: string;
  /** Connects, once. @throws TemporalProblem */
  temporal(): Promise<TemporalAccess>;
  /** The page of a run in the Temporal UI; undefined if its URL is unknown. */
  linkTo(workflowId: string, runId: string): Promise<string | undefined>;
  close(): Promise<void>;
}

export function openSession(
  options: SessionOptions & { readonly program: Program },
  { env, stderr }: Pick<NodeJS.Process, 'env' | 'stderr'>,
): Session {
  const { program, kubeconfig, context } = options;
  const kubeConfig = loadKubeConfig({ kubeconfig, context, env });
  const client = createKubernetesClient(kubeConfig, {
    ...{ program: program.name, version: VERSION, credentialsTimeoutMs: options.credentialsTimeout },
    // It may say where to log in.
    onPluginOutput: (line) => stderr.write(`${harmless(line)}\n`),
  });
  const target = temporalTarget(env);
  let connecting: Promise<OpenTemporal> | undefined;
  const temporal = () =>
    // A user who may not read the UID has to know which operator is meant.
    (connecting ??= connectTemporal(
      target,
      options,
      clusterUid(client).catch(() => undefined),
    ));
  return {
    ...{ program, client },
    namespace:
      options.namespace ?? kubeConfig.getContextObject(kubeConfig.currentContext)?.namespace ?? 'default',
    temporal,
    async linkTo(workflowId, runId) {
      const access = await temporal().catch(() => undefined);
      const published = access?.settings?.options.temporalUi.url;
      const base = options.temporalUiUrl ?? published ?? localUi(target);
      if (base === undefined) return undefined;
      const [namespace = '', workflow = ''] = [target.namespace, workflowId].map(encodeURIComponent);
      return `${base.replace(/\/+$/, '')}/namespaces/${namespace}/workflows/${workflow}/${runId}`;
    },
    async close() {
      // At once: a connection to Temporal may wait for a plugin of the kubeconfig.
      await Promise.all([client.close(0), connecting?.then((open) => open.close()).catch(() => undefined)]);
    },
  };
}

/** The local stack has its UI there, like Temporal's own development server. */
function localUi({ address }: TemporalTarget): string | undefined {
  return /^(localhost|127\.0\.0\.1|\[::1\]):7233$/.test(address) ? 'http://localhost:8233' : undefined;
}

export interface TemporalOptions {
  /** Default: that of the operator by default, or else of the only operator of the cluster. */
  readonly taskQueue?: string;
  readonly payloadKeys?: string;
}

/** The operator that is asked about, as far as Temporal knows it. */
export interface AskedOperator {
  /** The name of its program. */
  readonly program: string;
  readonly taskQueue: string;
  readonly settings: PublishedSettings | undefined;
  /** The version of an operator whose settings this program cannot read. */
  readonly unreadable: string | undefined;
  /** The task queues of other operators of this cluster. Empty if this one has settings. */
  readonly otherTaskQueues: readonly string[];
  /** The cluster of the task queue, if it is another one. Then its operator's settings do not count. */
  readonly otherCluster: string | undefined;
}

/** A connection to Temporal. Its calls throw TemporalProblem. */
export interface TemporalAccess extends AskedOperator {
  /** Only the runs of this cluster count; undefined: all runs, since their cluster is unknown. */
  readonly cluster: ClusterIdentity | undefined;
  readonly runs: RunReader;
  readonly namespace: string;
  /** Makes one call or several, within a few seconds in all. */
  call<T>(work: (client: Client) => Promise<T>): Promise<T>;
}

export interface OpenTemporal extends TemporalAccess {
  close(): Promise<void>;
}

/** @throws ConfigurationError */
export function temporalTarget(env: NodeJS.ProcessEnv): TemporalTarget {
  const problems: string[] = [];
  const target = temporalFrom(env, (problem) => problems.push(problem));
  const [problem] = problems;
  if (problem !== undefined) throw new ConfigurationError(problem);
  return target;
}

const CALL_TIMEOUT_MS = 5_000;

/**
 * @param ownUid of the cluster that is asked about; undefined if the user may not read it
 * @throws TemporalProblem
 */
export async function connectTemporal(
  { address, namespace, connect }: TemporalTarget,
  { program, payloadKeys, taskQueue }: TemporalOptions & { readonly program: ProgramNames },
  ownUid: Promise<string | undefined>,
): Promise<OpenTemporal> {
  const { Client, Connection } = await import('@temporalio/client');
  const { RunReader } = await import('../temporal/run-reader.ts');
  const { dataConverterFor } = await import('../temporal/data-converter.ts');
  // The reader decodes failures itself, so it needs no failure converter.
  const { payloadCodecs = [] } = await dataConverterFor(payloadKeys);
  const connection = Connection.lazy(clientConnection(connect.connectionOptions));
  const client = new Client({ connection, namespace, dataConverter: { payloadCodecs } });
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
    const found = await call(async () =>
      findOperator(plain, { program, named: taskQueue, ownUid: await ownUid }),
    );
    const runs = new RunReader({ namespace, call }, 'no runs');
    return { ...found, namespace, runs, call, close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Found = AskedOperator & Pick<TemporalAccess, 'cluster'>;

interface Sought {
  readonly program: ProgramNames;
  readonly named: string | undefined;
  readonly ownUid: string | undefined;
}

/** The operator of the named task queue; else of the default one; else the only operator that has published settings. */
async function findOperator(client: Client, { program, named, ownUid }: Sought): Promise<Found> {
  const { allPublishedSettings, publishedSettings } = await import('../temporal/settings-run.ts');
  const taskQueue = named ?? defaultOptions(program).worker.taskQueue;
  const texts = await publishedSettings(client, taskQueue);
  const owner = clusterIn(texts ?? {});
  const isOthers = isOther(owner, ownUid);
  if (texts !== undefined && !isOthers) return foundIn(program, taskQueue, texts);
  const others = [...(await allPublishedSettings(client))].filter(
    ([each, published]) => each !== taskQueue && !isOther(clusterIn(published), ownUid),
  );
  const [only, ...more] = others;
  if (named === undefined && only !== undefined && more.length === 0) return foundIn(program, ...only);
  return {
    ...{ program: program.name, taskQueue, settings: undefined, unreadable: undefined },
    otherTaskQueues: others.map(([each]) => each),
    cluster: isOthers ? { uid: ownUid } : undefined,
    otherCluster: isOthers ? labelOfCluster(owner) : undefined,
  };
}

export function foundIn(program: ProgramNames, taskQueue: string, texts: SettingsTexts): Found {
  const cluster = clusterIn(texts);
  const settings = settingsFrom(program, texts);
  return {
    ...{ program: program.name, taskQueue, settings, otherTaskQueues: [], otherCluster: undefined },
    unreadable: settings === undefined ? (texts['version'] ?? '') : undefined,
    cluster: labelOfCluster(cluster) === undefined ? undefined : cluster,
  };
}

/** Only if both are known: neither the user nor the operator may be allowed to read the UID. */
function isOther({ uid }: ClusterIdentity, ownUid: string | undefined): boolean {
  return uid !== undefined && ownUid !== undefined && uid !== ownUid;
}
