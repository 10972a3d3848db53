import { Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import {
  defineSearchAttributeKey,
  SearchAttributeType,
  TypedSearchAttributes,
  type DataConverter,
} from '@temporalio/common';
import { labelOfCluster, type ClusterIdentity } from '../runs/cluster.ts';
import type { Logger } from '../api/logger.ts';
import { workflowIdFor, type ResourceRef } from '../api/resource-ref.ts';
import { CHANGED_SIGNAL, type RunInput } from '../runs/run.ts';
import { SEARCH_ATTRIBUTES, STALLED } from '../runs/search-attributes.ts';
import { asSummary } from '../api/text.ts';
import type { Telemetry } from '../runs/telemetry.ts';
import { RunsUnavailable, type Runs, type StartRequest } from '../watcher/runs.ts';
import { GRPC, grpcStatusOf, lacksNamespace, lacksSearchAttributes } from './grpc-status.ts';
import { MovedRuns } from './moved-runs.ts';
import { ensureSearchAttributes, SearchAttributesMissing, type RegistrationRequest } from './registration.ts';
import { RunReader } from './run-reader.ts';

export interface RunsOptions extends RegistrationRequest {
  readonly taskQueue: string;
  /** The cluster of all resources. */
  readonly cluster: ClusterIdentity;
  /** Whether a worker of this process shares the connection. Then Temporal can answer a start with its first task. */
  readonly eager: boolean;
  /** Undefined: Temporal's own. */
  readonly dataConverter?: DataConverter;
  readonly telemetry: Pick<Telemetry, 'runStarted'>;
  readonly log: Logger;
}

const CALL_TIMEOUT_MS = 5_000;
const LIST_TIMEOUT_MS = 30_000;

/** Starts, signals and lists the runs of one cluster and one task queue. */
export function temporalRuns(options: RunsOptions): Runs {
  const { connection, namespace, taskQueue, cluster, eager, dataConverter = {}, telemetry, log } = options;
  const client = new Client({ connection, namespace, dataConverter });
  const within = <T>(timeoutMs: number, call: () => Promise<T>) =>
    connection.withDeadline(Date.now() + timeoutMs, call);
  const reader = new RunReader({ namespace, call: (work) => within(LIST_TIMEOUT_MS, () => work(client)) });
  const call = <T>(work: (its: Client) => Promise<T>) => within(CALL_TIMEOUT_MS, () => work(client));
  const moved = new MovedRuns({
    reader: new RunReader({ namespace, call }),
    namespace,
    call,
    taskQueue,
    log,
  });
  /** What is found of an open run only says where it is: it is signaled in any case. */
  const look = (ref: ResourceRef) =>
    moved.look(ref).catch((err: unknown) => {
      log.debug({ ...ref, err }, 'could not find out where the run is');
      return 'open' as const;
    });
  const begin = async ({ ref, workflowType, summary, ...given }: StartRequest) => {
    const input: RunInput = { ref, cluster, ...given };
    try {
      await call(({ workflow }) =>
        workflow.start(workflowType, {
          ...startOptionsFor({ ref, cluster, taskQueue, summary }),
          args: [input],
          requestEagerStart: eager,
          workflowIdConflictPolicy: 'FAIL',
        }),
      );
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return 'already-open';
      throw await unavailable(options, error);
    }
    telemetry.runStarted(ref);
    moved.isHere(ref);
    return 'started';
  };
  return {
    async start(request) {
      const answer = await begin(request);
      if (answer === 'started') return answer;
      const found = await look(request.ref);
      return found === 'ended' ? begin(request) : FOUND[found];
    },

    async signal(workflowId, { reason, change, first }) {
      try {
        await within(CALL_TIMEOUT_MS, () =>
          client.workflow
            .getHandle(workflowId)
            .signal(CHANGED_SIGNAL, reason, change, ...(first ? [first] : [])),
        );
        return 'signalled';
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return 'not-open';
        throw unavailableOr(error);
      }
    },

    async listOpen() {
      try {
        const open = await reader.listOpen({ taskQueue, cluster });
        return new Map(
          open.map(({ workflowId, ref, runState }) => [workflowId, { ref, isStalled: runState === STALLED }]),
        );
      } catch (error) {
        throw await unavailable(options, error);
      }
    },
  };
}

const FOUND = { open: 'already-open', left: 'already-told' } as const;

/** The options that all runs of a resource share. */
export function startOptionsFor({ ref, cluster, taskQueue, summary }: RunDescription) {
  return {
    workflowId: workflowIdFor(ref),
    taskQueue,
    // The runs of a killed worker go on elsewhere only after this time.
    workflowTaskTimeout: '4s',
    typedSearchAttributes: searchAttributesOf(ref, cluster),
    staticSummary: asSummary(summary),
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  } as const;
}

interface RunDescription {
  readonly ref: ResourceRef;
  /** Default: unknown. */
  readonly cluster?: ClusterIdentity | undefined;
  readonly taskQueue: string;
  readonly summary: string;
}

function searchAttributesOf(ref: ResourceRef, cluster: ClusterIdentity = {}): TypedSearchAttributes {
  const values = { ...ref, cluster: labelOfCluster(cluster) };
  return new TypedSearchAttributes(
    (['controller', 'namespace', 'name', 'uid', 'cluster'] as const).flatMap((name) => {
      const value = values[name];
      const key = defineSearchAttributeKey(SEARCH_ATTRIBUTES[name], SearchAttributeType.KEYWORD);
      return value === undefined ? [] : [{ key, value }];
    }),
  );
}

/** A server, or the way to it, answers so for the moment. The request itself is not at fault. */
const NOT_NOW: ReadonlySet<number> = new Set([
  GRPC.cancelled,
  GRPC.deadlineExceeded,
  GRPC.permissionDenied,
  GRPC.resourceExhausted,
  GRPC.internal,
  GRPC.unavailable,
  GRPC.unauthenticated,
]);

/** Registers missing search attributes again, where that is allowed. */
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
  const isNamespaceMissing = lacksNamespace(error);
  if (status === undefined || !(isNamespaceMissing || NOT_NOW.has(status.code))) return error;
  const [line = ''] = status.message.split(/\.?(?:\n|$)/, 1);
  const advice = isNamespaceMissing ? '; create it, or set TEMPORAL_NAMESPACE' : '';
  return new RunsUnavailable(line + advice, { cause: error });
}
