import { Client, WorkflowNotFoundError, type WorkflowExecutionInfo } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, type DataConverter } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import type { Cluster } from '../contract/cluster.ts';
import { displayName, workflowIdFor, type ResourceRef } from '../contract/resource.ts';
import type { RunInput } from '../contract/run.ts';
import { isEqual } from '../contract/search-attributes.ts';
import { GRPC, grpcStatusOf } from './grpc-status.ts';
import { openFilter, startOptionsFor, unavailableOr } from './runs.ts';
import { refOf } from './search-attributes.ts';

/** All workers of the same code. Temporal's words: a Worker Deployment has versions, each with a build id. */
export interface WorkerVersion {
  readonly deploymentName: string;
  readonly buildId: string;
}

/** `durable-operator:1.2.0`, as Temporal itself writes it in search attributes. */
export function nameOf({ deploymentName, buildId }: WorkerVersion): string {
  return `${deploymentName}:${buildId}`;
}

/** How Temporal hands new runs to the versions of a deployment. */
export interface Routing {
  /** The build id that gets them; undefined: workers without a version do. */
  readonly current: string | undefined;
  /** All build ids whose workers Temporal has heard of, the latest first. */
  readonly buildIds: readonly string[];
  /** Of who changed it last; empty: nobody has. */
  readonly changedBy: string;
  /** Another one, once somebody has changed it. */
  readonly token: Uint8Array;
}

/** An open run that stays with the version that began it. */
export interface PinnedRun {
  readonly ref: ResourceRef;
  readonly runId: string;
  /** As `nameOf` names it. */
  readonly version: string;
}

export interface Refusal {
  /** Temporal's own words. */
  readonly refused: string;
}

/** What Temporal knows of a deployment's versions. All of it throws RunsUnavailable where waiting helps. */
export interface WorkerVersions {
  /**
   * Undefined where no worker of the deployment was ever there, and for a moment after each change: Temporal's own
   * workflow of the deployment then continues as new, and cannot be queried.
   */
  routing(): Promise<Routing | undefined>;
  /** The build ids whose workers have asked the task queue for all kinds of work in the last five minutes. */
  served(): Promise<ReadonlySet<string>>;
  /**
   * Whether Temporal has registered the task queue for the version, for workflows and for activities. It does so a
   * little after the version's workers first ask for work. Until then, tasks go to workers without a version, even
   * where the version is current.
   */
  isRegistered(buildId: string): Promise<boolean>;
  /** From now on new runs go to this version; refused where the routing was changed since it was read. */
  makeCurrent(buildId: string, since: Routing): Promise<'current' | Refusal>;
  /** The open runs of the task queue that are pinned to any other version, as of up to a few seconds ago. */
  openOnOthers(buildId: string): Promise<readonly PinnedRun[]>;
  /**
   * Ends a run, and starts the next one of its resource in the same call: that one reads first, so that it
   * needs nothing of what the one before knew.
   */
  startAfresh(run: PinnedRun, reason: string): Promise<'started' | 'had ended'>;
}

export interface VersionsOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly deploymentName: string;
  /** Asked for the cluster of the runs that are started anew. Default: nobody knows which it is. */
  readonly cluster?: () => Promise<Cluster>;
  /** Undefined: Temporal's own. */
  readonly dataConverter?: DataConverter;
}

const CALL_TIMEOUT_MS = 10_000;
const LIST_TIMEOUT_MS = 30_000;

/** Whom Temporal names as the one who changed the routing. */
const IDENTITY = 'durable-operator promote';

/** The versions of one deployment, on a Temporal server. */
export function workerVersions(options: VersionsOptions): WorkerVersions {
  const { connection, namespace, taskQueue, deploymentName, dataConverter = {} } = options;
  const client = new Client({ connection, namespace, dataConverter });
  const within = <T>(timeoutMs: number, call: () => Promise<T>) =>
    connection.withDeadline(Date.now() + timeoutMs, call).catch((error: unknown) => {
      throw unavailableOr(error);
    });

  return {
    async routing() {
      const { workflowService } = connection;
      const described = await within(CALL_TIMEOUT_MS, () =>
        unlessNotFound(workflowService.describeWorkerDeployment({ namespace, deploymentName })),
      );
      const info = described?.workerDeploymentInfo;
      if (!described || !info) return undefined;
      return {
        current: info.routingConfig?.currentDeploymentVersion?.buildId ?? undefined,
        buildIds: (info.versionSummaries ?? []).map((each) => each.deploymentVersion?.buildId ?? ''),
        changedBy: info.lastModifierIdentity ?? '',
        token: described.conflictToken,
      };
    },

    async served() {
      const [forWorkflows, forActivities] = await within(CALL_TIMEOUT_MS, () =>
        Promise.all([askers(options, TASK_KIND.workflow), askers(options, TASK_KIND.activity)]),
      );
      return new Set(forWorkflows.filter((buildId) => forActivities.includes(buildId)));
    },

    async isRegistered(buildId) {
      const request = { namespace, deploymentVersion: { deploymentName, buildId } };
      const described = await within(CALL_TIMEOUT_MS, () =>
        unlessNotFound(connection.workflowService.describeWorkerDeploymentVersion(request)),
      );
      const queues = (described?.versionTaskQueues ?? []).filter(({ name }) => name === taskQueue);
      return Object.values(TASK_KIND).every((kind) => queues.some(({ type }) => Number(type) === kind));
    },

    async makeCurrent(buildId, { token }) {
      const request = { namespace, deploymentName, buildId, conflictToken: token, identity: IDENTITY };
      try {
        await within(CALL_TIMEOUT_MS, () =>
          connection.workflowService.setWorkerDeploymentCurrentVersion(request),
        );
        return 'current';
      } catch (error) {
        const status = grpcStatusOf(error);
        if (status?.code !== GRPC.failedPrecondition) throw error;
        return { refused: status.message };
      }
    },

    async openOnOthers(buildId) {
      const own = nameOf({ deploymentName, buildId });
      return within(LIST_TIMEOUT_MS, async () => {
        const isOpen = await openFilter(client.workflowService, namespace);
        const query = `${isEqual('TaskQueue', taskQueue)} AND ${isOpen} AND TemporalWorkflowVersioningBehavior = 'Pinned'`;
        const open: PinnedRun[] = [];
        for await (const run of client.workflow.list({ query })) open.push(...pinnedRunsIn(run));
        return open.filter(({ version }) => version !== own);
      });
    },

    async startAfresh({ ref, runId }, reason) {
      const run = await within(CALL_TIMEOUT_MS, () =>
        unlessNotFound(client.workflow.getHandle(workflowIdFor(ref), runId).describe()),
      );
      if (run === undefined || run.closeTime !== undefined) return 'had ended';
      const cluster = await within(CALL_TIMEOUT_MS, async () => options.cluster?.());
      const first = { do: 'observe', because: reason } as const;
      const input: RunInput = { ref, ...(cluster && { cluster }), reason, first };
      // One that is encrypted cannot be read without the keys; the run goes on all the same.
      const summary = (await run.staticSummary().catch(() => undefined)) ?? displayName(ref);
      await within(CALL_TIMEOUT_MS, () =>
        client.workflow.start(run.type, {
          ...startOptionsFor({ ref, cluster, taskQueue, summary }),
          args: [input],
          // In one call, so that wherever this process ends, no resource is left without its run.
          workflowIdConflictPolicy: 'TERMINATE_EXISTING',
        }),
      );
      return 'started';
    },
  };
}

/** `TaskQueueType` of temporal/api/enums/v1/task_queue.proto; the package's own enum cannot be imported by name. */
export const TASK_KIND = { workflow: 1, activity: 2 } as const;

/**
 * The build ids of the deployment whose workers ask for one kind of task. The server forgets an asker after
 * five minutes (`matching.PollerHistoryTTL`).
 */
async function askers({ connection, namespace, taskQueue, deploymentName }: VersionsOptions, kind: number) {
  const { pollers } = await connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the enum cannot be imported, see above
    taskQueueType: kind,
  });
  return pollers
    .map(({ deploymentOptions }) => deploymentOptions)
    .filter((each) => each?.deploymentName === deploymentName)
    .map((each) => each?.buildId ?? '');
}

const VERSION_ATTRIBUTE = defineSearchAttributeKey(
  'TemporalWorkerDeploymentVersion',
  SearchAttributeType.KEYWORD,
);

/** None where the workflow is not one of ours. */
function pinnedRunsIn(run: WorkflowExecutionInfo): PinnedRun[] {
  const ref = refOf(run);
  if (ref === undefined) return [];
  const version = run.typedSearchAttributes.get(VERSION_ATTRIBUTE) ?? '';
  return [{ ref, runId: run.runId, version }];
}

/** @returns undefined where there is no such thing */
export async function unlessNotFound<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (grpcStatusOf(error)?.code === GRPC.notFound || error instanceof WorkflowNotFoundError)
      return undefined;
    throw error;
  }
}
