import { randomUUID } from 'node:crypto';
import { asDryRun, dryRunOnly, isDryRun } from '../../../activities/dry-run.ts';
import type { KubernetesList, KubernetesObject } from '../../api/object.ts';
import { fieldsOf, textOf } from '../../api/fields.ts';
import { matchesLabels, parseLabelSelector } from '../../api/label-selector.ts';
import type { KubernetesClient, RequestOptions } from '../../kubernetes/client.ts';
import { ApiError, found, isOf } from '../../kubernetes/errors.ts';
import { VERSION_OF_NONE } from '../../kubernetes/kube.ts';

export interface PlannedWrite {
  readonly verb: 'create' | 'patch' | 'delete';
  /** `/api/v1/namespaces/shop/pods/web-pod-x7k2p` */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
  /** Whether the API server has checked it. It cannot check a write that follows from an earlier one of the rehearsal. */
  readonly isChecked: boolean;
}

/** The user may not make this dry run. The operator may be allowed to make the write. */
export class MayNotTry extends Error {
  override readonly name = 'MayNotTry';
}

type Rehearsed = { readonly object: KubernetesObject; readonly isNew: boolean } | 'deleted';

/**
 * A client for rehearsals. The API server checks every write by a dry run, and later reads return its answer. So steps
 * follow each other as in reality, and nothing is written.
 */
export class Rehearsal implements KubernetesClient {
  readonly server: string;
  readonly fieldManager: string;
  readonly #client: KubernetesClient;
  readonly #rehearsed = new Map<string, Rehearsed>();
  #writes: PlannedWrite[] = [];

  constructor(client: KubernetesClient) {
    this.#client = dryRunOnly(client);
    this.server = client.server;
    this.fieldManager = client.fieldManager;
  }

  takeWrites(): readonly PlannedWrite[] {
    const writes = this.#writes;
    this.#writes = [];
    return writes;
  }

  /** From now on, reads return this object. */
  pretend(path: string, object: KubernetesObject, isNew: boolean): void {
    this.#rehearsed.set(path, { object: versioned(object), isNew });
  }

  // The caller knows the type of the answer, as with a real client.
  async request<T = unknown>(options: RequestOptions): Promise<T> {
    return (await this.#answer(options)) as T;
  }

  watch(): never {
    throw new Error('a rehearsal watches nothing');
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #answer(options: RequestOptions): Promise<unknown> {
    switch (options.method) {
      case 'GET':
        return this.#read(options);
      case 'POST':
        // Some reconcilers make dry runs themselves.
        if (isDryRun(options)) return this.#client.request(options);
        return options.path.endsWith('/eviction') ? this.#delete(options) : this.#create(options);
      case 'DELETE':
        return this.#delete(options);
      case 'PATCH':
      case 'PUT':
        return this.#patch(options);
    }
  }

  async #read(options: RequestOptions): Promise<unknown> {
    const rehearsed = this.#rehearsed.get(options.path);
    if (rehearsed === 'deleted') throw notFound(options);
    if (rehearsed !== undefined) return rehearsed.object;
    const answer = await this.#client.request(options);
    return isList(answer) ? this.#withRehearsed(answer, options) : answer;
  }

  #withRehearsed(list: KubernetesList, { path, query = {} }: RequestOptions): KubernetesList {
    const items = (list.items ?? []).flatMap((item) => {
      const rehearsed = this.#rehearsed.get(pathIn(path, item));
      if (rehearsed === undefined) return [item];
      return rehearsed === 'deleted' ? [] : [rehearsed.object];
    });
    const isLastPage = (list.metadata.continue ?? '') === '';
    return { ...list, items: isLastPage ? [...items, ...this.#newIn(path, query)] : items };
  }

  #newIn(collection: string, query: NonNullable<RequestOptions['query']>): KubernetesObject[] {
    const selector = parseLabelSelector(String(query['labelSelector'] ?? ''));
    const [, name] = /(?:^|,)metadata\.name=([^,]+)/.exec(String(query['fieldSelector'] ?? '')) ?? [];
    return [...this.#rehearsed].flatMap(([path, rehearsed]) => {
      if (rehearsed === 'deleted' || !rehearsed.isNew) return [];
      const { metadata } = rehearsed.object;
      const isIn = path === pathIn(collection, rehearsed.object) && (name ?? metadata.name) === metadata.name;
      return isIn && matchesLabels(selector, metadata.labels ?? {}) ? [rehearsed.object] : [];
    });
  }

  async #create(options: RequestOptions): Promise<KubernetesObject> {
    const name = textOf(fieldsOf(fieldsOf(options.body)['metadata'])['name']) ?? '';
    const path = `${options.path}/${encodeURIComponent(name)}`;
    const before = this.#rehearsed.get(path);
    if (before !== undefined && before !== 'deleted') throw alreadyExists(options);
    const object = versioned(await this.#created(options, before === 'deleted'));
    this.#rehearsed.set(path, { object, isNew: true });
    this.#writes.push({ verb: 'create', path, before: undefined, after: options.body, isChecked: true });
    return object;
  }

  /**
   * The API server checks admission before the name. If only the rehearsal has freed the name, AlreadyExists means that all
   * else is accepted. Source: apiserver, registry/generic/registry/store.go, `Create`.
   */
  async #created(options: RequestOptions, isFreed: boolean): Promise<KubernetesObject> {
    try {
      return await this.#tried<KubernetesObject>(options);
    } catch (error) {
      if (!isFreed || !isOf(error, 'already-exists')) throw error;
      return patched(undefined, options, { uid: randomUUID() });
    }
  }

  async #patch(options: RequestOptions): Promise<KubernetesObject> {
    const path = options.path.replace(SUBRESOURCE, '');
    if (isNew(options) && this.#rehearsed.has(path)) return this.#createAgain(path, options);
    const { before, live, answer } = await this.#triedOn(path, options);
    const isScale = options.path.endsWith('/scale');
    // The server's answer lacks earlier writes of the rehearsal, and a scale is not the object.
    const isWhole = before === undefined && answer !== undefined && !isScale;
    const object = isWhole ? versioned(answer) : patched(live, options);
    this.#rehearsed.set(path, { object, isNew: before?.isNew ?? live === undefined });
    const isChecked = answer !== undefined;
    const verb = live === undefined ? 'create' : 'patch';
    this.#writes.push({ verb, path: options.path, before: live, after: object, isChecked });
    return isScale ? (answer ?? { ...object, kind: 'Scale', status: { replicas: 0 } }) : object;
  }

  /** An apply of an object that only the rehearsal has deleted, or made. The server cannot try it. */
  #createAgain(path: string, options: RequestOptions): KubernetesObject {
    if (this.#rehearsed.get(path) !== 'deleted') throw alreadyExists(options);
    const object = versioned(patched(undefined, options, { uid: randomUUID() }));
    this.#rehearsed.set(path, { object, isNew: true });
    this.#writes.push({ verb: 'create', path, before: undefined, after: object, isChecked: false });
    return object;
  }

  /** The answer to an eviction is a Status: the Pod counts as gone. */
  async #delete(options: RequestOptions): Promise<unknown> {
    const path = options.path.replace(EVICTION, '');
    const { live, answer } = await this.#triedOn(path, options);
    const isGoing =
      answer !== undefined && answer.kind !== 'Status' && answer.metadata.deletionTimestamp !== undefined;
    this.#rehearsed.set(path, isGoing ? { object: answer, isNew: false } : 'deleted');
    const isChecked = answer !== undefined;
    this.#writes.push({ verb: 'delete', path, before: live, after: undefined, isChecked });
    return answer ?? { kind: 'Status', status: 'Success' };
  }

  /** Tries a write on an object. The server cannot try it on an object that exists only in the rehearsal. */
  async #triedOn(path: string, options: RequestOptions) {
    const before = this.#rehearsed.get(path);
    if (before === 'deleted') throw notFound(options);
    const { metadataOnly = false } = options;
    const live =
      before?.object ??
      (await found(this.#client.request<KubernetesObject>({ method: 'GET', path, metadataOnly })));
    const answer = before?.isNew === true ? undefined : await this.#tried<KubernetesObject>(options);
    return { before, live, answer };
  }

  async #tried<T>(options: RequestOptions): Promise<T> {
    try {
      return await this.#client.request<T>(asDryRun(options));
    } catch (error) {
      if (!isOf(error, 'access-denied')) throw error;
      throw new MayNotTry(error.message, { cause: error });
    }
  }
}

const REHEARSED_VERSION = '0';

/** The answer to a dry run of a create has no resourceVersion. */
function versioned(object: KubernetesObject): KubernetesObject {
  const { resourceVersion = REHEARSED_VERSION } = object.metadata as Partial<KubernetesObject['metadata']>;
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

/** @param added to the metadata */
function patched(
  object: KubernetesObject | undefined,
  { body }: RequestOptions,
  added: object = {},
): KubernetesObject {
  // UID and resourceVersion are only preconditions.
  const fields = Object.entries(fieldsOf(fieldsOf(body)['metadata']));
  const changed = fields.filter(([name]) => !['uid', 'resourceVersion'].includes(name));
  const metadata = { ...Object.fromEntries(changed), ...added };
  // A merge patch keeps what makes it an object.
  return mergePatch(object, { ...fieldsOf(body), metadata }) as KubernetesObject;
}

/** The path of an object of a collection, which may be that of all namespaces. */
function pathIn(collection: string, { metadata: { namespace, name } }: KubernetesObject): string {
  const isOfAll = namespace !== undefined && !/\/namespaces\/[^/]+\/[^/]+$/.test(collection);
  const its = isOfAll ? collection.replace(/[^/]+$/, `namespaces/${namespace}/$&`) : collection;
  return `${its}/${encodeURIComponent(name)}`;
}

const SUBRESOURCE = /\/(?:status|scale|finalizers)$/;
const EVICTION = /\/eviction$/;

/** Whether it is an apply that creates. */
function isNew({ contentType, body }: RequestOptions): boolean {
  const { resourceVersion } = fieldsOf(fieldsOf(body)['metadata']);
  return contentType === 'application/apply-patch+yaml' && resourceVersion === VERSION_OF_NONE;
}

function isList(answer: unknown): answer is KubernetesList {
  return Array.isArray(fieldsOf(answer)['items']);
}

function notFound({ method, path }: RequestOptions): ApiError {
  const message = `${method} ${path}: 404 deleted in this rehearsal`;
  return new ApiError(message, { status: 404, classification: 'not-found' });
}

function alreadyExists({ method, path }: RequestOptions): ApiError {
  const message = `${method} ${path}: 409 created in this rehearsal`;
  return new ApiError(message, { status: 409, classification: 'already-exists' });
}

/** Applies a JSON merge patch: null removes, objects are merged, other values replace. Source: RFC 7386. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    if (value === null) Reflect.deleteProperty(merged, name);
    else merged[name] = mergePatch(merged[name], value);
  }
  return merged;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
