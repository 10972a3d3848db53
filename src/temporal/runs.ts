import {
  Client,
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { workflowIdFor } from '../contract/resource.ts';
import { CHANGED_SIGNAL, type RunInput } from '../contract/run.ts';
import { RunsUnavailable, type Runs, type StartRequest } from '../watcher/runs.ts';
import { searchAttributesOf } from './search-attributes.ts';

export interface RunsOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  /** Whether a worker of this process shares the connection: then a start may hand over its first task. */
  readonly eager: boolean;
}

const CALL_TIMEOUT_MS = 5_000;
const WORKFLOW_TASK_TIMEOUT = '5s';
const LIST_TIMEOUT_MS = 30_000;

/** The runs of one task queue, on a Temporal server. */
export function temporalRuns({ connection, namespace, taskQueue, eager }: RunsOptions): Runs {
  const client = new Client({ connection, namespace });
  return {
    async start({ ref, workflowType, summary, reason, seen }: StartRequest) {
      const input: RunInput = { ref, reason, seen };
      try {
        await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
          client.workflow.start(workflowType, {
            workflowId: workflowIdFor(ref),
            taskQueue,
            args: [input],
            requestEagerStart: eager,
            // After a worker was killed, its runs go on elsewhere only then.
            workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
            typedSearchAttributes: searchAttributesOf(ref),
            staticSummary: summary,
            // An open run is told; a closed one is followed by the next of the same id.
            workflowIdConflictPolicy: 'FAIL',
            workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          }),
        );
        return 'started';
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return 'already-open';
        throw unavailableOr(error);
      }
    },

    async signal(workflowId, reason) {
      try {
        await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
          client.workflow.getHandle(workflowId).signal(CHANGED_SIGNAL, reason),
        );
        return 'signalled';
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return 'not-open';
        throw unavailableOr(error);
      }
    },

    async listOpen() {
      const query = `TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`;
      try {
        return await connection.withDeadline(Date.now() + LIST_TIMEOUT_MS, async () => {
          const open = new Set<string>();
          for await (const { workflowId } of client.workflow.list({ query })) open.add(workflowId);
          return open;
        });
      } catch (error) {
        throw unavailableOr(error);
      }
    },
  };
}

/** gRPC status codes by which a server, or the way to it, says "not now": no key can be blamed for them. */
const NOT_NOW = new Set([
  1, // CANCELLED
  4, // DEADLINE_EXCEEDED
  7, // PERMISSION_DENIED
  8, // RESOURCE_EXHAUSTED
  13, // INTERNAL
  14, // UNAVAILABLE
  16, // UNAUTHENTICATED
]);

function unavailableOr(error: unknown): unknown {
  const cause = error instanceof Error && isGrpcServiceError(error.cause) ? error.cause : error;
  if (!isGrpcServiceError(cause) || !NOT_NOW.has(cause.code)) return error;
  return new RunsUnavailable(cause.details || cause.message, { cause: error });
}
