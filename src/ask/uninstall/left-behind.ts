import type { Controller, ResourceType } from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { MANAGED_BY, MANAGED_BY_LABEL, ROLE_BINDINGS } from '../../controllers/kinds.ts';
import { POD_SETS } from '../../controllers/pod-set/resource.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { isOf } from '../../kubernetes/errors.ts';
import { stillOpen } from '../../temporal/open-runs.ts';
import type { ListedRun } from '../../temporal/run-reader.ts';
import { listObjects } from '../cluster/objects.ts';
import type { Session } from '../connection/session.ts';
import type { TemporalAccess } from '../connection/temporal.ts';
import { controllersOf } from '../controllers.ts';

/** The responsibility of an operator. */
export interface Scope {
  readonly controllers: readonly string[];
  /** Empty: all of them. */
  readonly namespaces: readonly string[];
}

/** One or more resources of a type, with a finalizer that only the operator removes. */
export interface HangingResources {
  readonly type: ResourceType;
  readonly finalizer: string;
  readonly resources: readonly KubernetesObject[];
}

export interface LeftBehind {
  readonly hanging: readonly HangingResources[];
  /** Runs that would stay open: only the operator's workers complete them. */
  readonly runs: readonly ListedRun[];
  readonly podSets: number;
  readonly roleBindings: number;
}

/** @throws ApiError, TemporalProblem */
export async function findLeftBehind(
  { program, client }: Pick<Session, 'program' | 'client'>,
  access: TemporalAccess,
  scope: Scope,
): Promise<LeftBehind> {
  const list = (controller: string, type: ResourceType, labelSelector?: string) =>
    scope.controllers.includes(controller) ? listIn(client, { type, labelSelector, ...scope }) : [];
  const hangingOf = async ({ name, finalizer, primary: { type } }: Controller) => {
    if (finalizer === undefined) return [];
    const found = await list(name, type);
    const resources = found.filter(({ metadata }) => metadata.finalizers?.includes(finalizer));
    return resources.length === 0 ? [] : [{ type, finalizer, resources }];
  };
  const [hanging, podSets, roleBindings, runs] = await Promise.all([
    Promise.all(controllersOf(program).map(hangingOf)),
    list('pod-set', POD_SETS),
    list('namespace-role-binding', ROLE_BINDINGS, `${MANAGED_BY_LABEL}=${MANAGED_BY}`),
    runsStillOpen(access),
  ]);
  return { hanging: hanging.flat(), runs, podSets: podSets.length, roleBindings: roleBindings.length };
}

interface Listing extends Scope {
  readonly type: ResourceType;
  readonly labelSelector: string | undefined;
}

async function listIn(
  client: KubernetesClient,
  { type, labelSelector, namespaces }: Listing,
): Promise<readonly KubernetesObject[]> {
  const places = type.namespaced && namespaces.length > 0 ? namespaces : [undefined];
  try {
    const lists = await Promise.all(
      places.map((namespace) => listObjects(client, type, { namespace, labelSelector, metadataOnly: true })),
    );
    return lists.flat();
  } catch (error) {
    if (isOf(error, 'api-missing')) return [];
    throw error;
  }
}

/** More runs cannot all have ended within the second by which Temporal's list is late. */
const CHECKED_MAX = 20;

async function runsStillOpen({ runs, taskQueue, cluster }: TemporalAccess): Promise<readonly ListedRun[]> {
  const listed = await runs.listOpen({ taskQueue, cluster });
  return listed.length > CHECKED_MAX ? listed : stillOpen(runs, listed);
}
