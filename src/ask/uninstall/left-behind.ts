import type { Controller, ResourceType } from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { MANAGED_BY, MANAGED_BY_LABEL, ROLE_BINDINGS } from '../../controllers/kinds.ts';
import { POD_SETS } from '../../controllers/pod-set/resource.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { bounded } from '../bounded.ts';
import { listObjects } from '../cluster/objects.ts';
import type { Session } from '../connection/session.ts';
import type { TemporalAccess } from '../connection/temporal.ts';
import { controllersOf } from '../controllers.ts';
import { DESCRIBED_AT_A_TIME, describeRun, listOpenRuns, type ListedRun } from '../runs/runs.ts';

/** What an operator is responsible for. */
export interface Scope {
  /** The names of controllers. */
  readonly controllers: readonly string[];
  /** None: all of them. */
  readonly namespaces: readonly string[];
}

/** Resources with a finalizer that only the operator takes away: one or more of a type. */
export interface HangingResources {
  readonly type: ResourceType;
  readonly finalizer: string;
  readonly resources: readonly KubernetesObject[];
}

/** What there would be without the operator. */
export interface LeftBehind {
  /** Resources that could never be deleted, by controllers that have any. */
  readonly hanging: readonly HangingResources[];
  /** Runs that would stay open for ever: only its workers complete them. */
  readonly runs: readonly ListedRun[];
  /** PodSets, whose Pods go on running. */
  readonly podSets: number;
  /** RoleBindings that the operator made. */
  readonly roleBindings: number;
}

/** @throws ApiError, TemporalProblem */
export async function findLeftBehind(
  client: Session['client'],
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
    Promise.all(controllersOf().map(hangingOf)),
    list('pod-set', POD_SETS),
    list('namespace-role-binding', ROLE_BINDINGS, `${MANAGED_BY_LABEL}=${MANAGED_BY}`),
    runsStillOpen(access),
  ]);
  return {
    hanging: hanging.flat(),
    runs,
    podSets: podSets.length,
    roleBindings: roleBindings.length,
  };
}

interface Listing extends Scope {
  readonly type: ResourceType;
  readonly labelSelector: string | undefined;
}

async function listIn(
  client: Session['client'],
  { type, labelSelector, namespaces }: Listing,
): Promise<readonly KubernetesObject[]> {
  const places = type.namespaced && namespaces.length > 0 ? namespaces : [undefined];
  try {
    const lists = await Promise.all(
      places.map((namespace) => listObjects(client, type, { namespace, labelSelector, metadataOnly: true })),
    );
    return lists.flat();
  } catch (error) {
    if (error instanceof ApiError && error.classification === 'api-missing') return [];
    throw error;
  }
}

/** More of them cannot all have ended just now. */
const LOOKED_AT = 20;

/** Temporal's list may be a second late: a few are looked at one by one. */
async function runsStillOpen(access: TemporalAccess): Promise<readonly ListedRun[]> {
  const listed = await listOpenRuns(access, { controller: undefined, namespace: undefined });
  if (listed.length > LOOKED_AT) return listed;
  const now = await bounded(listed, DESCRIBED_AT_A_TIME, ({ ref, runId }) => describeRun(access, ref, runId));
  return now.filter((run) => run?.isOpen === true).flatMap((run) => run ?? []);
}
