import type { Controller } from '../../contract/controller.ts';
import type { ResourceRef } from '../../contract/resource.ts';
import { NAMESPACES } from '../../controllers/kinds.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import type { Live, LiveRequest } from '../cluster/live.ts';
import { isPaused, readObject } from '../cluster/objects.ts';
import type { Session } from '../connection/session.ts';
import type { TemporalAccess } from '../connection/temporal.ts';
import { TemporalProblem } from '../connection/temporal-problem.ts';
import { controllersOf, optionsOf } from '../controllers.ts';
import { placeOf, type NamedResource, type ResourcePlace } from '../resource-name.ts';
import { describeRun, runsOfPlace, timelineOfRun } from '../runs/runs.ts';
import { workersOf } from '../runs/workers.ts';
import type { ClusterFindings, Findings, Reached, TemporalFindings } from './findings.ts';

/** Reads all that an explanation is made from, as much of it at once as can be. @throws ApiError */
export async function gather(
  session: Session,
  resource: NamedResource,
  now: () => number,
): Promise<Findings> {
  const place = placeOf(resource, session.namespace);
  const [access, cluster] = await Promise.all([
    session.temporal().catch(onlyTemporalProblem),
    readCluster(session, resource.controller, place),
  ]);
  const settings = access instanceof TemporalProblem ? undefined : access.settings;
  const ref = cluster.is === 'there' ? { ...place, uid: cluster.object.metadata.uid } : undefined;
  const [temporal, live] = await Promise.all([
    access instanceof TemporalProblem ? away(access) : askTemporal(access, ref, place).catch(asAway),
    ref && cluster.is === 'there'
      ? decideLive(ref, {
          client: session.client,
          options: optionsOf(settings),
          now,
          isNamespacePaused: cluster.namespace !== undefined && isPaused(cluster.namespace),
        })
      : undefined,
  ]);
  const run = temporal.is === 'reached' ? temporal.run : undefined;
  const link = run && (await session.linkTo(run.workflowId, run.runId));
  const controllers = controllersOf(settings);
  const controller = controllers.find(({ name }) => name === place.controller) ?? resource.controller;
  return { controller, place, cluster, temporal, live, link, nowMs: now() };
}

function onlyTemporalProblem(error: unknown): TemporalProblem {
  if (error instanceof TemporalProblem) return error;
  throw error;
}

function away({ message }: TemporalProblem): TemporalFindings {
  return { is: 'away', problem: message };
}

function asAway(error: unknown): TemporalFindings {
  return away(onlyTemporalProblem(error));
}

/** @throws ApiError where the cluster does not answer */
async function readCluster(
  { client }: Session,
  { primary: { type } }: Controller,
  place: ResourcePlace,
): Promise<ClusterFindings> {
  const around = { type: NAMESPACES, namespace: undefined, name: place.namespace };
  try {
    const [object, namespace] = await Promise.all([
      readObject(client, { ...place, type }),
      // Whoever may read the resource may not be allowed to read its namespace.
      type.namespaced ? readObject(client, around).catch(() => undefined) : undefined,
    ]);
    return object === undefined ? { is: 'gone' } : { is: 'there', object, namespace };
  } catch (error) {
    if (error instanceof ApiError && isAboutReading(error)) return { is: 'unreadable', error };
    throw error;
  }
}

/** With no login at all, nothing can be explained. */
function isAboutReading({ classification, status }: ApiError): boolean {
  return classification === 'api-missing' || (classification === 'access-denied' && status === 403);
}

/** @param ref undefined where the resource is gone @throws TemporalProblem */
async function askTemporal(
  access: TemporalAccess,
  ref: ResourceRef | undefined,
  place: ResourcePlace,
): Promise<TemporalFindings> {
  const { taskQueue, settings, unreadable, otherTaskQueues, otherCluster } = access;
  const [{ run, earlier }, ofOperator] = await Promise.all([
    ref === undefined ? lastRunOfName(access, place) : latestRunOf(access, ref),
    workersOf(access, taskQueue),
  ]);
  // The queue of the run may be another one than the operator's: then its own workers count.
  const isElsewhere = run?.isOpen === true && run.taskQueue !== taskQueue;
  const [workers, timeline] = await Promise.all([
    isElsewhere ? workersOf(access, run.taskQueue) : ofOperator,
    run && timelineOfRun(access, run),
  ]);
  const operator = { taskQueue, settings, unreadable, otherTaskQueues, otherCluster };
  return { is: 'reached', ...operator, workers, run, timeline, earlier };
}

type Latest = Pick<Reached, 'run' | 'earlier'>;

async function latestRunOf(access: TemporalAccess, ref: ResourceRef): Promise<Latest> {
  const run = await describeRun(access, ref);
  if (run !== undefined) return { run, earlier: undefined };
  const [earlier] = await runsOfPlace(access, ref, 1);
  return { run, earlier };
}

async function lastRunOfName(access: TemporalAccess, place: ResourcePlace): Promise<Latest> {
  const [last] = await runsOfPlace(access, place, 1);
  return { run: last && (await describeRun(access, last.ref, last.runId)), earlier: undefined };
}

/** An error where not all of it can be read, for want of rights or for the moment. */
async function decideLive(ref: ResourceRef, request: LiveRequest): Promise<Live | ApiError> {
  const { readLive } = await import('../cluster/live.ts');
  try {
    return await readLive(ref, request);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}
