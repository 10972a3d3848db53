import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../contract/search-attributes.ts';
import { workflowIdFor, type ResourceRef } from '../contract/resource.ts';
import { refOf } from '../temporal/search-attributes.ts';
import { inParallel } from './in-parallel.ts';
import { decoded } from './payloads.ts';
import type { ResourcePlace } from './resource-name.ts';
import { failureOf, msOf, storyOf, withPending, type PendingStep, type RunStory } from './run-story.ts';
import type { TemporalAccess } from './session.ts';

/** One run of a resource of a name, as Temporal lists it. */
export interface PastRun {
  readonly ref: ResourceRef;
  readonly runId: string;
  readonly isOpen: boolean;
  readonly startedAtMs: number;
}

/** Histories that are read at a time. */
const HISTORIES_AT_A_TIME = 8;

/**
 * All runs that Temporal keeps of resources of this name, the oldest first. The list may lag by a second: the latest run
 * of the resource that is there now is asked for besides.
 *
 * @throws TemporalProblem
 */
export async function pastRuns(
  { call }: Pick<TemporalAccess, 'call'>,
  place: ResourcePlace,
  liveUid: string | undefined,
): Promise<readonly PastRun[]> {
  const [listed, latest] = await Promise.all([
    call((client) => listedRuns(client, place)),
    liveUid === undefined ? undefined : call((client) => latestRun(client, { ...place, uid: liveUid })),
  ]);
  const byId = new Map(listed.map((run) => [run.runId, run]));
  if (latest !== undefined) byId.set(latest.runId, latest);
  return [...byId.values()].toSorted((a, b) => a.startedAtMs - b.startedAtMs);
}

async function listedRuns(client: Client, place: ResourcePlace): Promise<readonly PastRun[]> {
  const found: PastRun[] = [];
  for await (const info of client.workflow.list({ query: queryFor(place), pageSize: 1_000 })) {
    const run = pastRun(info);
    if (run !== undefined) found.push(run);
  }
  return found;
}

function queryFor({ controller, namespace, name }: ResourcePlace): string {
  const is = (attribute: string, value: string) => `${attribute} = '${value.replaceAll("'", "''")}'`;
  return [
    is(SEARCH_ATTRIBUTES.controller, controller),
    is(SEARCH_ATTRIBUTES.namespace, namespace),
    is(SEARCH_ATTRIBUTES.name, name),
  ].join(' AND ');
}

async function latestRun(client: Client, ref: ResourceRef): Promise<PastRun | undefined> {
  const { WorkflowNotFoundError } = await import('@temporalio/client');
  try {
    return pastRun(await client.workflow.getHandle(workflowIdFor(ref)).describe());
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

type Listed = Pick<
  WorkflowExecutionInfo,
  'workflowId' | 'runId' | 'status' | 'startTime' | 'typedSearchAttributes'
>;

function pastRun(info: Listed): PastRun | undefined {
  const ref = refOf(info);
  const { runId, status, startTime } = info;
  return ref && { ref, runId, isOpen: status.name === 'RUNNING', startedAtMs: startTime.getTime() };
}

/** @throws TemporalProblem */
export function storiesOf(access: TemporalAccess, runs: readonly PastRun[]): Promise<readonly RunStory[]> {
  return inParallel(runs, HISTORIES_AT_A_TIME, (run) => readStory(access, run));
}

async function readStory(access: TemporalAccess, run: PastRun): Promise<RunStory> {
  const { client } = access;
  const { payloadCodecs } = client.options.loadedDataConverter;
  const handle = client.workflow.getHandle(workflowIdFor(run.ref), run.runId);
  const { events } = await access.call(() => handle.fetchHistory());
  const story = { ...storyOf(await decoded(events ?? [], payloadCodecs)), runId: run.runId };
  if (!run.isOpen || story.end !== undefined) return story;
  const { raw } = await access.call(() => handle.describe());
  return withPending(story, (await decoded(raw.pendingActivities ?? [], payloadCodecs)).map(pendingStep));
}

type PendingActivity = NonNullable<
  Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['describe']>>['raw']['pendingActivities']
>[number];

function pendingStep({
  activityType,
  attempt,
  lastFailure,
  nextAttemptScheduleTime,
}: PendingActivity): PendingStep {
  return {
    step: activityType?.name ?? '',
    attempt: attempt ?? 1,
    failure: lastFailure ? failureOf(lastFailure) : undefined,
    nextTryAtMs: nextAttemptScheduleTime ? msOf(nextAttemptScheduleTime) : undefined,
  };
}
