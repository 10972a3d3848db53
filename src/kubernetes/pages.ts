import type { KubernetesList } from '../api/object.ts';
import type { KubernetesClient, RequestOptions } from './client.ts';
import { AnswerTooLong, isOf } from './errors.ts';

/** Objects of one type. */
export interface Collection {
  readonly client: Pick<KubernetesClient, 'request'>;
  /** `/api/v1/pods` */
  readonly path: string;
  readonly fieldSelector?: string | undefined;
  readonly labelSelector?: string | undefined;
  /** Reads PartialObjectMetadata instead of whole objects. */
  readonly metadataOnly?: boolean | undefined;
}

export interface PageReading {
  readonly onPage: (page: KubernetesList) => void;
  /** On one page. Default: 500, as client-go. */
  readonly objectsMax?: number | undefined;
  /**
   * Asked where the server keeps the state of the first page no longer: `go on` gives the remaining pages as they are by then.
   * Default: `fail`.
   */
  readonly onExpired?: () => 'fail' | 'go on';
  /** For each page. Default: that of the client. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

type Passed = 'maxBytes' | 'onBytes' | 'timeoutMs' | 'signal' | 'onNewConnection';

interface PageRequest extends Pick<RequestOptions, Passed> {
  readonly limit: number;
  readonly continue?: string | undefined;
}

const OBJECTS_MAX = 500;
/** Larger pages are not read to their end. The 300 Pods of a large PodSet still fit on one page. */
const BYTES_MAX = 4 * 1024 * 1024;
/** Leaves room for pages with larger objects than the last one. */
const BYTES_WANTED = BYTES_MAX / 4;
const SHRINK_BY = 8;

/**
 * Reads a collection page by page. Anyone may create thousands of objects of a megabyte each, so the size of the objects
 * decides how many of them fit on a page. A page of one object is always read.
 *
 * @throws ApiError
 */
export async function eachPage(collection: Collection, reading: PageReading): Promise<void> {
  let next: Position | undefined = { limit: reading.objectsMax ?? OBJECTS_MAX, continue: undefined };
  while (next !== undefined) next = await readNext(collection, reading, next);
}

/** Without a resourceVersion the server answers with the latest state, never from a stale cache. @throws ApiError */
export function readPage(
  { client, path, fieldSelector, labelSelector, metadataOnly = false }: Collection,
  { limit, continue: next, ...options }: PageRequest,
): Promise<KubernetesList> {
  const query = { limit, continue: next, fieldSelector, labelSelector };
  return client.request({ method: 'GET', path, query, metadataOnly: metadataOnly && 'list', ...options });
}

/** Without objects where the answer would be longer than a mebibyte: it is for those who can do with fewer. @throws ApiError */
export async function onePage(collection: Collection, asked: PageRequest): Promise<KubernetesList> {
  try {
    return await readPage(collection, { ...asked, maxBytes: BYTES_WANTED });
  } catch (error) {
    if (!(error instanceof AnswerTooLong)) throw error;
    return { metadata: {}, items: [] };
  }
}

type Position = Pick<PageRequest, 'limit' | 'continue'>;

/** @returns only where to go on, so that a page is garbage before the next one is read */
async function readNext(
  collection: Collection,
  { onPage, onExpired, objectsMax = OBJECTS_MAX, ...options }: PageReading,
  position: Position,
): Promise<Position | undefined> {
  const { limit } = position;
  let bytes = 0;
  try {
    const page = await readPage(collection, {
      ...options,
      ...position,
      ...(limit > 1 && { maxBytes: BYTES_MAX }),
      onBytes: (count) => (bytes = count),
    });
    onPage(page);
    const count = page.items?.length ?? 0;
    const fitting = count === 0 ? limit : (BYTES_WANTED / bytes) * count;
    const next = page.metadata.continue;
    // No more than twice as many: where one is large, the next ones may be, too.
    return next ? { limit: between(1, fitting, Math.min(limit * 2, objectsMax)), continue: next } : undefined;
  } catch (error) {
    const rest = isOf(error, 'expired') ? error.continueToken : undefined;
    if (rest !== undefined && onExpired?.() === 'go on') return { limit, continue: rest };
    if (!(error instanceof AnswerTooLong)) throw error;
    return { ...position, limit: between(1, limit / SHRINK_BY, objectsMax) };
  }
}

function between(least: number, value: number, most: number): number {
  return Math.floor(Math.min(Math.max(least, value), most));
}
