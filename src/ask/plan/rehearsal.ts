import { randomUUID } from 'node:crypto';
import type { KubernetesList, KubernetesObject } from '../../contract/object.ts';
import { fieldsOf, textOf } from '../../controllers/fields.ts';
import { matchesLabels, parseLabelSelector } from '../../controllers/label-selector.ts';
import type { KubernetesClient, RequestOptions } from '../../kubernetes/client.ts';
import { ApiError, found, isOf } from '../../kubernetes/errors.ts';
import { asDryRun, dryRunOnly, isDryRun } from '../../../activities/dry-run.ts';
import { mergePatch } from './merge-patch.ts';

/** A write that would have been made. */
export interface Write {
  readonly verb: 'create' | 'patch' | 'delete';
  /** `/api/v1/namespaces/shop/pods/web-pod-x7k2p` */
  readonly path: string;
  /** Undefined: there was nothing. */
  readonly before: unknown;
  /** Undefined: there would be nothing. */
  readonly after: unknown;
  /** Whether the API server has seen it: it cannot check what is based on an earlier write of the same rehearsal. */
  readonly isChecked: boolean;
}

/** The API server refuses the dry run because of who asks; the operator may be allowed to. */
export class MayNotTry extends Error {
  override readonly name = 'MayNotTry';
}

/** An object as it would be; or that it would be gone. */
type Rehearsed = { readonly object: KubernetesObject; readonly isNew: boolean } | 'deleted';

/**
 * A client for rehearsals: the API server checks every write, by a dry run, and what it answers is read from then on. So
 * steps follow each other as they would, and nothing is ever written.
 */
export class Rehearsal implements KubernetesClient {
  readonly server: string;
  readonly #client: KubernetesClient;
  readonly #rehearsed = new Map<string, Rehearsed>();
  #writes: Write[] = [];

  constructor(client: KubernetesClient) {
    this.#client = dryRunOnly(client);
    this.server = client.server;
  }

  /** The writes since this was asked last. */
  takeWrites(): readonly Write[] {
    const writes = this.#writes;
    this.#writes = [];
    return writes;
  }

  /** From now on, the object is read as if it were like this. @returns what there was, if anything */
  pretend(path: string, object: KubernetesObject, isNew: boolean): void {
    this.#rehearsed.set(path, { object: versioned(object), isNew });
  }

  // The caller says what it expects of the answer, as of a real one.
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
        // A reconciler's own dry run writes nothing.
        return isDryRun(options) ? this.#client.request(options) : this.#create(options);
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
    const listed = (list.items ?? []).flatMap((item) => {
      const rehearsed = this.#rehearsed.get(`${path}/${item.metadata.name}`);
      if (rehearsed === undefined) return [item];
      return rehearsed === 'deleted' ? [] : [rehearsed.object];
    });
    // They are on the last page.
    if (list.metadata.continue !== undefined && list.metadata.continue !== '')
      return { ...list, items: listed };
    return { ...list, items: [...listed, ...this.#newIn(path, query)] };
  }

  #newIn(collection: string, query: NonNullable<RequestOptions['query']>): KubernetesObject[] {
    const selector = parseLabelSelector(String(query['labelSelector'] ?? ''));
    const [, name] = /(?:^|,)metadata\.name=([^,]+)/.exec(String(query['fieldSelector'] ?? '')) ?? [];
    return [...this.#rehearsed].flatMap(([path, rehearsed]) => {
      if (rehearsed === 'deleted' || !rehearsed.isNew) return [];
      const { metadata } = rehearsed.object;
      const isIn =
        path === `${collection}/${metadata.name}` && (name === undefined || name === metadata.name);
      return isIn && matchesLabels(selector, metadata.labels ?? {}) ? [rehearsed.object] : [];
    });
  }

  async #create(options: RequestOptions): Promise<KubernetesObject> {
    const name = textOf(fieldsOf(fieldsOf(options.body)['metadata'])['name']) ?? '';
    const path = `${options.path}/${name}`;
    const before = this.#rehearsed.get(path);
    if (before !== undefined && before !== 'deleted') throw alreadyExists(options);
    const { object, isChecked } = await this.#createdBy(options, before === 'deleted');
    this.#rehearsed.set(path, { object: versioned(object), isNew: true });
    this.#writes.push({ verb: 'create', path, before: undefined, after: options.body, isChecked });
    return versioned(object);
  }

  /**
   * Admission comes before the look whether the name is taken: where it was freed in the rehearsal alone, AlreadyExists
   * means that all else would be accepted. Source: apiserver, registry/generic/registry/store.go, `Create`.
   */
  async #createdBy(options: RequestOptions, isFreed: boolean) {
    try {
      return { object: await this.#tried<KubernetesObject>(options), isChecked: true };
    } catch (error) {
      if (!isFreed || !isOf(error, 'already-exists')) throw error;
      return { object: asCreated(options.body), isChecked: true };
    }
  }

  async #patch(options: RequestOptions): Promise<KubernetesObject> {
    const path = objectPath(options.path);
    const before = this.#rehearsed.get(path);
    if (before === 'deleted') throw notFound(options);
    const live = before?.object ?? (await this.#live(path, options));
    const answer = before?.isNew === true ? undefined : await this.#tried<KubernetesObject>(options);
    // The server knows nothing of earlier writes: what it answers lacks them.
    const after = before === undefined && answer !== undefined ? answer : patched(live, options);
    this.#rehearsed.set(path, { object: after, isNew: before?.isNew ?? false });
    this.#writes.push({
      verb: 'patch',
      path: options.path,
      before: live,
      after,
      isChecked: answer !== undefined,
    });
    return after;
  }

  async #live(path: string, { metadataOnly }: RequestOptions): Promise<KubernetesObject | undefined> {
    const only = metadataOnly === undefined ? {} : { metadataOnly };
    return found(this.#client.request<KubernetesObject>({ method: 'GET', path, ...only }));
  }

  async #delete(options: RequestOptions): Promise<unknown> {
    const { path } = options;
    const before = this.#rehearsed.get(path);
    if (before === 'deleted') throw notFound(options);
    const live = before?.object ?? (await this.#live(path, options));
    const answer = before?.isNew === true ? undefined : await this.#tried<KubernetesObject>(options);
    const isGoing =
      answer !== undefined && answer.kind !== 'Status' && answer.metadata.deletionTimestamp !== undefined;
    this.#rehearsed.set(path, isGoing ? { object: answer, isNew: false } : 'deleted');
    this.#writes.push({
      verb: 'delete',
      path,
      before: live,
      after: undefined,
      isChecked: answer !== undefined,
    });
    return answer ?? { kind: 'Status', status: 'Success' };
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

/** Of an object that exists only in the rehearsal. */
const REHEARSED_VERSION = '0';

/** The answer to a dry run of a create has no resourceVersion. */
function versioned(object: KubernetesObject): KubernetesObject {
  const { resourceVersion = REHEARSED_VERSION } = object.metadata as Partial<KubernetesObject['metadata']>;
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

function asCreated(body: unknown): KubernetesObject {
  const fields = fieldsOf(body);
  const metadata = fieldsOf(fields['metadata']);
  const name = textOf(metadata['name']) ?? '';
  return {
    ...fields,
    metadata: { ...metadata, name, uid: randomUUID(), resourceVersion: REHEARSED_VERSION },
  };
}

function patched(object: KubernetesObject | undefined, { body }: RequestOptions): KubernetesObject {
  const { metadata, ...rest } = fieldsOf(body);
  // UID and resourceVersion are preconditions.
  const changed = Object.entries(fieldsOf(metadata)).filter(
    ([name]) => !['uid', 'resourceVersion'].includes(name),
  );
  // A merge patch keeps what makes it an object.
  return mergePatch(object, { ...rest, metadata: Object.fromEntries(changed) }) as KubernetesObject;
}

const SUBRESOURCE = /\/(?:status|scale|finalizers)$/;

function objectPath(path: string): string {
  return path.replace(SUBRESOURCE, '');
}

function isList(answer: unknown): answer is KubernetesList {
  return Array.isArray(fieldsOf(answer)['items']);
}

function notFound({ method, path }: RequestOptions): ApiError {
  return new ApiError(`${method} ${path}: 404 deleted in this rehearsal`, {
    status: 404,
    classification: 'not-found',
  });
}

function alreadyExists({ method, path }: RequestOptions): ApiError {
  return new ApiError(`${method} ${path}: 409 created in this rehearsal`, {
    status: 409,
    classification: 'already-exists',
  });
}
