import {
  Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type WorkflowService,
} from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { Cluster } from '../contract/cluster.ts';
import { workflowIdFor, type ResourceRef } from '../contract/resource.ts';
import { CHANGED_SIGNAL, type RunInput } from '../contract/run.ts';
import { isEqual, isOfCluster } from '../contract/search-attributes.ts';
import { asSummary } from '../contract/text.ts';
import type { Telemetry } from '../contract/telemetry.ts';
import { RunsUnavailable, type OpenRun, type Runs, type StartRequest } from '../watcher/runs.ts';
import { GRPC, grpcStatusOf, lacksSearchAttributes } from './grpc-status.ts';
import { ensureSearchAttributes, SearchAttributesMissing, type RegistrationRequest } from './registration.ts';
import { isStalled, refOf, searchAttributesOf } from './search-attributes.ts';

export interface RunsOptions extends RegistrationRequest {
  readonly taskQueue: string;
  /** Of all resources. */
  readonly cluster: Cluster;
  /** Whether a worker of this process shares the connection: then a start may hand over its first task. */
  readonly eager: boolean;
  /** Undefined: Temporal's own. */
  readonly dataConverter?: DataConverter;
  /** Learns of each run that is started. */
  readonly telemetry: Pick<Telemetry, 'runStarted'>;
}

const CALL_TIMEOUT_MS = 5_000;
const LIST_TIMEOUT_MS = 30_000;

/** The runs of one cluster and one task queue, on a Temporal server. */
export function temporalRuns(options: RunsOptions): Runs {
  const { connection, namespace, taskQueue, cluster, eager, dataConverter = {}, telemetry } = options;
  const client = new Client({ connection, namespace, dataConverter });
  return {
    async start({ ref, workflowType, summary, requestedAtMs, ...given }: StartRequest) {
      const { reason } = given;
      const input: RunInput = { ref, cluster, ...given };
      try {
        const run = await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
          client.workflow.start(workflowType, {
            ...startOptionsFor({ ref, cluster, taskQueue, summary }),
            args: [input],
            requestEagerStart: eager,
            // An open run is signalled; a closed one is followed by the next of the same id.
            workflowIdConflictPolicy: 'FAIL',
          }),
        );
        telemetry.runStarted({ ref, reason, runId: run.firstExecutionRunId, requestedAtMs });
        return 'started';
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return 'already-open';
        throw await unavailable(options, error);
      }
    },

    async signal(workflowId, reason, change) {
      try {
        await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
          client.workflow.getHandle(workflowId).signal(CHANGED_SIGNAL, reason, change),
        );
        return 'signalled';
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return 'not-open';
        throw unavailableOr(error);
      }
    },

    async listOpen() {
      try {
        return await connection.withDeadline(Date.now() + LIST_TIMEOUT_MS, async () => {
          const isOpen = await openFilter(client.workflowService, namespace);
          const query = `${isEqual('TaskQueue', taskQueue)} AND ${isOpen} AND ${isOfCluster(cluster)}`;
          const open = new Map<string, OpenRun>();
          for await (const run of client.workflow.list({ query })) {
            const ref = refOf(run);
            if (ref !== undefined) open.set(run.workflowId, { ref, isStalled: isStalled(run) });
          }
          return open;
        });
      } catch (error) {
        throw await unavailable(options, error);
      }
    },
  };
}

/**
 * Of a list filter: the open runs, with those that somebody has paused. A server that cannot pause runs rejects the status
 * `Paused`. `CloseTime IS NULL` would work with any server, but makes its database read all closed runs.
 */
export async function openFilter(service: WorkflowService, namespace: string): Promise<string> {
  const { namespaceInfo } = await service.describeNamespace({ namespace });
  return namespaceInfo?.capabilities?.workflowPause === true
    ? "ExecutionStatus IN ('Running', 'Paused')"
    : "ExecutionStatus = 'Running'";
}

/** What all runs of a resource have in common, whoever starts them. */
export function startOptionsFor({ ref, cluster, taskQueue, summary }: RunDescription) {
  return {
    workflowId: workflowIdFor(ref),
    taskQueue,
    // After a worker was killed, its runs go on elsewhere only then.
    workflowTaskTimeout: '4s',
    typedSearchAttributes: searchAttributesOf(ref, cluster),
    staticSummary: asSummary(summary),
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  } as const;
}

interface RunDescription {
  readonly ref: ResourceRef;
  /** Default: nobody knows which it is. */
  readonly cluster?: Cluster | undefined;
  readonly taskQueue: string;
  readonly summary: string;
}

/** What a server, or the way to it, says for "not now": no key can be blamed for it. */
const NOT_NOW: ReadonlySet<number> = new Set([
  GRPC.cancelled,
  GRPC.deadlineExceeded,
  GRPC.permissionDenied,
  GRPC.resourceExhausted,
  GRPC.internal,
  GRPC.unavailable,
  GRPC.unauthenticated,
]);

/** Search attributes that are missing are registered again, where that is allowed. */
async function unavailable(options: RunsOptions, cause: unknown): Promise<unknown> {
  if (!lacksSearchAttributes(cause)) return unavailableOr(cause);
  try {
    await ensureSearchAttributes(options);
    return new RunsUnavailable('search attributes were missing and have been registered; retrying', {
      cause,
    });
  } catch (error) {
    if (error instanceof SearchAttributesMissing) return new RunsUnavailable(error.message, { cause });
    return unavailableOr(error);
  }
}

/** @returns RunsUnavailable where waiting helps, else the error itself */
export function unavailableOr(error: unknown): unknown {
  const status = grpcStatusOf(error);
  if (status === undefined || !NOT_NOW.has(status.code)) return error;
  return new RunsUnavailable(status.message, { cause: error });
}
