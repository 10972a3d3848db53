import type { ChildManifest } from '../../../api/child.ts';
import { apiVersionOf, type ResourceType } from '../../../contract/controller.ts';
import type { KubernetesObject, ObjectMeta, OwnerReference } from '../../../contract/object.ts';
import { controllerOf, MANAGED_BY, MANAGED_BY_LABEL } from '../../kinds.ts';
import { fieldsOf } from '../../fields.ts';
import { manifestDigest } from './digest.ts';
import { ourFields } from './owned-fields.ts';

/** On each declared object: the UID of the resource that declares it. */
export const OWNER_LABEL = 'durable-operator.dev/owner-uid';
/** On one that cannot have an owner reference: `<controller>/<namespace>/<name>` of the resource. */
const OWNER_ANNOTATION = 'durable-operator.dev/owner';

/** A type of `owns`, as far as declared objects are concerned. */
export interface DeclaredType extends ResourceType {
  /** The operator: the field manager of what it writes, and the value of the label managed-by. Default: ours. */
  readonly manager?: string;
  readonly once?: true;
  readonly replace?: true;
  /** It was declared by an earlier version: all that is left is deleted. */
  readonly retired?: true;
}

/** Which object of which type. */
export interface ChildRef {
  readonly type: DeclaredType;
  /** Undefined where the type is cluster-scoped. */
  readonly namespace: string | undefined;
  readonly name: string;
}

/** A declared object, as the watcher keeps it. */
export interface Wanted extends ChildRef {
  readonly digest: string;
  /** It cannot have an owner reference: the garbage collector does not delete it with the resource. */
  readonly isElsewhere: boolean;
}

/** A declared object with what is sent. */
export interface WantedObject extends Wanted {
  readonly object: KubernetesObject;
}

/** Whose objects they are. */
export interface ChildOwner {
  readonly controller: string;
  readonly type: ResourceType;
  readonly metadata: Pick<ObjectMeta, 'namespace' | 'name' | 'uid'>;
}

/**
 * What an author declares, with what says whose it is.
 *
 * @throws Error where it cannot be created: a mistake of the controller
 */
export function wantedOf(
  manifests: readonly ChildManifest[],
  owner: ChildOwner,
  types: readonly DeclaredType[],
): readonly WantedObject[] {
  const wanted = manifests.map((manifest) => wantedObject(manifest, owner, types));
  const twice = wanted.find((one, place) => wanted.findIndex((each) => isSame(each, one)) !== place);
  if (twice !== undefined) throw new Error(`children declares ${inWords(twice)} twice`);
  return wanted;
}

function wantedObject(
  manifest: ChildManifest,
  owner: ChildOwner,
  types: readonly DeclaredType[],
): WantedObject {
  const { apiVersion, kind, metadata } = manifest;
  const type = types.find(
    (each) => each.kind === kind && apiVersionOf(each) === apiVersion && each.retired !== true,
  );
  if (type === undefined)
    throw new Error(`children declares ${apiVersion} ${kind}, which owns does not list without a view`);
  const namespace = type.namespaced ? (metadata.namespace ?? owner.metadata.namespace) : undefined;
  if (type.namespaced && namespace === undefined)
    throw new Error(`children declares ${kind} ${metadata.name} without a namespace`);
  const isElsewhere = owner.type.namespaced && namespace !== owner.metadata.namespace;
  const object = withData({
    ...manifest,
    metadata: {
      ...metadata,
      ...(namespace && { namespace }),
      ...marksOf(metadata, { ...owner, ...(type.manager && { manager: type.manager }) }, isElsewhere),
    },
  } as unknown as KubernetesObject);
  return { type, namespace, name: metadata.name, digest: manifestDigest(object, type), isElsewhere, object };
}

/** What says whose an object is. */
function marksOf(
  { labels, annotations }: ChildManifest['metadata'],
  owner: ChildOwner & Pick<DeclaredType, 'manager'>,
  isElsewhere: boolean,
): Partial<ObjectMeta> {
  const { manager = MANAGED_BY } = owner;
  const { namespace = '', name, uid } = owner.metadata;
  const ours = { [MANAGED_BY_LABEL]: manager, [OWNER_LABEL]: uid };
  if (!isElsewhere) return { labels: { ...labels, ...ours }, ownerReferences: [ownerReferenceTo(owner)] };
  const place = { [OWNER_ANNOTATION]: `${owner.controller}/${namespace}/${name}` };
  return { labels: { ...labels, ...ours }, annotations: { ...annotations, ...place } };
}

function ownerReferenceTo({ type, metadata: { name, uid } }: ChildOwner): OwnerReference {
  const { kind } = type;
  return { apiVersion: apiVersionOf(type), kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Of a Secret, the server keeps `data` alone. It refuses anything but text. */
function withData(object: KubernetesObject): KubernetesObject {
  const { stringData, ...rest } = object;
  if (object.kind !== 'Secret' || stringData === undefined) return object;
  const encoded: Record<string, string> = {};
  for (const [name, text] of Object.entries(fieldsOf(stringData))) {
    if (typeof text !== 'string') return object;
    encoded[name] = Buffer.from(text).toString('base64');
  }
  return { ...rest, metadata: object.metadata, data: { ...fieldsOf(rest['data']), ...encoded } };
}

/** The key of the resource that an object belongs to; undefined: it is no declared object of this controller. */
export function childOwnerKey(
  { metadata }: KubernetesObject,
  { controller, type }: Omit<ChildOwner, 'metadata'>,
): string | undefined {
  const reference = controllerOf(metadata);
  if (reference !== undefined) {
    const isOurs = reference.kind === type.kind && groupOf(reference.apiVersion) === type.group;
    if (!isOurs) return undefined;
    return type.namespaced ? `${metadata.namespace ?? ''}/${reference.name}` : reference.name;
  }
  const [its, ...key] = (metadata.annotations?.[OWNER_ANNOTATION] ?? '').split('/');
  return its === controller ? key.join('/') : undefined;
}

/** Whether an object is the resource's to change. */
export function isOwnedBy({ metadata }: KubernetesObject, owner: ChildOwner): boolean {
  const reference = controllerOf(metadata);
  if (reference !== undefined) return reference.uid === owner.metadata.uid;
  const {
    controller,
    metadata: { namespace = '', name, uid },
  } = owner;
  return (
    metadata.labels?.[OWNER_LABEL] === uid &&
    metadata.annotations?.[OWNER_ANNOTATION] === `${controller}/${namespace}/${name}`
  );
}

/**
 * Whether an object has lost its owner reference, and everything else says that it is the resource's. One of `once` does not get it back:
 * an apply would change more.
 */
export function hasLostOwner(
  object: KubernetesObject,
  { type, isElsewhere }: Wanted,
  owner: ChildOwner,
): boolean {
  const { metadata } = object;
  return (
    !isElsewhere &&
    type.once !== true &&
    controllerOf(metadata) === undefined &&
    metadata.labels?.[OWNER_LABEL] === owner.metadata.uid &&
    ourFields(object, type.manager) !== undefined
  );
}

export function isSame(one: ChildRef, other: ChildRef): boolean {
  return (
    one.name === other.name &&
    one.namespace === other.namespace &&
    one.type.plural === other.type.plural &&
    one.type.group === other.type.group
  );
}

/** `Deployment shop/web`, `ClusterRole web` */
export function inWords({ type, namespace, name }: ChildRef): string {
  return `${type.kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
}
