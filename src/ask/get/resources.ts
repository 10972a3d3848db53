import { isNamespaceType } from '../../api/resource-type.ts';
import { type Controller } from '../../engine/controller.ts';
import { causeOf, reasonOf } from '../../runs/decision.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { MessageInput } from '../../api/messages.ts';
import { NAMESPACES } from '../../api/kinds.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { isPaused } from '../../api/annotations.ts';
import { listObjects, readObject } from '../cluster/objects.ts';
import { childrenNotWell, hasStatus } from '../controllers.ts';
import {
  endedWithNamespace,
  NOT_STARTED,
  notStarted,
  stateByDecision,
  stateByStatus,
  stateOfDone,
  type StatusSays,
} from '../state.ts';

/** A resource that its controller is responsible for, and its state if no run is open for it. */
export interface ListedResource {
  readonly controller: Controller;
  readonly object: KubernetesObject;
  readonly atRest: StatusSays;
  /** Its children that are not well; only if it is named. */
  readonly notWell: readonly string[];
}

/** The objects of one controller, as the cluster has them. */
export interface Fetched {
  readonly controller: string;
  readonly objects: readonly KubernetesObject[];
  /** In the order of the controller's `children`. Empty if a status reports the state, unless the resource is named. */
  readonly children: readonly (readonly KubernetesObject[])[];
  /** They could not be listed. */
  readonly error?: ApiError;
}

/** An undefined field restricts nothing. */
export interface ResourceScope {
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** Of labels; not of children. */
  readonly selector?: string | undefined;
}

/** Lists the objects that the controller watches. */
export async function fetchResources(
  client: KubernetesClient,
  controller: Controller,
  scope: ResourceScope,
): Promise<Fetched> {
  const { name, primary } = controller;
  const { namespaced } = primary.type;
  // The children of a Namespace are in it.
  const namespace = namespaced ? scope.namespace : (scope.name ?? scope.namespace);
  const ofPrimary = namespaced ? scope : { ...scope, namespace: undefined, name: namespace };
  const isOfNamespace = namespaced || isNamespaceType(primary.type);
  const ofChildren = { namespace: isOfNamespace ? namespace : undefined, name: undefined };
  try {
    const [objects, ...others] = await Promise.all([
      listAll(client, primary, ofPrimary),
      ...childrenToList(controller, scope).map((child) => {
        const listing = listAll(client, child, ofChildren);
        return hasStatus(controller) ? unlessRefused(listing).then((list = []) => list) : listing;
      }),
    ]);
    return { controller: name, objects, children: others };
  } catch (error) {
    if (error instanceof ApiError) return { controller: name, objects: [], children: [], error };
    throw error;
  }
}

function childrenToList(controller: Controller, { name }: ResourceScope): Controller['children'] {
  return hasStatus(controller) && name === undefined ? [] : controller.children;
}

type Listable = Pick<Controller['primary'], 'type' | 'metadataOnly' | 'fieldSelector' | 'labelSelector'>;

function listAll(
  client: KubernetesClient,
  { type, metadataOnly, fieldSelector = '', labelSelector = '' }: Listable,
  { namespace, name, selector = '' }: ResourceScope,
): Promise<readonly KubernetesObject[]> {
  const selectors = [fieldSelector, name === undefined ? '' : `metadata.name=${name}`];
  return listObjects(client, type, {
    namespace: type.namespaced ? namespace : undefined,
    labelSelector: [labelSelector, selector].filter(Boolean).join(',') || undefined,
    fieldSelector: selectors.filter(Boolean).join(',') || undefined,
    metadataOnly: metadataOnly === true,
    isFromCache: true,
  });
}

/** By their names. */
export type NamespacesByName = ReadonlyMap<string, KubernetesObject>;

/** Those that the user may read. @param namespace undefined: all */
export async function fetchNamespaces(
  client: KubernetesClient,
  namespace: string | undefined,
): Promise<NamespacesByName> {
  if (namespace !== undefined) {
    const object = { type: NAMESPACES, namespace: undefined, name: namespace };
    const found = await unlessRefused(readObject(client, object, { metadataOnly: true }));
    return new Map(found && [[namespace, found]]);
  }
  const everything = { namespace: undefined, name: undefined };
  const all = await unlessRefused(listAll(client, { type: NAMESPACES, metadataOnly: true }, everything));
  return new Map(all?.map((each) => [each.metadata.name, each]));
}

async function unlessRefused<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

export interface Around {
  readonly namespaces: NamespacesByName;
  readonly nowMs: number;
  /** A named resource is shown even if a list leaves it out. */
  readonly isNamed?: boolean;
}

/** The state of each of them at rest. @param controller with the options of the operator */
export function resourcesIn(
  { objects, children }: Fetched,
  controller: Controller,
  around: Around,
): readonly ListedResource[] {
  const childrenOf = byOwner(controller, children);
  const listed = objects.filter(
    (object) => around.isNamed === true || (controller.words?.isListed?.(object) ?? true),
  );
  const { isNamed = false } = around;
  // Most are known by their status, and 10,000 views take a while.
  const isViewed = isNamed || !hasStatus(controller);
  return listed.flatMap((object) => {
    const view = isViewed ? controller.primary.view(object) : object;
    if (view === undefined) return [];
    const observation = isViewed
      ? controller.observation(view, childrenOf(object), object.metadata)
      : undefined;
    const subject = { object, observation };
    const notWell = isNamed ? childrenNotWell(controller, subject) : [];
    return [{ controller, object, atRest: stateAtRest(controller, subject, around), notWell }];
  });
}

function stateAtRest(controller: Controller, subject: MessageInput, around: Around): StatusSays {
  const { object } = subject;
  const namespace = around.namespaces.get(object.metadata.namespace ?? '');
  const ended = endedWithNamespace(controller, object, namespace);
  if (ended !== undefined) {
    const since = namespace?.metadata.deletionTimestamp;
    return { state: 'Ignored', message: ended.message, since, cause: ended };
  }
  const says = hasStatus(controller)
    ? stateByStatus(controller, object)
    : stateByItsController(controller, subject, around);
  if (says.state !== 'UpToDate') return says;
  const done = stateOfDone(controller, object);
  return { ...done, since: done.since ?? says.since };
}

type ChildrenOf = (object: KubernetesObject) => readonly unknown[];

/** The views of children by the resource that they belong to, as the watcher keeps them. */
function byOwner({ children }: Controller, objects: readonly (readonly KubernetesObject[])[]): ChildrenOf {
  const views = new Map<string, unknown[]>();
  for (const [index, child] of children.entries()) {
    for (const object of objects[index] ?? []) {
      const [owner, view] = [child.ownerKey(object), child.view(object)];
      if (owner === undefined || view === undefined) continue;
      const known = views.get(owner);
      if (known === undefined) views.set(owner, [view]);
      else known.push(view);
    }
  }
  return ({ metadata: { namespace, name } }) =>
    views.get(namespace === undefined ? name : `${namespace}/${name}`) ?? [];
}

function stateByItsController(
  controller: Controller,
  { object, observation }: MessageInput,
  { namespaces, nowMs }: Around,
): StatusSays {
  const namespace = namespaces.get(object.metadata.namespace ?? '');
  const isNamespacePaused = namespace !== undefined && isPaused(namespace);
  const decision = controller.decide(observation, nowMs, { isLive: true, isNamespacePaused });
  const [state, cause] = [stateByDecision(decision), causeOf(decision)];
  if (state !== 'UpToDate') {
    const message = cause?.message ?? (state === 'Paused' ? reasonOf(decision) : NOT_STARTED);
    return { ...notStarted(object), state, message, cause };
  }
  const ignored = controller.words?.ignored?.(object);
  if (ignored !== undefined) return { state: 'Ignored', message: ignored.message, since: undefined };
  return { state, message: '', since: undefined };
}
