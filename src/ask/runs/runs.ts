import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import {
  AWAITING_APPROVAL,
  PAUSED,
  isEqual,
  isOfCluster,
  SEARCH_ATTRIBUTES,
  STALLED,
  type RunState,
} from '../../contract/search-attributes.ts';
import { workflowIdFor, type ResourceRef } from '../../contract/resource.ts';
import { GRPC, grpcStatusOf, lacksSearchAttributes } from '../../temporal/grpc-status.ts';
import { openFilter } from '../../temporal/runs.ts';
import { bounded } from '../bounded.ts';
import type { TemporalAccess } from '../connection/temporal.ts';
import { failureOf, msOf, textIn } from './history-payloads.ts';
import { isPaused, pauseIn, type PauseInTemporal } from './pause.ts';
import { decoded } from './payloads.ts';
import { timelineOf, type HistoryEvent } from './timeline-builder.ts';
import type { PendingStep, RunTimeline } from './timeline.ts';

/*
 * The service is asked itself: of many runs, the client of the SDK decodes much that nobody reads.
 */

type IWorkflowExecutionInfo = temporal.api.workflow.v1.IWorkflowExecutionInfo;
type DescribeAnswer = temporal.api.workflowservice.v1.IDescribeWorkflowExecutionResponse;
/** Where runs are asked for. */
type Where = Pick<TemporalAccess, 'call' | 'namespace'>;

/** A run of a resource, as Temporal's list has it, which may be some seconds late. */
export interface ListedRun {
  readonly ref: ResourceRef;
  readonly workflowId: string;
  readonly runId: string;
  readonly isOpen: boolean;
  readonly startedAtMs: number;
  /** Undefined: it is open. */
  readonly endedAtMs: number | undefined;
  /** Why it rests until its resource changes; undefined: it does not, or it is paused in Temporal. */
  readonly runState: RunState | undefined;
}

/** A run, as Temporal has it now. */
export interface Run extends ListedRun {
  /** `COMPLETED`, `TERMINATED` … */
  readonly status: string;
  readonly taskQueue: string;
  /** Missing: nobody has paused it, or its step. */
  readonly pause?: PauseInTemporal | undefined;
  /** Attempts of durable steps. */
  readonly pending: readonly PendingStep[];
  /** Of the workflow task that no worker has finished yet; undefined: it has none. */
  readonly workflowTaskAttempt: number | undefined;
  /** The version of the worker that began it, such as `operator:1.2.0`; undefined: none has, or without a version. */
  readonly version: string | undefined;
  readonly historyLength: number;
}

/** The one that is failing, if one is. */
export function pendingStepOf({ pending }: Pick<Run, 'pending'>): PendingStep | undefined {
  return pending.find(({ failure }) => failure !== undefined) ?? pending[0];
}

const PAGE = 1_000;

/** The open runs of the operator. @throws TemporalProblem */
export async function listOpenRuns(
  access: Where & Pick<TemporalAccess, 'taskQueue' | 'cluster'>,
  of: { readonly controller: string | undefined; readonly namespace: string | undefined },
): Promise<readonly ListedRun[]> {
  const query = [
    ...equal('TaskQueue', access.taskQueue),
    await access.call((client) => openFilter(client.workflowService, access.namespace)),
    ...equal(SEARCH_ATTRIBUTES.controller, of.controller),
    ...equal(SEARCH_ATTRIBUTES.namespace, of.namespace),
    ...ofOwnCluster(access),
  ].join(' AND ');
  return access.call((client) => list(access, client, query));
}

/** The last runs of all resources that ever had this name, the latest first, as far back as Temporal keeps them. */
export async function runsOfPlace(
  access: Where & Pick<TemporalAccess, 'cluster'>,
  { controller, namespace, name }: Omit<ResourceRef, 'uid'>,
  most: number,
): Promise<ListedRun[]> {
  const query = [
    ...equal(SEARCH_ATTRIBUTES.controller, controller),
    ...equal(SEARCH_ATTRIBUTES.namespace, namespace),
    ...equal(SEARCH_ATTRIBUTES.name, name),
    ...ofOwnCluster(access),
  ].join(' AND ');
  const runs = await access.call((client) => list(access, client, query, most));
  return runs.toSorted((a, b) => b.startedAtMs - a.startedAtMs);
}

/** Several clusters may share the Temporal namespace. An operator that says of which it is has registered the attribute. */
function ofOwnCluster({ cluster }: Pick<TemporalAccess, 'cluster'>): string[] {
  return cluster === undefined ? [] : [isOfCluster(cluster)];
}

function equal(attribute: string, value: string | undefined): string[] {
  return value === undefined ? [] : [isEqual(attribute, value)];
}

/** Without its search attributes no operator can start a run, so there are none. */
async function list(
  where: Where,
  client: Client,
  query: string,
  most = Infinity,
): Promise<readonly ListedRun[]> {
  try {
    return await allPages(where, client, query, most);
  } catch (error) {
    if (lacksSearchAttributes(error)) return [];
    throw error;
  }
}

/** What is not ours is left out. */
async function allPages(
  { namespace }: Where,
  client: Client,
  query: string,
  most: number,
): Promise<readonly ListedRun[]> {
  const found: ListedRun[] = [];
  let nextPageToken: Uint8Array = new Uint8Array();
  do {
    const page = await client.workflowService.listWorkflowExecutions({
      namespace,
      query,
      pageSize: PAGE,
      nextPageToken,
    });
    found.push(...page.executions.flatMap((info) => listedRunFrom(info) ?? []));
    nextPageToken = page.nextPageToken;
  } while (nextPageToken.length > 0 && found.length < most);
  return found.slice(0, most);
}

function listedRunFrom(info: IWorkflowExecutionInfo): ListedRun | undefined {
  const attributes = info.searchAttributes?.indexedFields ?? {};
  const valueOf = (name: string) => textIn(attributes[name]) ?? '';
  const ref = {
    controller: valueOf(SEARCH_ATTRIBUTES.controller),
    namespace: valueOf(SEARCH_ATTRIBUTES.namespace),
    name: valueOf(SEARCH_ATTRIBUTES.name),
    uid: valueOf(SEARCH_ATTRIBUTES.uid),
  };
  return workflowIdFor(ref) === info.execution?.workflowId ? { ref, ...listed(info) } : undefined;
}

const RUN_STATES = [STALLED, PAUSED, AWAITING_APPROVAL] as const;

function listed({ execution, status, startTime, closeTime, searchAttributes }: IWorkflowExecutionInfo) {
  const said = textIn(searchAttributes?.indexedFields?.[SEARCH_ATTRIBUTES.state]);
  const isPaused = STATUS[status ?? 0] === 'PAUSED';
  return {
    workflowId: execution?.workflowId ?? '',
    runId: execution?.runId ?? '',
    isOpen: isPaused || STATUS[status ?? 0] === 'RUNNING',
    startedAtMs: msOf(startTime),
    endedAtMs: closeTime ? msOf(closeTime) : undefined,
    runState: isPaused ? undefined : RUN_STATES.find((state) => state === said),
  };
}

/** `WorkflowExecutionStatus` of temporal/api/enums/v1/workflow.proto; the package's own enum cannot be imported by name. */
const STATUS: readonly string[] = [
  'UNSPECIFIED',
  'RUNNING',
  'COMPLETED',
  'FAILED',
  'CANCELED',
  'TERMINATED',
  'CONTINUED_AS_NEW',
  'TIMED_OUT',
  'PAUSED',
];

/** The latest run of a resource, or the one that is named; undefined where Temporal has none. @throws TemporalProblem */
export function describeRun(access: Where, ref: ResourceRef, runId?: string): Promise<Run | undefined> {
  const { namespace } = access;
  const execution = { workflowId: workflowIdFor(ref), ...(runId !== undefined && { runId }) };
  return access.call(async (client) => {
    try {
      const answer = await client.workflowService.describeWorkflowExecution({ namespace, execution });
      return { ...(await runFrom(ref, answer, client)), pause: pauseIn(answer, namespace) };
    } catch (error) {
      // The namespace is there: its operator's settings have been looked for in it.
      if (grpcStatusOf(error)?.code === GRPC.notFound) return undefined;
      throw error;
    }
  });
}

/** Temporal's server answers so many questions about single runs side by side without a queue. */
export const DESCRIBED_AT_A_TIME = 50;

/** The same of many, as far as Temporal still has them. @throws TemporalProblem */
export async function describeRuns(access: Where, runs: readonly ListedRun[]): Promise<Run[]> {
  const described = await bounded(runs, DESCRIBED_AT_A_TIME, ({ ref, runId }) =>
    describeRun(access, ref, runId),
  );
  return described.filter((run) => run !== undefined);
}

async function runFrom(ref: ResourceRef, answer: DescribeAnswer, client: Client): Promise<Run> {
  const info = answer.workflowExecutionInfo ?? {};
  const { deploymentName, buildId } = info.versioningInfo?.deploymentVersion ?? {};
  return {
    ref,
    ...listed(info),
    status: STATUS[info.status ?? 0] ?? 'UNKNOWN',
    taskQueue: info.taskQueue ?? '',
    pending: await pendingOf(answer, client),
    workflowTaskAttempt: answer.pendingWorkflowTask ? (answer.pendingWorkflowTask.attempt ?? 1) : undefined,
    version: buildId ? `${deploymentName ?? ''}:${buildId}` : undefined,
    historyLength: Number(info.historyLength ?? 0),
  };
}

async function pendingOf({ pendingActivities }: DescribeAnswer, client: Client): Promise<PendingStep[]> {
  const codecs = codecsOf(client);
  return Promise.all(
    (pendingActivities ?? []).map(async (pending) => {
      const { activityType, attempt, lastFailure, scheduledTime, lastStartedTime } = pending;
      const isInProgress = (lastStartedTime && msOf(lastStartedTime) >= msOf(scheduledTime)) ?? false;
      return {
        step: activityType?.name ?? '',
        attempt: attempt ?? 1,
        failure: lastFailure ? failureOf(await decoded(lastFailure, codecs)) : undefined,
        nextTryAtMs: isInProgress || isPaused(pending) || !scheduledTime ? undefined : msOf(scheduledTime),
      };
    }),
  );
}

/** More than a run has before it continues as new. */
const EVENTS_MAX = 10_000;

/** What happened in a run, from the history that Temporal has of it. @throws TemporalProblem */
export async function timelineOfRun(
  access: Where,
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
  access: Where,
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
