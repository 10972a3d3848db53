import type { ResourceType } from '../contract/controller.ts';
import type { KubernetesList, KubernetesObject } from '../contract/object.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { isOf } from '../kubernetes/errors.ts';
import { found } from '../kubernetes/found.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import { AskProblem } from './ask.ts';

/** An object that is to be annotated. */
export interface Target {
  readonly type: ResourceType;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
}

/** An object as it is now. */
export interface LiveTarget extends Target {
  readonly annotations: Readonly<Record<string, string>>;
  readonly resourceVersion: string;
}

/** null removes it. */
export type Annotations = Readonly<Record<string, string | null>>;

export interface TargetName {
  readonly type: ResourceType;
  /** Of no meaning where the type is not namespaced. */
  readonly namespace: string;
  readonly name: string;
}

/** @throws AskProblem where there is none; ApiError */
export async function readTarget(client: KubernetesClient, target: TargetName): Promise<LiveTarget> {
  const { type, name } = target;
  const namespace = type.namespaced ? target.namespace : undefined;
  const path = resourcePath(type, { namespace, name });
  const object = await found(client.request<KubernetesObject>({ method: 'GET', path, metadataOnly: true }));
  if (object === undefined) {
    const place = namespace === undefined ? '' : ` in namespace ${namespace}`;
    throw new AskProblem(
      `there is no ${type.kind} ${name}${place}; check the name${namespace ? ' and -n' : ''}`,
    );
  }
  return targetFrom(object, type);
}

const PAGE = 500;

/** All of a type. @param namespace undefined: of all namespaces. @throws ApiError */
export async function listTargets(
  client: KubernetesClient,
  type: ResourceType,
  namespace: string | undefined,
): Promise<readonly LiveTarget[]> {
  const targets: LiveTarget[] = [];
  const path = resourcePath(type, { namespace: type.namespaced ? namespace : undefined });
  let next: string | undefined;
  do {
    const query = { limit: PAGE, continue: next };
    const page = await client.request<KubernetesList>({ method: 'GET', path, query, metadataOnly: 'list' });
    targets.push(...(page.items ?? []).map((object) => targetFrom(object, type)));
    next = page.metadata.continue === '' ? undefined : page.metadata.continue;
  } while (next !== undefined);
  return targets;
}

function targetFrom({ metadata }: KubernetesObject, type: ResourceType): LiveTarget {
  const { namespace, name, uid, resourceVersion, annotations = {} } = metadata;
  return { type, namespace, name, uid, resourceVersion, annotations };
}

/**
 * Writes annotations with the user's own rights; never to another object of the same name.
 *
 * @param resourceVersion where they are about the object as it was read
 * @returns false where the object is gone, or has changed since
 * @throws ApiError
 */
export async function annotate(
  client: KubernetesClient,
  { type, namespace, name, uid }: Target,
  annotations: Annotations,
  resourceVersion?: string,
): Promise<boolean> {
  const path = resourcePath(type, { namespace, name });
  const metadata = { uid, ...(resourceVersion !== undefined && { resourceVersion }), annotations };
  try {
    await client.request({ method: 'PATCH', path, body: { metadata }, metadataOnly: true });
    return true;
  } catch (error) {
    if (isOf(error, 'not-found', 'conflict')) return false;
    throw error;
  }
}

/** `podset/web` */
export function shortName({ type, name }: Pick<Target, 'type' | 'name'>): string {
  return `${type.kind.toLowerCase()}/${name}`;
}

/** `podset/web -n shop`: as it follows a command. */
export function fullName(target: Pick<Target, 'type' | 'name' | 'namespace'>): string {
  return target.namespace === undefined ? shortName(target) : `${shortName(target)} -n ${target.namespace}`;
}

/** `1 PodSet`, `12 PodSets` */
export function countOf(count: number, kind: string): string {
  return count === 1 ? `1 ${kind}` : `${count} ${/[sx]$/.test(kind) ? `${kind}es` : `${kind}s`}`;
}
