import type { Client, WorkflowExecutionDescription, WorkflowExecutionInfo } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import {
  AWAITING_APPROVAL,
  PAUSED,
  SEARCH_ATTRIBUTES,
  STALLED,
  type RunState,
} from '../../contract/search-attributes.ts';
import { workflowIdFor, type ResourceRef } from '../../contract/resource.ts';
import { refOf, stateOfRun } from '../../temporal/search-attributes.ts';
import type { ResourcePlace } from '../resource-name.ts';
import { bounded } from '../bounded.ts';
import type { TemporalAccess } from '../connection/session.ts';
import { failureOf, msOf } from './history-payloads.ts';
import { decoded } from './payloads.ts';
import { timelineOf, type HistoryEvent } from './timeline-builder.ts';
import type { PendingStep, RunTimeline } from './timeline.ts';

/** A run of a resource, as Temporal's list has it, which may be some seconds late. */
export interface ListedRun {
  readonly ref: ResourceRef;
  readonly workflowId: string;
  readonly runId: string;
  readonly isOpen: boolean;
  readonly startedAtMs: number;
  /** Undefined: it is open. */
  readonly endedAtMs: number | undefined;
  /** Why it rests until its resource changes; undefined: it does not. */
  readonly runState: RunState | undefined;
}

/** A run, as Temporal has it now. */
export interface Run extends ListedRun {
  /** `COMPLETED`, `TERMINATED` … */
  readonly status: string;
  readonly taskQueue: string;
  /** Attempts of durable steps. */
  readonly pending: readonly PendingStep[];
  /** A workflow task that no worker has finished yet. */
  readonly task: WorkflowTask | undefined;
  /** The version of the worker that began it, such as `operator:1.2.0`; undefined: none has, or without a version. */
  readonly version: string | undefined;
  readonly historyLength: number;
}

/** The one that is failing, if one is. */
export function pendingStepOf({ pending }: Pick<Run, 'pending'>): PendingStep | undefined {
  return pending.find(({ failure }) => failure !== undefined) ?? pending[0];
}

export interface WorkflowTask {
  /** Whether a worker has taken it. */
  readonly isStarted: boolean;
  readonly attempt: number;
}

/** Restricts a list of runs. */
export interface RunsOf {
  readonly controller?: string | undefined;
  readonly namespace?: string | undefined;
}

const PAGE = 1_000;

/** The open runs of the operator. @throws TemporalProblem */
export function openRuns(
  access: Pick<TemporalAccess, 'call' | 'taskQueue'>,
  of: RunsOf,
): Promise<ListedRun[]> {
  const query = [
    ...equal('TaskQueue', access.taskQueue),
    "ExecutionStatus = 'Running'",
    ...equal(SEARCH_ATTRIBUTES.controller, of.controller),
    ...equal(SEARCH_ATTRIBUTES.namespace, of.namespace),
  ].join(' AND ');
  return access.call((client) => list(client, query));
}

/** Most that are listed of a resource. */
const RUNS_MAX = 1_000;

/** The runs of all resources that ever had this name, the latest first, as far back as Temporal keeps them. */
export async function runsOfPlace(
  access: Pick<TemporalAccess, 'call'>,
  { controller, namespace, name }: ResourcePlace,
): Promise<ListedRun[]> {
  const query = [
    ...equal(SEARCH_ATTRIBUTES.controller, controller),
    ...equal(SEARCH_ATTRIBUTES.namespace, namespace),
    ...equal(SEARCH_ATTRIBUTES.name, name),
  ].join(' AND ');
  const runs = await access.call((client) => list(client, query, RUNS_MAX));
  return runs.toSorted((a, b) => b.startedAtMs - a.startedAtMs);
}

function equal(attribute: string, value: string | undefined): string[] {
  return value === undefined ? [] : [`${attribute} = '${value.replaceAll("'", "''")}'`];
}

async function list(client: Client, query: string, most = Infinity): Promise<ListedRun[]> {
  const found: ListedRun[] = [];
  for await (const info of client.workflow.list({ query, pageSize: PAGE })) {
    const ref = refOf(info);
    if (ref !== undefined) found.push({ ref, ...listed(info), runState: runStateOf(info) });
    if (found.length >= most) break;
  }
  return found;
}

const RUN_STATES = [STALLED, PAUSED, AWAITING_APPROVAL] as const;

function runStateOf(info: Parameters<typeof stateOfRun>[0]): RunState | undefined {
  const said = stateOfRun(info);
  return RUN_STATES.find((state) => state === said);
}

function listed({ workflowId, runId, status, startTime, closeTime }: Omit<WorkflowExecutionInfo, 'raw'>) {
  return {
    workflowId,
    runId,
    isOpen: status.name === 'RUNNING',
    startedAtMs: startTime.getTime(),
    endedAtMs: closeTime?.getTime(),
  };
}

/** The latest run of a resource, or the one that is named; undefined where Temporal has none. @throws TemporalProblem */
export async function describeRun(
  access: Pick<TemporalAccess, 'call'>,
  ref: ResourceRef,
  runId?: string,
): Promise<Run | undefined> {
  try {
    return await access.call(async (client) => {
      const handle = client.workflow.getHandle(workflowIdFor(ref), runId);
      return runFrom(ref, await handle.describe(), client);
    });
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** Temporal's server answers so many questions about single runs side by side without a queue. */
export const DESCRIBED_AT_A_TIME = 50;

/** The same of many, as far as Temporal still has them. @throws TemporalProblem */
export async function describeRuns(
  access: Pick<TemporalAccess, 'call'>,
  runs: readonly ListedRun[],
): Promise<Run[]> {
  const described = await bounded(runs, DESCRIBED_AT_A_TIME, ({ ref, runId }) =>
    describeRun(access, ref, runId),
  );
  return described.filter((run) => run !== undefined);
}

async function runFrom(
  ref: ResourceRef,
  description: WorkflowExecutionDescription,
  client: Client,
): Promise<Run> {
  const { raw, status, taskQueue, historyLength } = description;
  const { deploymentName = '', buildId = '' } =
    raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion ?? {};
  const task = raw.pendingWorkflowTask;
  return {
    ref,
    ...listed(description),
    runState: runStateOf(description),
    status: status.name,
    taskQueue,
    pending: await pendingOf(raw, client),
    task: task ? { isStarted: Boolean(task.startedTime), attempt: task.attempt ?? 1 } : undefined,
    version: buildId ? `${deploymentName ?? ''}:${buildId}` : undefined,
    historyLength,
  };
}

async function pendingOf(
  { pendingActivities }: WorkflowExecutionDescription['raw'],
  client: Client,
): Promise<PendingStep[]> {
  const codecs = codecsOf(client);
  return Promise.all(
    (pendingActivities ?? []).map(async (pending) => {
      const { activityType, attempt, lastFailure, scheduledTime, lastStartedTime } = pending;
      const isInProgress = (lastStartedTime && msOf(lastStartedTime) >= msOf(scheduledTime)) ?? false;
      return {
        step: activityType?.name ?? '',
        attempt: attempt ?? 1,
        failure: lastFailure ? failureOf(await decoded(lastFailure, codecs)) : undefined,
        nextTryAtMs: isInProgress || !scheduledTime ? undefined : msOf(scheduledTime),
      };
    }),
  );
}

/** More than a run has before it continues as new. */
const EVENTS_MAX = 10_000;

/** What happened in a run, from the history that Temporal has of it. @throws TemporalProblem */
export async function timelineOfRun(
  access: Pick<TemporalAccess, 'call' | 'namespace'>,
  { workflowId, runId }: Pick<ListedRun, 'workflowId' | 'runId'>,
): Promise<RunTimeline> {
  const events: HistoryEvent[] = [];
  await access.call(async (client) => {
    let nextPageToken: Uint8Array | undefined;
    do {
      const page = await client.workflowService.getWorkflowExecutionHistory({
        namespace: access.namespace,
        execution: { workflowId, runId },
        ...(nextPageToken && { nextPageToken }),
      });
      events.push(...(await decoded(page.history?.events ?? [], codecsOf(client))));
      nextPageToken = page.nextPageToken.length > 0 ? page.nextPageToken : undefined;
    } while (nextPageToken !== undefined && events.length < EVENTS_MAX);
  });
  return timelineOf(events);
}

/** So many events are the end of a run that rests, with the step before. */
const TAIL = 20;

/** The end of what happened in a run: its last events alone. @throws TemporalProblem */
export async function endOfTimeline(
  access: Pick<TemporalAccess, 'call' | 'namespace'>,
  { workflowId, runId }: Pick<ListedRun, 'workflowId' | 'runId'>,
): Promise<RunTimeline> {
  const events = await access.call(async (client) => {
    const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
      namespace: access.namespace,
      execution: { workflowId, runId },
      maximumPageSize: TAIL,
    });
    return decoded(history?.events ?? [], codecsOf(client));
  });
  return timelineOf(events.toReversed());
}

function codecsOf(client: Client) {
  return client.options.loadedDataConverter.payloadCodecs;
}
