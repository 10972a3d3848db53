import type { Controller } from '../../engine/controller.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceRef } from '../../api/resource-ref.ts';
import { NAMESPACES } from '../../api/kinds.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import type { Run } from '../../temporal/run-reader.ts';
import type { TaskQueuePollers } from '../../temporal/task-queue.ts';
import type { RunTimeline } from '../../temporal/timeline.ts';
import { ControllerError } from '../../engine/failing.ts';
import type { LiveDecision, LiveRequest } from '../cluster/live.ts';
import { isPaused } from '../../api/annotations.ts';
import { readObject, type ObjectName } from '../cluster/objects.ts';
import { TemporalProblem } from '../../temporal/temporal-problem.ts';
import type { AskedOperator, Session, TemporalAccess } from '../session.ts';
import { configuredControllers, optionsOf } from '../controllers.ts';
import type { NamedResource, ResourcePlace } from '../resource-name.ts';
import type { AdvisedProblem } from './advice.ts';
import { pollersOf, watcherProblem } from './operator-problems.ts';

export interface ResourceFindings {
  readonly controller: Controller;
  readonly place: ResourcePlace;
  readonly cluster: ClusterFindings;
  readonly temporal: TemporalFindings;
  /** The controller's decision on the live objects; an error if not all of them can be read. */
  readonly live: LiveDecision | ApiError | undefined;
  readonly link: string | undefined;
  readonly nowMs: number;
}

export type ClusterFindings =
  | {
      readonly is: 'there';
      readonly object: KubernetesObject;
      /** Undefined if the user may not read it. */
      readonly namespace: KubernetesObject | undefined;
    }
  | { readonly is: 'gone' }
  /** Its API is missing, or the user may not read it. */
  | { readonly is: 'unreadable'; readonly error: ApiError };

export interface Reached extends AskedOperator {
  readonly is: 'reached';
  /** Of the task queue of an open run, else of the operator's. */
  readonly workers: TaskQueuePollers;
  /** Nobody watches the cluster, as far as is known. */
  readonly noWatcher: AdvisedProblem | undefined;
  /** The latest run of the resource; if it is gone, the last one of its name. */
  readonly run: Run | undefined;
  readonly timeline: RunTimeline | undefined;
}

export type TemporalFindings = Reached | { readonly is: 'away'; readonly problem: string };

/** The resource exists, and Temporal has answered. */
export interface CompleteFindings extends ResourceFindings {
  readonly cluster: Extract<ClusterFindings, { is: 'there' }>;
  readonly temporal: Reached;
}

/** The same with an open run. */
export interface Open extends CompleteFindings {
  readonly run: Run;
}

export function liveIn({ live }: Pick<ResourceFindings, 'live'>): LiveDecision | undefined {
  return live instanceof ApiError ? undefined : live;
}

export function objectNameOf({
  controller,
  place,
}: Pick<ResourceFindings, 'controller' | 'place'>): ObjectName {
  return { ...place, type: controller.primary.type };
}

/** Reads the material of an explanation, side by side where possible. @throws ApiError */
export async function findOut(
  session: Session,
  resource: NamedResource,
  now: () => number,
): Promise<ResourceFindings> {
  const { place } = resource;
  const [access, cluster] = await Promise.all([
    session.temporal().catch(temporalProblemIn),
    readCluster(session, resource),
  ]);
  const settings = access instanceof TemporalProblem ? undefined : access.settings;
  const ref = cluster.is === 'there' ? { ...place, uid: cluster.object.metadata.uid } : undefined;
  const isNamespacePaused =
    cluster.is === 'there' && cluster.namespace !== undefined && isPaused(cluster.namespace);
  const { program, client } = session;
  const options = optionsOf(program, settings);
  const request = { program, client, options, now, isNamespacePaused };
  const [answer, live] = await Promise.all([
    access instanceof TemporalProblem
      ? access
      : askTemporal({ access, client, now }, ref, place).catch(temporalProblemIn),
    ref && decideLive(ref, request),
  ]);
  const temporal: TemporalFindings =
    answer instanceof TemporalProblem ? { is: 'away', problem: answer.message } : answer;
  const run = temporal.is === 'reached' ? temporal.run : undefined;
  const link = run && (await session.linkTo(run.workflowId, run.runId));
  const controllers = configuredControllers(program, settings);
  const controller = controllers.find(({ name }) => name === place.controller) ?? resource.controller;
  return { controller, place, cluster, temporal, live, link, nowMs: now() };
}

function temporalProblemIn(error: unknown): TemporalProblem {
  if (error instanceof TemporalProblem) return error;
  throw error;
}

/** @throws ApiError if the cluster does not answer */
async function readCluster(
  { client }: Session,
  { object: named, place }: NamedResource,
): Promise<ClusterFindings> {
  const around = { type: NAMESPACES, namespace: undefined, name: place.namespace };
  try {
    const [object, namespace] = await Promise.all([
      readObject(client, named),
      // The user may be allowed to read the resource, but not its namespace.
      named.type.namespaced ? readObject(client, around).catch(() => undefined) : undefined,
    ]);
    return object === undefined ? { is: 'gone' } : { is: 'there', object, namespace };
  } catch (error) {
    if (error instanceof ApiError && isAboutReading(error)) return { is: 'unreadable', error };
    throw error;
  }
}

/** Without any login, nothing can be explained. */
function isAboutReading({ classification, status }: ApiError): boolean {
  return classification === 'api-missing' || (classification === 'access-denied' && status === 403);
}

interface Asking {
  readonly access: TemporalAccess;
  readonly client: Session['client'];
  readonly now: () => number;
}

/** @param ref undefined if the resource is gone @throws TemporalProblem */
async function askTemporal(
  { access, client, now }: Asking,
  ref: ResourceRef | undefined,
  place: ResourcePlace,
): Promise<Reached> {
  const { program, taskQueue, settings, unreadable, otherTaskQueues, otherCluster, runs } = access;
  const [run, ofOperator, noWatcher] = await Promise.all([
    ref === undefined ? lastRunOfName(access, place) : runs.describe(ref),
    pollersOf(access, taskQueue, now),
    watcherProblem({ client, program }, settings?.lease, now),
  ]);
  // If the run has another task queue than the operator, its own workers count.
  const isElsewhere = run?.isOpen === true && run.taskQueue !== taskQueue;
  const [workers, timeline] = await Promise.all([
    isElsewhere ? pollersOf(access, run.taskQueue, now) : ofOperator,
    run && runs.timeline(run),
  ]);
  const operator = { program, taskQueue, settings, unreadable, otherTaskQueues, otherCluster };
  return { is: 'reached', ...operator, workers, noWatcher, run, timeline };
}

async function lastRunOfName(
  { runs, cluster }: TemporalAccess,
  place: ResourcePlace,
): Promise<Run | undefined> {
  const [last] = await runs.ofPlace(place, cluster, 1);
  return last && runs.describe(last.ref, last.runId);
}

/** An error if not all of it can be read. */
async function decideLive(ref: ResourceRef, request: LiveRequest): Promise<LiveDecision | ApiError> {
  const { readLive } = await import('../cluster/live.ts');
  try {
    return await readLive(ref, request);
  } catch (error) {
    if (error instanceof ApiError) return error;
    // What the run fails with, too.
    if (error instanceof ControllerError) return new ApiError(error.message, { classification: 'refused' });
    throw error;
  }
}
