import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import type { ClusterIdentity } from '../runs/cluster.ts';
import { workflowIdFor, type ResourceRef } from '../api/resource-ref.ts';
import {
  AWAITING_APPROVAL,
  isEqual,
  isOfCluster,
  PAUSED,
  SEARCH_ATTRIBUTES,
  STALLED,
  RETRYING,
  type RunState,
} from '../runs/search-attributes.ts';
import { lacksSearchAttributes, unlessNotFound } from './grpc-status.ts';
import { decoded, textIn } from './payloads.ts';
import { stepFailureOf, msOf, timelineOf, type HistoryEvent } from './timeline-builder.ts';
import type { PendingStep, RunTimeline } from './timeline.ts';

type IWorkflowExecutionInfo = temporal.api.workflow.v1.IWorkflowExecutionInfo;
type DescribeAnswer = temporal.api.workflowservice.v1.IDescribeWorkflowExecutionResponse;

/** A run of a resource, as Temporal's list shows it. The list may be some seconds late. */
export interface ListedRun {
  readonly ref: ResourceRef;
  readonly workflowId: string;
  readonly runId: string;
  readonly isOpen: boolean;
  readonly startedAtMs: number;
  readonly taskQueue: string;
  /** Undefined: it is open. */
  readonly endedAtMs: number | undefined;
  /** Why it waits for a change of its resource; undefined: it does not, or it is paused in Temporal. */
  readonly runState: RunState | undefined;
  /** The version of the worker that began it, such as `operator:1.2.0`; undefined: no worker yet, or one without a version. */
  readonly version: string | undefined;
}

/** A run, as Temporal has it now. */
export interface Run extends ListedRun {
  /** `COMPLETED`, `TERMINATED` … */
  readonly status: string;
  /** Somebody has paused the run, or its step. */
  readonly pause?: PauseInTemporal | undefined;
  /** Attempts of durable steps. */
  readonly pending: readonly PendingStep[];
  /** Of the workflow task that is not completed; undefined: there is none. */
  readonly workflowTaskAttempt: number | undefined;
  /** A worker has it. */
  readonly isTaskStarted?: boolean;
  readonly historyLength: number;
}

/** The pending step that fails, or else the first. */
export function pendingStepOf({ pending }: Pick<Run, 'pending'>): PendingStep | undefined {
  return pending.find(({ failure }) => failure !== undefined) ?? pending[0];
}

/** A worker that has just ended leaves one or two failed attempts. */
const FAILING_FROM_ATTEMPT = 3;

/** Whether the workflow task of a run fails again and again, so that it gets to no step. */
export function isTaskFailing({ workflowTaskAttempt = 1 }: Pick<Run, 'workflowTaskAttempt'>): boolean {
  return workflowTaskAttempt >= FAILING_FROM_ATTEMPT;
}

/** How a reader reaches Temporal. */
export interface TemporalCalls {
  /** The Temporal namespace. */
  readonly namespace: string;
  /** Makes calls, with the caller's own time limit and errors. */
  call<T>(work: (client: Client) => Promise<T>): Promise<T>;
}

/** Which runs are listed; an undefined field restricts nothing. */
export interface RunFilter {
  readonly taskQueue?: string | undefined;
  readonly otherThanTaskQueue?: string;
  readonly cluster?: ClusterIdentity | undefined;
  readonly controller?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** Only runs that stay with the worker version that began them. */
  readonly isPinned?: true;
}

const PAGE = 1_000;
/** A server may be replaced by one of another version at any time. */
const SERVER_KNOWN_MS = 10 * 60_000;
/** A run continues as new before it has so many events. */
const EVENTS_MAX = 10_000;
/** They include the last step of a waiting run. */
const LAST_EVENTS = 20;

/**
 * Reads runs and histories for the operator and for the commands. It calls the service itself: the SDK's client decodes much
 * that nobody reads.
 */
export class RunReader {
  readonly #calls: TemporalCalls;
  readonly #unregistered: 'fail' | 'no runs';
  readonly #nowMs: () => number;
  #isOpen: string | undefined;
  #askedAtMs = -Infinity;

  /**
   * @param unregistered what a list does where Temporal lacks our search attributes: no operator has started a run there
   * @param nowMs monotonic
   */
  constructor(
    calls: TemporalCalls,
    unregistered: 'fail' | 'no runs' = 'fail',
    nowMs = () => performance.now(),
  ) {
    this.#calls = calls;
    this.#unregistered = unregistered;
    this.#nowMs = nowMs;
  }

  /** All open runs, and nothing that is not ours. */
  async listOpen(filter: RunFilter): Promise<readonly ListedRun[]> {
    if (this.#nowMs() - this.#askedAtMs > SERVER_KNOWN_MS) this.#isOpen = undefined;
    try {
      this.#isOpen ??= await this.#openFilter();
      return await this.#list([this.#isOpen, ...conditionsOf(filter)].join(' AND '), Infinity);
    } catch (error) {
      // It may have been rolled back to a version that does not know the status.
      this.#isOpen = undefined;
      throw error;
    }
  }

  /** The last runs of all resources of this name, the latest first, as far back as Temporal keeps them. */
  async ofPlace(place: Omit<ResourceRef, 'uid'>, cluster: ClusterIdentity | undefined, most: number) {
    const runs = await this.#list(conditionsOf({ ...place, cluster }).join(' AND '), most);
    return runs.toSorted((a, b) => b.startedAtMs - a.startedAtMs);
  }

  /**
   * Open runs include paused ones. A server that cannot pause runs rejects the status `Paused`. `CloseTime IS NULL` would
   * work with any server, but makes its database read all closed runs.
   */
  async #openFilter(): Promise<string> {
    const { namespace } = this.#calls;
    const { namespaceInfo } = await this.#calls.call(({ workflowService }) =>
      workflowService.describeNamespace({ namespace }),
    );
    this.#askedAtMs = this.#nowMs();
    return namespaceInfo?.capabilities?.workflowPause === true
      ? "ExecutionStatus IN ('Running', 'Paused')"
      : "ExecutionStatus = 'Running'";
  }

  #list(query: string, most: number): Promise<readonly ListedRun[]> {
    return this.#calls.call(async (client) => {
      try {
        return await this.#allPages(client, query, most);
      } catch (error) {
        if (this.#unregistered === 'no runs' && lacksSearchAttributes(error)) return [];
        throw error;
      }
    });
  }

  async #allPages({ workflowService }: Client, query: string, most: number): Promise<readonly ListedRun[]> {
    const { namespace } = this.#calls;
    const found: ListedRun[] = [];
    let nextPageToken: Uint8Array = new Uint8Array();
    do {
      const request = { namespace, query, pageSize: PAGE, nextPageToken };
      const page = await workflowService.listWorkflowExecutions(request);
      found.push(...page.executions.flatMap((info) => ourRunIn(info) ?? []));
      nextPageToken = page.nextPageToken;
    } while (nextPageToken.length > 0 && found.length < most);
    return found.slice(0, most);
  }

  /** A run, by default the latest of its resource; undefined where Temporal has none. */
  describe(ref: ResourceRef, runId?: string): Promise<Run | undefined> {
    const { namespace } = this.#calls;
    const execution = { workflowId: workflowIdFor(ref), ...(runId !== undefined && { runId }) };
    return this.#calls.call(async (client) => {
      const answer = await unlessNotFound(
        client.workflowService.describeWorkflowExecution({ namespace, execution }),
      );
      return answer && { ...(await runFrom(ref, answer, client)), pause: pauseIn(answer, namespace) };
    });
  }

  /** What happened in a run, from its history. */
  async timeline({ workflowId, runId }: Pick<ListedRun, 'workflowId' | 'runId'>): Promise<RunTimeline> {
    const { namespace } = this.#calls;
    const events: HistoryEvent[] = [];
    await this.#calls.call(async (client) => {
      let nextPageToken: Uint8Array | undefined;
      do {
        const page = await client.workflowService.getWorkflowExecutionHistory({
          namespace,
          execution: { workflowId, runId },
          ...(nextPageToken && { nextPageToken }),
        });
        events.push(...(await decoded(page.history?.events ?? [], codecsOf(client))));
        nextPageToken = page.nextPageToken.length > 0 ? page.nextPageToken : undefined;
      } while (nextPageToken !== undefined && events.length < EVENTS_MAX);
    });
    return timelineOf(events);
  }

  /** The same from its last events alone. */
  async endOfTimeline({ workflowId, runId }: Pick<ListedRun, 'workflowId' | 'runId'>): Promise<RunTimeline> {
    const { namespace } = this.#calls;
    const events = await this.#calls.call(async (client) => {
      const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
        namespace,
        execution: { workflowId, runId },
        maximumPageSize: LAST_EVENTS,
      });
      return decoded(history?.events ?? [], codecsOf(client));
    });
    return timelineOf(events.toReversed());
  }
}

function conditionsOf(filter: RunFilter): string[] {
  const { taskQueue, otherThanTaskQueue, cluster, controller, namespace, name, isPinned } = filter;
  const values = {
    TaskQueue: taskQueue,
    [SEARCH_ATTRIBUTES.controller]: controller,
    [SEARCH_ATTRIBUTES.namespace]: namespace,
    [SEARCH_ATTRIBUTES.name]: name,
    TemporalWorkflowVersioningBehavior: isPinned && 'Pinned',
  };
  const equal = Object.entries(values).flatMap(([attribute, value]) =>
    value === undefined ? [] : [isEqual(attribute, value)],
  );
  return [
    ...equal,
    ...(otherThanTaskQueue === undefined ? [] : [`NOT ${isEqual('TaskQueue', otherThanTaskQueue)}`]),
    ...(cluster === undefined ? [] : [isOfCluster(cluster)]),
  ];
}

function ourRunIn(info: IWorkflowExecutionInfo): ListedRun | undefined {
  const attributes = info.searchAttributes?.indexedFields ?? {};
  const valueOf = (name: string) => textIn(attributes[name]);
  const ref = {
    controller: valueOf(SEARCH_ATTRIBUTES.controller),
    namespace: valueOf(SEARCH_ATTRIBUTES.namespace),
    name: valueOf(SEARCH_ATTRIBUTES.name),
    uid: valueOf(SEARCH_ATTRIBUTES.uid),
  };
  return workflowIdFor(ref) === info.execution?.workflowId ? { ref, ...listed(info) } : undefined;
}

const RUN_STATES = [STALLED, RETRYING, PAUSED, AWAITING_APPROVAL] as const;

function listed(info: IWorkflowExecutionInfo) {
  const { execution, status, taskQueue, startTime, closeTime, searchAttributes } = info;
  const attributes = searchAttributes?.indexedFields ?? {};
  const said = textIn(attributes[SEARCH_ATTRIBUTES.state]);
  const name = STATUS[status ?? 0];
  return {
    workflowId: execution?.workflowId ?? '',
    runId: execution?.runId ?? '',
    isOpen: name === 'PAUSED' || name === 'RUNNING',
    taskQueue: taskQueue ?? '',
    startedAtMs: msOf(startTime),
    endedAtMs: closeTime ? msOf(closeTime) : undefined,
    runState: name === 'PAUSED' ? undefined : RUN_STATES.find((state) => state === said),
    version: textIn(attributes['TemporalWorkerDeploymentVersion']) || undefined,
  };
}

/** `WorkflowExecutionStatus` of temporal/api/enums/v1/workflow.proto; the package's own enum cannot be imported by name. */
const STATUS: readonly string[] = [
  ...['UNSPECIFIED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELED'],
  ...['TERMINATED', 'CONTINUED_AS_NEW', 'TIMED_OUT', 'PAUSED'],
];

/** `PendingWorkflowTaskState` of temporal/api/enums/v1/workflow.proto; the package's own enum cannot be imported by name. */
const STARTED_TASK = 2;

async function runFrom(ref: ResourceRef, answer: DescribeAnswer, client: Client): Promise<Run> {
  const info = answer.workflowExecutionInfo ?? {};
  const { deploymentName, buildId } = info.versioningInfo?.deploymentVersion ?? {};
  return {
    ref,
    ...listed(info),
    status: STATUS[info.status ?? 0] ?? 'UNKNOWN',
    pending: await pendingOf(answer, client),
    workflowTaskAttempt: answer.pendingWorkflowTask ? (answer.pendingWorkflowTask.attempt ?? 1) : undefined,
    isTaskStarted: Number(answer.pendingWorkflowTask?.state) === STARTED_TASK,
    version: buildId ? `${deploymentName ?? ''}:${buildId}` : undefined,
    historyLength: Number(info.historyLength ?? 0),
  };
}

async function pendingOf({ pendingActivities }: DescribeAnswer, client: Client): Promise<PendingStep[]> {
  return Promise.all(
    (pendingActivities ?? []).map(async (pending) => {
      const { activityType, attempt, lastFailure, scheduledTime, lastStartedTime } = pending;
      const isInProgress = (lastStartedTime && msOf(lastStartedTime) >= msOf(scheduledTime)) ?? false;
      return {
        step: activityType?.name ?? '',
        attempt: attempt ?? 1,
        failure: lastFailure ? stepFailureOf(await decoded(lastFailure, codecsOf(client))) : undefined,
        nextTryAtMs: isInProgress || isPaused(pending) || !scheduledTime ? undefined : msOf(scheduledTime),
      };
    }),
  );
}

function codecsOf(client: Client) {
  return client.options.loadedDataConverter.payloadCodecs;
}

type PendingActivity = temporal.api.workflow.v1.IPendingActivityInfo;

/** Somebody has paused a run, or its step, in Temporal. It does not go on until the pause is ended. */
export interface PauseInTemporal {
  readonly atMs: number;
  /** `by temporal-cli:alice@laptop: the quota is about to change` */
  readonly words: string;
  /** The command that ends it. */
  readonly undo: string;
}

/** `PendingActivityState` of temporal/api/enums/v1/workflow.proto; the package's own enum cannot be imported by name. */
const PAUSED_ACTIVITY = 4;

/** An attempt in progress is not paused yet. */
function isPaused({ state }: PendingActivity): boolean {
  return Number(state) === PAUSED_ACTIVITY;
}

/** The pause of a run, or else of one of its steps. */
function pauseIn(answer: DescribeAnswer, namespace: string): PauseInTemporal | undefined {
  const workflowId = answer.workflowExecutionInfo?.execution?.workflowId ?? '';
  const of = `--namespace ${namespace} --workflow-id ${workflowId}`;
  const { pauseInfo } = answer.workflowExtendedInfo ?? {};
  if (pauseInfo) {
    const { pausedTime } = pauseInfo;
    return { atMs: msOf(pausedTime), words: wordsFor(pauseInfo), undo: `temporal workflow unpause ${of}` };
  }
  const step = answer.pendingActivities?.find(isPaused);
  if (step === undefined) return undefined;
  const { pauseTime, manual, rule } = step.pauseInfo ?? {};
  const by = rule ? { identity: `the rule ${rule.ruleId ?? ''}`, reason: rule.reason } : (manual ?? {});
  const undo = `temporal activity unpause ${of} --activity-id ${step.activityId ?? ''}`;
  return { atMs: msOf(pauseTime), words: wordsFor(by), undo };
}

interface By {
  readonly identity?: string | null | undefined;
  readonly reason?: string | null | undefined;
}

function wordsFor({ identity, reason }: By): string {
  const who = identity === '' ? undefined : identity;
  return `by ${who ?? 'somebody'}${reason ? `: ${reason}` : ''}`;
}
