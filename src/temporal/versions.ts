import { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { ResourceRef } from '../api/resource-ref.ts';
import { GRPC, grpcStatusOf, unlessNotFound } from './grpc-status.ts';
import { RunReader } from './run-reader.ts';
import { unavailableOr } from './runs.ts';
import { describeTaskQueue, nameOf, TASK_KIND } from './task-queue.ts';

/** How Temporal gives new runs to the versions of a deployment. */
export interface Routing {
  /** The build ID that gets them; undefined: workers without a version do. */
  readonly current: string | undefined;
  /** All known build IDs, the latest first. */
  readonly buildIds: readonly string[];
  /** Who changed it last; empty: nobody. */
  readonly changedBy: string;
  /** Every change gives it a new token. */
  readonly token: Uint8Array;
}

/** An open run that stays with the version that began it. */
export interface PinnedRun {
  readonly ref: ResourceRef;
  readonly runId: string;
  /** As `nameOf` names it. */
  readonly version: string;
}

export interface PromotionRefusal {
  /** Temporal's own words. */
  readonly refused: string;
}

/** What Temporal knows of a deployment's versions. All of it throws RunsUnavailable where waiting helps. */
export interface WorkerVersions {
  /**
   * Undefined where no worker of the deployment has been seen. Also undefined for a moment after each change: Temporal's own
   * workflow of the deployment then continues as new, and cannot be queried.
   */
  routing(): Promise<Routing | undefined>;
  /** The names of the versions whose workers poll the task queue for workflow tasks and for activity tasks. */
  served(): Promise<ReadonlySet<string>>;
  /**
   * Whether Temporal has registered the task queue for the version. It does so a little after the first poll. Until then, tasks
   * go to workers without a version, even if the version is current.
   */
  isRegistered(buildId: string): Promise<boolean>;
  /** Gives new runs to this version; refused if the routing has changed since it was read. */
  makeCurrent(buildId: string, since: Routing): Promise<'current' | PromotionRefusal>;
  /** The open runs of the task queue that are pinned to other versions, as of up to a few seconds ago. */
  openOnOthers(buildId: string): Promise<readonly PinnedRun[]>;
}

export interface VersionsOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly deploymentName: string;
}

const CALL_TIMEOUT_MS = 10_000;
const LIST_TIMEOUT_MS = 30_000;

/** Temporal shows it as the author of the routing. */
const IDENTITY = 'durable-operator promote';

/** The versions of one deployment, on a Temporal server. */
export function workerVersions(options: VersionsOptions): WorkerVersions {
  const { connection, namespace, taskQueue, deploymentName } = options;
  const { workflowService } = connection;
  const client = new Client({ connection, namespace });
  const within = <T>(timeoutMs: number, call: () => Promise<T>) =>
    connection.withDeadline(Date.now() + timeoutMs, call).catch((error: unknown) => {
      throw unavailableOr(error);
    });
  const call = <T>(work: () => Promise<T>) => within(CALL_TIMEOUT_MS, work);
  const reader = new RunReader({ namespace, call: (work) => within(LIST_TIMEOUT_MS, () => work(client)) });
  const pollers = async (taskType: keyof typeof TASK_KIND) => {
    const queue = { service: workflowService, namespace, taskQueue, taskType };
    return (await describeTaskQueue(queue)).pollers;
  };

  return {
    async routing() {
      const described = await call(() =>
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
      const [workflow, activity] = await call(() => Promise.all([pollers('workflow'), pollers('activity')]));
      return new Set(workflow.filter((version) => activity.includes(version)));
    },

    async isRegistered(buildId) {
      const request = { namespace, deploymentVersion: { deploymentName, buildId } };
      const described = await call(() =>
        unlessNotFound(workflowService.describeWorkerDeploymentVersion(request)),
      );
      const queues = (described?.versionTaskQueues ?? []).filter(({ name }) => name === taskQueue);
      return Object.values(TASK_KIND).every((kind) => queues.some(({ type }) => Number(type) === kind));
    },

    async makeCurrent(buildId, { token }) {
      const request = { namespace, deploymentName, buildId, conflictToken: token, identity: IDENTITY };
      try {
        await call(() => workflowService.setWorkerDeploymentCurrentVersion(request));
        return 'current';
      } catch (error) {
        const status = grpcStatusOf(error);
        if (status?.code !== GRPC.failedPrecondition) throw error;
        return { refused: status.message };
      }
    },

    async openOnOthers(buildId) {
      const own = nameOf({ deploymentName, buildId });
      const open = await reader.listOpen({ taskQueue, isPinned: true });
      return open
        .map(({ ref, runId, version = '' }) => ({ ref, runId, version }))
        .filter(({ version }) => version !== own);
    },
  };
}
