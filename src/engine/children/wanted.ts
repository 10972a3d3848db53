/*
 * Declared objects. In: the manifests that an author's `children` returns, and the views of the objects that there are. Out: which object
 * to create, apply or delete next, and why one is not ready. Nothing here reads or writes, and an object of somebody else is never
 * changed.
 */

import type { ChildManifest, ChildOptions, WrappedChild } from '../../api/child.ts';
import { apiVersionOf, typeNameOf, type ResourceType } from '../../api/resource-type.ts';
import type { KubernetesObject, ObjectMeta, OwnerReference } from '../../api/object.ts';
import { controllerOf, MANAGED_BY, MANAGED_BY_LABEL } from '../../api/kinds.ts';
import { fieldsOf } from '../../api/fields.ts';
import { manifestDigest } from './digest.ts';
import { ourFields } from './owned-fields.ts';

/** On each declared object: the UID of the resource that declares it. */
export const OWNER_LABEL = 'durable-operator.dev/owner-uid';
/** On one that cannot have an owner reference: `<controller>/<namespace>/<name>` of the resource. */
const OWNER_ANNOTATION = 'durable-operator.dev/owner';
/** On one that is created after others: the keys of these. The deletion of its resource follows it, whatever the controller says by then. */
const AFTER_ANNOTATION = 'durable-operator.dev/after';
/** On one that is not changed: nobody makes a digest of it, for it may hold what was generated. */
const CREATE_ONLY_ANNOTATION = 'durable-operator.dev/create-only';

/** A type of `owns`, as far as declared objects are concerned. */
export interface DeclaredType extends ResourceType {
  /** The operator: the field manager of what it writes, and the value of the label managed-by. Default: ours. */
  readonly manager?: string;
  readonly optional?: true;
  /** What `current` has of its objects. */
  readonly view?: (object: KubernetesObject) => unknown;
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
  readonly createOnly?: true;
  /** The objects that have to be ready before it is created. */
  readonly after?: readonly ChildRef[];
  readonly ready?: ChildOptions['ready'];
  readonly recreate?: ChildOptions['recreate'];
}

/** A declared object with what is sent. */
export interface WantedObject extends Wanted {
  readonly object: KubernetesObject;
  readonly generate?: ChildOptions['generate'];
  readonly adopt?: ChildOptions['adopt'];
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
  declared: readonly (ChildManifest | WrappedChild)[],
  owner: ChildOwner,
  types: readonly DeclaredType[],
): readonly WantedObject[] {
  const wanted = declared.map((each) => wantedObject(each, owner, types));
  const twice = wanted.find((one, place) => wanted.findIndex((each) => isSame(each, one)) !== place);
  if (twice !== undefined) throw new Error(`children declares ${inWords(twice)} twice`);
  for (const each of wanted) checkOrder(each, wanted, []);
  return wanted;
}

/** @throws Error where it would never be created */
function checkOrder(one: Wanted, wanted: readonly Wanted[], before: readonly Wanted[]): void {
  if (before.includes(one))
    throw new Error(`children declares a cycle: ${[...before, one].map(inWords).join(' after ')}`);
  for (const each of one.after ?? []) {
    const its = wanted.find((other) => isSame(other, each));
    if (its === undefined)
      throw new Error(`children declares ${inWords(one)} after ${inWords(each)}, which it does not declare`);
    checkOrder(its, wanted, [...before, one]);
  }
}

function isWrapped(declared: ChildManifest | WrappedChild): declared is WrappedChild {
  return !('apiVersion' in declared) && 'manifest' in declared;
}

function wantedObject(
  declared: ChildManifest | WrappedChild,
  owner: ChildOwner,
  types: readonly DeclaredType[],
): WantedObject {
  const wrapped: WrappedChild = isWrapped(declared) ? declared : { manifest: declared };
  const { createOnly, generate, ready, recreate, adopt } = wrapped;
  const after = wrapped.after?.map((each) => placeOf(isWrapped(each) ? each.manifest : each, owner, types));
  const place = placeOf(wrapped.manifest, owner, types);
  const isElsewhere = owner.type.namespaced && place.namespace !== owner.metadata.namespace;
  if (adopt === true && (isElsewhere || !owner.type.namespaced))
    throw new Error(
      `children declares ${inWords(place)} with adopt: true, which is only for objects in the namespace of the resource: give a function that says which object may be taken over`,
    );
  const object = objectAt(place, wrapped.manifest, {
    ...{ owner, isElsewhere },
    marks: {
      ...(createOnly && { [CREATE_ONLY_ANNOTATION]: 'true' }),
      ...(after && { [AFTER_ANNOTATION]: after.map(afterKey).join(',') }),
    },
  });
  const digest = manifestDigest(object, place.type);
  return {
    ...{ ...place, digest, isElsewhere, object },
    ...(createOnly && { createOnly }),
    ...(generate && { generate }),
    ...(adopt && { adopt }),
    ...(ready && { ready }),
    ...(recreate && { recreate }),
    ...(after && { after }),
  };
}

/** @throws Error where no object can be there */
function placeOf(
  { apiVersion, kind, metadata }: ChildManifest,
  owner: ChildOwner,
  types: readonly DeclaredType[],
): ChildRef {
  const type = types.find(
    (each) => each.kind === kind && apiVersionOf(each) === apiVersion && each.retired !== true,
  );
  if (type === undefined)
    throw new Error(`children declares ${apiVersion} ${kind}, which owns does not list`);
  const namespace = type.namespaced ? (metadata.namespace ?? owner.metadata.namespace) : undefined;
  if (type.namespaced && namespace === undefined)
    throw new Error(`children declares ${kind} ${metadata.name} without a namespace`);
  return { type, namespace, name: metadata.name };
}

interface Marking {
  readonly owner: ChildOwner;
  readonly isElsewhere: boolean;
  /** Annotations. */
  readonly marks: Readonly<Record<string, string>>;
}

function objectAt(
  { type: { manager = MANAGED_BY }, namespace }: ChildRef,
  manifest: ChildManifest,
  { owner, isElsewhere, marks: before }: Marking,
): KubernetesObject {
  const { metadata } = manifest;
  const { labels, annotations } = metadata;
  const { namespace: home = '', name, uid } = owner.metadata;
  const place = { [OWNER_ANNOTATION]: `${owner.controller}/${home}/${name}` };
  const marks = { ...before, ...(isElsewhere && place) };
  return withData({
    ...manifest,
    metadata: {
      ...metadata,
      ...(namespace && { namespace }),
      labels: { ...labels, [MANAGED_BY_LABEL]: manager, [OWNER_LABEL]: uid },
      ...(Object.keys(marks).length > 0 && { annotations: { ...annotations, ...marks } }),
      ...(!isElsewhere && { ownerReferences: [ownerReferenceTo(owner)] }),
    },
  } as unknown as KubernetesObject);
}

/** Where {@link AFTER_ANNOTATION} names an object. */
export function afterKey({ type, namespace, name }: ChildRef): string {
  return [typeNameOf(type), ...(namespace === undefined ? [] : [namespace]), name].join('/');
}

/** Which objects it was created after, by their {@link afterKey}. */
export function afterIn({ metadata }: KubernetesObject): readonly string[] {
  return (metadata.annotations?.[AFTER_ANNOTATION] ?? '').split(',').filter((key) => key !== '');
}

export function isCreateOnly({ metadata }: KubernetesObject): boolean {
  return metadata.annotations?.[CREATE_ONLY_ANNOTATION] !== undefined;
}

function ownerReferenceTo({ type, metadata: { name, uid } }: ChildOwner): OwnerReference {
  const { kind } = type;
  return { apiVersion: apiVersionOf(type), kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Of a Secret, the server keeps `data` alone. It refuses anything but text. */
export function withData(object: KubernetesObject): KubernetesObject {
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

/** Why nobody may take an object over; undefined: it may be. What an earlier resource of the same name has left may be. */
export function controllerIn(object: KubernetesObject, owner: ChildOwner): string | undefined {
  const reference = controllerOf(object.metadata);
  const { controller, type, metadata } = owner;
  if (reference !== undefined)
    return isFormer(reference, owner) ? undefined : `${reference.kind} ${reference.name}`;
  const place = object.metadata.annotations?.[OWNER_ANNOTATION];
  const own = `${controller}/${metadata.namespace ?? ''}/${metadata.name}`;
  return place === undefined || place === own ? undefined : `${type.kind} ${place}`;
}

/** Of the same kind and name, with another UID: it cannot be there any more. */
function isFormer({ apiVersion, kind, name }: OwnerReference, { type, metadata }: ChildOwner): boolean {
  return kind === type.kind && groupOf(apiVersion) === type.group && name === metadata.name;
}

/** The metadata that makes an object the resource's. Nobody owns the rest of it then. */
export function adoptedMetadata(
  { metadata: { ownerReferences = [] } }: KubernetesObject,
  { object: { metadata } }: WantedObject,
  owner: ChildOwner,
): Partial<ObjectMeta> {
  const { labels = {}, annotations = {}, ownerReferences: own = [] } = metadata;
  const others = ownerReferences.filter((each) => !(each.controller === true && isFormer(each, owner)));
  const marks = Object.entries(annotations).filter(([name]) =>
    [OWNER_ANNOTATION, AFTER_ANNOTATION].includes(name),
  );
  return {
    labels: { [MANAGED_BY_LABEL]: labels[MANAGED_BY_LABEL] ?? '', [OWNER_LABEL]: labels[OWNER_LABEL] ?? '' },
    ...(marks.length > 0 && { annotations: Object.fromEntries(marks) }),
    ownerReferences: [...others, ...own],
  };
}

/**
 * Whether an object has lost its owner reference, and everything else says that it is the resource's. One that is not changed does not get it back:
 * an apply would change more.
 */
export function hasLostOwner(
  object: KubernetesObject,
  { type, isElsewhere, createOnly }: Wanted,
  owner: ChildOwner,
): boolean {
  const { metadata } = object;
  return (
    !isElsewhere &&
    createOnly !== true &&
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
