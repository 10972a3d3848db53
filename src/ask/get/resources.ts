import type { Controller } from '../../contract/controller.ts';
import { reasonOf, type Decision } from '../../contract/decision.ts';
import type { KubernetesList, KubernetesObject } from '../../contract/object.ts';
import { NAMESPACES } from '../../controllers/kinds.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { resourcePath } from '../../kubernetes/paths.ts';
import { bounded } from '../bounded.ts';
import { isPaused, readObject } from '../cluster/objects.ts';
import type { Session } from '../connection/session.ts';
import { hasStatus } from '../controllers.ts';
import { NOT_STARTED, stateByDecision, stateByStatus, type State, type StatusSays } from '../state.ts';

/** A resource that its controller is responsible for, and how it does where no run is open for it. */
export interface ListedResource {
  readonly controller: Controller;
  readonly object: KubernetesObject;
  readonly atRest: StatusSays;
}

/** The objects of one controller, as the cluster has them. */
export interface Fetched {
  readonly controller: string;
  readonly objects: readonly KubernetesObject[];
  /** In the order of the controller's `children`; none where a status says how a resource does. */
  readonly children: readonly (readonly KubernetesObject[])[];
}

/** They could not be listed. */
export interface Unlisted {
  readonly controller: string;
  readonly error: ApiError;
}

/** Where to list. */
export interface Scope {
  /** Undefined: all. */
  readonly namespace: string | undefined;
  /** Undefined: all. */
  readonly name: string | undefined;
}

/** Lists what the controller watches. */
export async function fetchResources(
  controller: Controller,
  scope: Scope,
  { client }: Pick<Session, 'client'>,
): Promise<Fetched | Unlisted> {
  const { name, primary, children } = controller;
  const { namespaced } = primary.type;
  // A Namespace is in itself, with what it governs.
  const namespace = namespaced ? scope.namespace : (scope.name ?? scope.namespace);
  const ofPrimary = namespaced ? scope : { namespace: undefined, name: namespace };
  const ofChildren = { namespace, name: undefined };
  try {
    const [objects, ...others] = await Promise.all([
      listAll(client, primary, ofPrimary),
      ...(hasStatus(controller) ? [] : children.map((child) => listAll(client, child, ofChildren))),
    ]);
    return { controller: name, objects, children: others };
  } catch (error) {
    if (error instanceof ApiError) return { controller: name, error };
    throw error;
  }
}

/**
 * The names of the Namespaces that are paused, as far as whoever asks may read them: all at once, or, where that is not
 * allowed, one after the other.
 */
export async function fetchPausedNamespaces(
  { namespace }: Scope,
  { client }: Pick<Session, 'client'>,
  lists: Promise<readonly (Fetched | Unlisted)[]>,
): Promise<ReadonlySet<string>> {
  const all =
    namespace === undefined
      ? await unlessRefused(listAll(client, { type: NAMESPACES, metadataOnly: true }, NOT_LIMITED))
      : undefined;
  const namespaces =
    all ?? (await readNamespaces(client, namespace === undefined ? namespacesIn(await lists) : [namespace]));
  return new Set(namespaces.filter(isPaused).map(({ metadata }) => metadata.name));
}

const NOT_LIMITED: Scope = { namespace: undefined, name: undefined };
const READ_AT_A_TIME = 16;

async function readNamespaces(
  client: Session['client'],
  names: readonly string[],
): Promise<readonly KubernetesObject[]> {
  const read = await bounded(names, READ_AT_A_TIME, (name) =>
    unlessRefused(
      readObject(client, { type: NAMESPACES, namespace: undefined, name }, { metadataOnly: true }),
    ),
  );
  return read.filter((namespace) => namespace !== undefined);
}

function namespacesIn(lists: readonly (Fetched | Unlisted)[]): readonly string[] {
  const objects = lists.flatMap((list) => ('error' in list ? [] : list.objects));
  return [...new Set(objects.flatMap(({ metadata: { namespace } }) => namespace ?? []))];
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
  /** The names of those that are paused, as far as whoever asks may know. */
  readonly pausedNamespaces: ReadonlySet<string>;
  readonly nowMs: number;
  /** Whoever asks has named them: then also those are shown that a list leaves out. */
  readonly isNamed?: boolean;
}

/** How each of them does. @param controller as the operator has it, with its options */
export function resourcesIn(
  { objects, children }: Fetched,
  controller: Controller,
  { pausedNamespaces, nowMs, isNamed = false }: Around,
): readonly ListedResource[] {
  const childrenOf = byOwner(controller, children);
  return objects
    .filter((object) => isNamed || (controller.words?.isListed?.(object) ?? true))
    .map((object) => ({
      controller,
      object,
      atRest: hasStatus(controller)
        ? stateByStatus(object)
        : stateByItsController(controller, object, {
            children: childrenOf(object),
            isNamespacePaused: pausedNamespaces.has(object.metadata.namespace ?? ''),
            nowMs,
          }),
    }));
}

type Listable = Pick<Controller['primary'], 'type' | 'metadataOnly' | 'fieldSelector' | 'labelSelector'>;

/** From the server's cache, as a watch begins: one answer instead of a page every few hundred. */
async function listAll(
  client: Session['client'],
  { type, metadataOnly, fieldSelector = '', labelSelector }: Listable,
  { namespace, name }: Scope,
): Promise<readonly KubernetesObject[]> {
  const selectors = [fieldSelector, name === undefined ? '' : `metadata.name=${name}`];
  const { items } = await client.request<KubernetesList>({
    method: 'GET',
    path: resourcePath(type, type.namespaced ? { namespace } : {}),
    query: {
      resourceVersion: '0',
      fieldSelector: selectors.filter((each) => each !== '').join(',') || undefined,
      labelSelector,
    },
    ...(metadataOnly === true && { metadataOnly: 'list' as const }),
    timeoutMs: LIST_TIMEOUT_MS,
  });
  return items ?? [];
}

const LIST_TIMEOUT_MS = 30_000;

type ChildrenOf = (object: KubernetesObject) => readonly unknown[];

/** The views of children by the resource that they belong to, as the watcher keeps them. */
function byOwner({ children }: Controller, objects: readonly (readonly KubernetesObject[])[]): ChildrenOf {
  const views = new Map<string, unknown[]>();
  for (const [index, child] of children.entries()) {
    for (const object of objects[index] ?? []) {
      const [owner, seen] = [child.ownerKey(object), child.view(object)];
      if (owner === undefined || seen === undefined) continue;
      const known = views.get(owner);
      if (known === undefined) views.set(owner, [seen]);
      else known.push(seen);
    }
  }
  return ({ metadata: { namespace, name } }) =>
    views.get(namespace === undefined ? name : `${namespace}/${name}`) ?? [];
}

interface Seen {
  readonly children: readonly unknown[];
  readonly isNamespacePaused: boolean;
  readonly nowMs: number;
}

function stateByItsController(
  controller: Controller,
  object: KubernetesObject,
  { children, isNamespacePaused, nowMs }: Seen,
): StatusSays {
  const view = controller.primary.view(object);
  const observation = controller.observation(view, children);
  const decision = controller.decide(observation, nowMs, { isLive: true, isNamespacePaused });
  const state = stateByDecision(decision);
  const ignored = state === 'UpToDate' ? controller.words?.ignored?.(object) : undefined;
  if (ignored !== undefined) return { state: 'Ignored', message: ignored.because, since: undefined };
  return { state, message: messageOf(state, decision), since: undefined };
}

function messageOf(state: State, decision: Decision): string {
  if (state === 'UpToDate') return '';
  return state === 'Paused' ? reasonOf(decision) : NOT_STARTED;
}
