import type { Client, WorkflowExecutionDescription, WorkflowExecutionInfo } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { SEARCH_ATTRIBUTES } from '../contract/search-attributes.ts';
import { workflowIdFor, type ResourceRef } from '../contract/resource.ts';
import { refOf, stateOfRun } from '../temporal/search-attributes.ts';
import type { ResourcePlace } from './resource-name.ts';
import { decoded } from './payloads.ts';
import type { TemporalAccess } from './session.ts';
import { failureOf, msOf, storyOf, type HistoryEvent, type PendingStep, type RunStory } from './run-story.ts';

/** A run of a resource, as Temporal's list has it, which may be some seconds late. */
export interface ListedRun {
  readonly ref: ResourceRef;
  readonly workflowId: string;
  readonly runId: string;
  readonly isOpen: boolean;
  readonly startedAtMs: number;
  /** Undefined: it is open. */
  readonly endedAtMs: number | undefined;
  /** What it says of itself: `Stalled`, `Paused`, `AwaitingApproval`. */
  readonly mark: string | undefined;
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
    `TaskQueue = '${access.taskQueue}'`,
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
    if (ref !== undefined) found.push({ ref, ...listed(info), mark: stateOfRun(info) });
    if (found.length >= most) break;
  }
  return found;
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
    mark: stateOfRun(description),
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
export async function storyOfRun(
  access: Pick<TemporalAccess, 'call' | 'namespace'>,
  { workflowId, runId }: Pick<ListedRun, 'workflowId' | 'runId'>,
): Promise<RunStory> {
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
  return storyOf(events);
}

/** So many events are the end of a run that rests, with the step before. */
const TAIL = 20;

/** The end of what happened in a run: its last events alone. @throws TemporalProblem */
export async function endOfRun(
  access: Pick<TemporalAccess, 'call' | 'namespace'>,
  { workflowId, runId }: Pick<ListedRun, 'workflowId' | 'runId'>,
): Promise<RunStory> {
  const events = await access.call(async (client) => {
    const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
      namespace: access.namespace,
      execution: { workflowId, runId },
      maximumPageSize: TAIL,
    });
    return decoded(history?.events ?? [], codecsOf(client));
  });
  return storyOf(events.toReversed());
}

function codecsOf(client: Client) {
  return client.options.loadedDataConverter.payloadCodecs;
}

/** All of these, so many at a time, in their order. */
export async function bounded<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  const entries = items.entries();
  const worker = async () => {
    for (const [index, item] of entries) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}
