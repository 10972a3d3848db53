import type { StatusCause } from '../../src/api/api-error.ts';
import type { ResourceType } from '../../src/api/resource-type.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { POD_DISRUPTION_BUDGETS } from '../../src/api/built-in.ts';
import { matchesLabels, parseLabelSelector } from '../../src/api/label-selector.ts';
import type { RequestOptions } from '../../src/kubernetes/client.ts';
import type { FailedAnswer } from '../../src/kubernetes/errors.ts';
import { Violation } from './explorer.ts';
import { elsewhere, objectKey, type SimulatedCluster, type Created, type Found } from './cluster.ts';
import { applied, conflictsOf, createdBy } from './managed-fields.ts';

/** The parts of a request that the server reads. */
export interface Request extends Pick<RequestOptions, 'path' | 'query' | 'body' | 'metadataOnly'> {
  /** CALL: of an outside system, its name is the path. */
  readonly method: RequestOptions['method'] | 'CALL';
}

export type ServerAnswer = { readonly body: unknown } | { readonly failed: FailedAnswer };

/** What is different about the objects of a type. */
export interface ServedType extends ResourceType {
  /** Why an object is not accepted. */
  refuse?(object: Created, cluster: SimulatedCluster): FailedAnswer | undefined;
  /** As it is stored once it is accepted. */
  stored?(object: Created): Created;
  /** Called with what a list shows. */
  read?(objects: readonly KubernetesObject[], cluster: SimulatedCluster): void;
  /** Deletion is asked for, and somebody else ends it, as the kubelet does for Pods. */
  readonly goesSlowly?: true;
}

/** The kubelet lets a Pod go; the finalizer stands for that. */
export const KUBELET = 'kubelet';
/** A finalizer of the API server: the garbage collector first deletes what the object owns. */
export const FOREGROUND = 'foregroundDeletion';
/** The garbage collector takes them away. Source: apiserver, registry/generic/registry/store.go. */
export const FINALIZERS: Readonly<Record<string, readonly string[]>> = {
  Foreground: [FOREGROUND],
  Orphan: ['orphan'],
};

/** Answers requests as the API server does, at once, as far as the controllers use it. */
export class ApiServer {
  readonly #types: readonly ServedType[];
  readonly #ignoresVersions: boolean;
  readonly #home: string | undefined;

  /** @param options `ignoresVersions`: as if writes did not carry what they were decided from; `home`: as a cluster has it */
  constructor(
    types: readonly ServedType[],
    { ignoresVersions, home }: { readonly ignoresVersions: boolean; readonly home?: string | undefined },
  ) {
    this.#types = types;
    this.#ignoresVersions = ignoresVersions;
    this.#home = home;
  }

  answer(cluster: SimulatedCluster, request: Request): ServerAnswer {
    const target = this.#targetOf(request.path);
    switch (request.method) {
      case 'GET':
        return target.name === undefined ? list(cluster, target, request) : get(cluster, target, request);
      case 'POST':
        return target.subresource === 'eviction'
          ? this.#evict(cluster, target, request)
          : create(cluster, target, request);
      case 'PATCH':
        return this.#patch(cluster, target, request);
      case 'DELETE':
        return this.#delete(cluster, target, request);
      case 'PUT':
      case 'CALL':
        throw new Error(`${request.method} is not served`);
    }
  }

  /** Of the object that a request is about. */
  keyOf({ path }: Request): string {
    return this.#targetOf(path).key();
  }

  #targetOf(path: string): Target {
    const { plural, namespace, name, subresource } = placeIn(path);
    const type = this.#types.find((each) => each.plural === plural);
    if (type === undefined) throw new Error(`${plural} are not served`);
    return {
      type,
      key: (its = name ?? '') => objectKey(type, its, elsewhere(this.#home, namespace)),
      ...(namespace !== undefined && { namespace }),
      ...(name !== undefined && { name }),
      ...(subresource !== undefined && { subresource }),
    };
  }

  #patch(cluster: SimulatedCluster, target: Target, request: Request): ServerAnswer {
    const patch = asRecord(request.body);
    const { uid, resourceVersion, ...metadata } = asRecord(patch['metadata']);
    const object = cluster.get(target.key());
    const manager = appliesAs(request);
    if (object === undefined)
      return manager === undefined
        ? notFound(target)
        : uid === undefined
          ? create(cluster, target, request)
          : conflict(target);
    if (!this.#meets(object, { uid, resourceVersion })) return conflict(target);
    if (manager !== undefined) {
      const isForced = request.query?.['force'] === true;
      const theirs = isForced ? [] : conflictsOf(object, manager, patch);
      if (theirs.length > 0) return ownedByOthers(target, theirs);
      return {
        body: shown(
          cluster.change(target.key(), () => applied(object, manager, patch)),
          request,
        ),
      };
    }
    if (target.subresource === 'scale')
      return { body: scaleOf(cluster.change(target.key(), (before) => scaled(before, patch))) };
    const part = target.subresource === undefined ? omit(patch, 'status') : pick(patch, 'status');
    const body = cluster.change(target.key(), (before) => merged(before, { ...part, metadata }));
    return { body: shown(body, request) };
  }

  #delete(cluster: SimulatedCluster, target: Target, request: Request): ServerAnswer {
    const { preconditions = {}, propagationPolicy } = asRecord(request.body);
    const object = cluster.get(target.key());
    if (object === undefined) return notFound(target);
    if (!this.#meets(object, asRecord(preconditions))) return conflict(target);
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    if (deletionTimestamp !== undefined) return { body: object };
    const added = [...(FINALIZERS[String(propagationPolicy)] ?? [])];
    if (target.type.goesSlowly) added.push(KUBELET);
    if (finalizers.length + added.length === 0) {
      cluster.remove(target.key());
      return { body: { apiVersion: 'v1', kind: 'Status', status: 'Success' } };
    }
    cluster.markDeleted(target.key(), added);
    return { body: cluster.get(target.key()) };
  }

  /** What PodDisruptionBudgets allow is used up until somebody counts again. */
  #evict(cluster: SimulatedCluster, target: Target, { path, body }: Request): ServerAnswer {
    const { deleteOptions } = asRecord(body);
    if (cluster.get(target.key()) === undefined) return notFound(target);
    const budget = budgetOf(cluster, target);
    if (budget !== undefined && !isAllowing(budget.object)) return heldBack(target, budget.object);
    if (budget !== undefined) cluster.change(budget.key, usedUp);
    return this.#delete(cluster, target, { method: 'DELETE', path, body: deleteOptions });
  }

  /** Whether a PodDisruptionBudget would refuse it now. */
  isHeldBack(cluster: SimulatedCluster, { method, path }: Request): boolean {
    if (method !== 'POST' || !path.endsWith('/eviction')) return false;
    const budget = budgetOf(cluster, this.#targetOf(path));
    return budget !== undefined && !isAllowing(budget.object);
  }

  #meets({ metadata }: KubernetesObject, { uid, resourceVersion }: Preconditions): boolean {
    if (uid !== undefined && uid !== metadata.uid) return false;
    return (
      this.#ignoresVersions || resourceVersion === undefined || resourceVersion === metadata.resourceVersion
    );
  }
}

interface Preconditions {
  readonly uid?: unknown;
  readonly resourceVersion?: unknown;
}

/** What a path is about. */
export function placeIn(path: string): Place {
  const segments = path.split('/').slice(path.startsWith('/api/') ? 3 : 4);
  const isIn = segments[0] === 'namespaces' && segments.length > 2;
  const [plural = '', name, subresource] = isIn ? segments.slice(2) : segments;
  return { plural, name, subresource, namespace: isIn ? segments[1] : undefined };
}

interface Place {
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

interface Target {
  readonly type: ServedType;
  /** Of the object, or of one of that name in the collection. */
  readonly key: (name?: string) => string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

function get(cluster: SimulatedCluster, target: Target, request: Request): ServerAnswer {
  const object = cluster.get(target.key());
  return object === undefined ? notFound(target) : { body: shown(object, request) };
}

function list(cluster: SimulatedCluster, { type, namespace }: Target, request: Request): ServerAnswer {
  const items = cluster
    .list(type)
    .map(({ object }) => object)
    .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
    .filter((object) => isSelected(object, selectorsIn(request)));
  type.read?.(items, cluster);
  return { body: { metadata: {}, items: items.map((object) => shown(object, request)) } };
}

function create(cluster: SimulatedCluster, target: Target, request: Request): ServerAnswer {
  const { body, query } = request;
  const { type, namespace } = target;
  const asked = asRecord(body);
  const name = asRecord(asked['metadata'])['name'];
  if (typeof name !== 'string')
    throw new Violation(
      `it creates ${type.plural} without a name of its own: a second attempt creates another one; use a name that it chooses again`,
    );
  const metadata = {
    ...omit(asRecord(asked['metadata']), 'resourceVersion'),
    name,
    ...(namespace !== undefined && { namespace }),
  };
  const object: Created = { ...asked, metadata };
  const refusal = type.refuse?.(object, cluster);
  if (refusal !== undefined) return { failed: refusal };
  if (cluster.get(target.key(name)) !== undefined) return failed(409, 'AlreadyExists', { ...target, name });
  if (query?.['dryRun'] !== undefined) return { body: object };
  const stored = type.stored?.(object) ?? object;
  const manager = query?.['fieldManager'];
  const operation = appliesAs(request) === undefined ? 'Update' : 'Apply';
  const managed =
    typeof manager === 'string' ? createdBy(manager, operation, stored as KubernetesObject) : stored;
  return { body: cluster.create(type, managed) };
}

export interface Selectors {
  readonly fieldSelector?: string | undefined;
  readonly labelSelector?: string | undefined;
}

function selectorsIn({ query = {} }: Request): Selectors {
  const textOf = (name: string) => (typeof query[name] === 'string' ? query[name] : undefined);
  return { fieldSelector: textOf('fieldSelector'), labelSelector: textOf('labelSelector') };
}

/** Whether a list or a watch with these selectors has the object. */
export function isSelected(object: KubernetesObject, { fieldSelector, labelSelector }: Selectors): boolean {
  const conditions = fieldSelector === undefined ? [] : fieldSelector.split(',');
  const labels = parseLabelSelector(labelSelector ?? '');
  return (
    conditions.every((each) => meetsField(object, each)) &&
    matchesLabels(labels, object.metadata.labels ?? {})
  );
}

function meetsField(object: KubernetesObject, condition: string): boolean {
  const [, path = '', sign, value] = /^([\w.]+)(!=|=)(.*)$/.exec(condition) ?? [];
  const found = path.split('.').reduce<unknown>((field, name) => asRecord(field)[name], object);
  return (found === value) === (sign === '=');
}

/** As a list, a read or a watch of metadata alone has it. */
export function shown(
  object: KubernetesObject,
  { metadataOnly }: Pick<Request, 'metadataOnly'>,
): KubernetesObject {
  return metadataOnly ? { metadata: object.metadata } : object;
}

/** RFC 7386. */
function merged(before: KubernetesObject, patch: Readonly<Record<string, unknown>>): KubernetesObject {
  const metadata = mergedValue(before.metadata, patch['metadata']);
  return { ...asRecord(mergedValue(before, patch)), metadata: { ...before.metadata, ...asRecord(metadata) } };
}

function mergedValue(before: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const fields = Object.entries(patch).map(([name, value]) => [
    name,
    mergedValue(asRecord(before)[name], value),
  ]);
  // eslint-disable-next-line @typescript-eslint/no-unsafe-assignment -- the state is plain JSON
  const all = { ...asRecord(before), ...Object.fromEntries(fields) };
  // eslint-disable-next-line @typescript-eslint/no-unsafe-argument -- the state is plain JSON
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
}

/** The manager whose apply it is; undefined: it is none. */
function appliesAs({ query = {} }: Request): string | undefined {
  return query['force'] === undefined ? undefined : String(query['fieldManager']);
}

/** The one that selects the Pod. */
function budgetOf(cluster: SimulatedCluster, target: Target): Found<KubernetesObject> | undefined {
  const { namespace, labels = {} } = cluster.get(target.key())?.metadata ?? {};
  return cluster.list(POD_DISRUPTION_BUDGETS).find(({ object: { metadata, spec } }) => {
    const wanted = Object.entries(asRecord(asRecord(asRecord(spec)['selector'])['matchLabels']));
    return metadata.namespace === namespace && wanted.every(([name, value]) => labels[name] === value);
  });
}

function isAllowing({ status }: KubernetesObject): boolean {
  return Number(asRecord(status)['disruptionsAllowed'] ?? 0) > 0;
}

function usedUp(budget: KubernetesObject): KubernetesObject {
  const status = asRecord(budget['status']);
  return { ...budget, status: { ...status, disruptionsAllowed: Number(status['disruptionsAllowed']) - 1 } };
}

function heldBack(target: Target, { metadata }: KubernetesObject): ServerAnswer {
  const message = `The disruption budget ${metadata.name} does not allow it`;
  return failed(429, 'TooManyRequests', target, [{ reason: 'DisruptionBudget', message }]);
}

function ownedByOthers(target: Target, paths: readonly (readonly string[])[]): ServerAnswer {
  const causes = paths.map((path) => ({ reason: 'FieldManagerConflict', field: `.${path.join('.')}` }));
  return failed(409, 'Conflict', target, causes);
}

function scaled(before: KubernetesObject, patch: Readonly<Record<string, unknown>>): KubernetesObject {
  const { generation = 1 } = before.metadata;
  const { replicas } = asRecord(patch['spec']);
  const isSame = asRecord(before['spec'])['replicas'] === replicas;
  const metadata = { ...before.metadata, generation: isSame ? generation : generation + 1 };
  return { ...before, metadata, spec: { ...asRecord(before['spec']), replicas } };
}

function scaleOf({ metadata, spec, status }: KubernetesObject): object {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    ...{ apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name, namespace, uid, resourceVersion } },
    spec: { replicas: asRecord(spec)['replicas'] },
    status: { replicas: asRecord(status)['replicas'] ?? 0 },
  };
}

function notFound(target: Target): ServerAnswer {
  return failed(404, 'NotFound', target);
}

function conflict(target: Target): ServerAnswer {
  return failed(409, 'Conflict', target);
}

function failed(
  status: number,
  reason: string,
  { type, name = '' }: Pick<Target, 'type' | 'name'>,
  causes?: readonly StatusCause[],
): ServerAnswer {
  return {
    failed: statusAnswer(status, {
      reason,
      message: `${reason} ${name}`,
      details: { name, kind: type.plural, ...(causes && { causes }) },
    }),
  };
}

/** An answer with a Status. */
export function statusAnswer(code: number, status: object): FailedAnswer {
  return { status: code, body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', code, ...status }) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function omit(record: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(record).filter(([each]) => each !== name));
}

function pick(record: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>> {
  return name in record ? { [name]: record[name] } : {};
}

/** For a trace: `PATCH web/status`, `create("uid-1")`. */
export function wordsOf({ method, path, body }: Request): string {
  if (method === 'CALL') {
    const args = (body as readonly unknown[]).map((arg) => JSON.stringify(arg));
    // What has no fields, such as an AbortSignal, says nothing.
    return `${path}(${args.filter((text) => text !== '{}').join(', ')})`;
  }
  return `${method} ${path.split('/').slice(-2).join('/')}`;
}
