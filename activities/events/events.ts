/*
 * Events for `kubectl events`. In: what a decision or a step has to say. Out: an Event, or one more count of it; many at once are dropped
 * fairly. Recording never fails a step, and never delays it.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Cause } from '../../src/api/cause.ts';
import { warning } from '../../src/runs/decision.ts';
import type { Logger } from '../../src/api/logger.ts';
import { displayName, type ResourceRef } from '../../src/api/resource-ref.ts';
import { EVENTS } from '../../src/api/kinds.ts';
import { FairSet } from '../../src/runs/fair-set.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { ApiError, type ApiErrorClass, found, isNamespaceEnding } from '../../src/kubernetes/errors.ts';
import { kubeOf } from '../../src/kubernetes/kube.ts';
import { microTime } from '../../src/kubernetes/micro-time.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import {
  eventObject,
  type Event,
  type EventObject,
  type EventSeries,
  type Regarding,
} from './event-object.ts';
import { RecentEvents } from './recent-events.ts';

export { regardingNamespace, type Event, type Regarding } from './event-object.ts';

export interface Recorder {
  /**
   * Records an Event on the resource, some time after it has returned. The same Event is recorded once, however
   * often it is repeated; where it is repeated for long, its series says so. Never fails: what an Event says
   * is also in the run and in the log.
   *
   * @param regarding what the resource is; or {@link regardingNamespace}
   */
  record(ref: ResourceRef, regarding: Regarding, event: Event, log: Logger): void;
}

/** A recorder that sends by itself, in the background, until it is closed. */
export interface EventRecorder extends Recorder {
  /** Sends what still waits, for a second and a half at most: all of shutdown has ten; what is recorded from now on is lost. */
  close(): Promise<void>;
}

export interface RecorderSettings {
  /** The name of the operator, which reports the Events. */
  readonly program: string;
  /** How many Events may wait; beyond it, the namespace with most of them loses its latest. */
  readonly queueMax: number;
  /** Few, since Events must never slow down the steps that they are about. */
  readonly inFlightMax: number;
  readonly attemptsMax: number;
  /** After the first failure; it doubles from one to the next. */
  readonly firstWaitMs: number;
  readonly closeWithinMs: number;
  readonly now: () => number;
}

const SETTINGS: RecorderSettings = {
  program: 'durable-operator',
  queueMax: 1_000,
  inFlightMax: 2,
  attemptsMax: 5,
  firstWaitMs: 1_000,
  closeWithinMs: 1_500,
  now: Date.now,
};

/** Where the server asks to wait for longer, the Event is dropped. */
const RETRY_AFTER_MOST_MS = 60_000;

export function eventRecorder(
  client: KubernetesClient,
  log: Logger,
  settings: Partial<RecorderSettings> = {},
): EventRecorder {
  return new BackgroundRecorder(client, log, { ...SETTINGS, ...settings });
}

/** One Event on its way to the server. */
interface Delivery {
  readonly object: EventObject;
  /** How often it has occurred, as far as this process knows. */
  readonly count: number;
  readonly log: Logger;
}

interface RecordedEvent extends EventObject {
  readonly eventTime?: string | null;
  readonly series?: EventSeries | null;
}

class BackgroundRecorder implements EventRecorder {
  readonly #client: KubernetesClient;
  readonly #log: Logger;
  readonly #settings: RecorderSettings;
  readonly #recent = new RecentEvents();
  /** `<namespace>/<Event>` of those that wait: the namespaces of their resources take turns. */
  readonly #turns = new FairSet((key) => key.slice(0, key.indexOf('/')));
  readonly #waiting = new Map<string, Delivery>();
  readonly #cut = new AbortController();
  #inFlight = 0;
  #dropped = 0;
  /** Set once it is closed; called once nothing is left to send. */
  #onIdle: (() => void) | undefined;

  constructor(client: KubernetesClient, log: Logger, settings: RecorderSettings) {
    this.#client = client;
    this.#log = log;
    this.#settings = settings;
  }

  record(ref: ResourceRef, regarding: Regarding, event: Event, log: Logger): void {
    const nowMs = this.#settings.now();
    const object = eventObject(ref, { about: regarding, event, program: this.#settings.program }, nowMs);
    const count = this.#recent.met(object, nowMs);
    if (count === undefined || this.#onIdle !== undefined) return;
    const key = `${ref.namespace}/${object.metadata.name}`;
    this.#turns.add(key);
    this.#waiting.set(key, { object, count, log });
    if (this.#turns.size > this.#settings.queueMax) this.#dropWaiting();
    this.#sendMore();
  }

  async close(): Promise<void> {
    const idle = new Promise<void>((resolve) => (this.#onIdle = resolve));
    const cutting = setTimeout(() => this.#cut.abort(), this.#settings.closeWithinMs);
    this.#sendMore();
    await idle;
    clearTimeout(cutting);
  }

  #sendMore(): void {
    while (this.#inFlight < this.#settings.inFlightMax) {
      const delivery = this.#take(this.#turns.take());
      if (delivery === undefined) break;
      this.#inFlight += 1;
      const sendMore = () => {
        this.#inFlight -= 1;
        this.#sendMore();
      };
      this.#deliver(delivery).then(sendMore, sendMore);
    }
    if (this.#inFlight > 0 || this.#turns.size > 0) return;
    this.#logDropped();
    this.#onIdle?.();
  }

  #take(key = ''): Delivery | undefined {
    const delivery = this.#waiting.get(key);
    this.#waiting.delete(key);
    return delivery;
  }

  #dropWaiting(): void {
    const dropped = this.#take(this.#turns.dropLast());
    if (dropped !== undefined) this.#drop(dropped.object);
  }

  /** Never rejects. */
  async #deliver(delivery: Delivery): Promise<void> {
    for (let attempt = 1; !this.#isCut; attempt += 1) {
      try {
        await this.#send(delivery);
        return;
      } catch (error) {
        const waitMs = this.#waitAfter(error, attempt);
        if (waitMs === undefined) {
          this.#giveUp(delivery, error);
          return;
        }
        await delay(waitMs, undefined, { signal: this.#cut.signal }).catch(() => undefined);
      }
    }
    this.#drop(delivery.object);
  }

  /** @throws ApiError */
  async #send({ object, count }: Delivery): Promise<void> {
    if (count > 1) {
      if (await this.#patch(object, this.#seriesOf(count))) return;
      this.#recent.counted(object, 1);
    }
    if (await this.#created(object)) return;
    // Another process has recorded it, or this one before it was restarted. How often is asked by a patch of
    // nothing: to read Events is more than the operator may do.
    const there = await this.#patch(object, {});
    if (there === undefined) return;
    const counted = there.series?.count ?? 1;
    const isRecent = this.#recent.isRecent(lastSeenMs(there), this.#settings.now());
    if (!isRecent) await this.#patch(object, this.#seriesOf(counted + 1));
    this.#recent.counted(object, isRecent ? counted : counted + 1);
  }

  /** @returns whether it was: false where it was there */
  async #created(object: EventObject): Promise<boolean> {
    try {
      await kubeOf(this.#client).create(EVENTS, object, { signal: this.#cut.signal });
      return true;
    } catch (error) {
      if (isOf('already-exists', error)) return false;
      throw error;
    }
  }

  /** @returns the Event, or undefined where there is none: it has expired */
  #patch({ metadata }: EventObject, body: object): Promise<RecordedEvent | undefined> {
    const path = resourcePath(EVENTS, metadata);
    const contentType = 'application/merge-patch+json';
    const { signal } = this.#cut;
    return found(this.#client.request<RecordedEvent>({ method: 'PATCH', path, body, contentType, signal }));
  }

  #seriesOf(count: number): { readonly series: EventSeries } {
    return { series: { count, lastObservedTime: microTime(this.#settings.now()) } };
  }

  /** @returns how long to wait before it is tried again, or undefined where that would not help */
  #waitAfter(error: unknown, attempt: number): number | undefined {
    const { attemptsMax, firstWaitMs } = this.#settings;
    if (attempt >= attemptsMax) return undefined;
    if (isOf('unavailable', error)) return firstWaitMs * 2 ** (attempt - 1);
    if (!(error instanceof ApiError) || error.classification !== 'retry-after') return undefined;
    const { retryAfterMs = firstWaitMs } = error;
    return retryAfterMs <= RETRY_AFTER_MOST_MS ? Math.max(retryAfterMs, firstWaitMs) : undefined;
  }

  #giveUp({ object, log }: Delivery, error: unknown): void {
    this.#recent.forget(object);
    const fields = { event: object.reason, note: object['note'] };
    // Nobody would read it there.
    if (isNamespaceEnding(error))
      log.debug(fields, 'an Event was not recorded: its namespace is being deleted');
    else log.warn({ ...fields, err: error }, 'cannot record an Event');
  }

  #drop(object: EventObject): void {
    this.#recent.forget(object);
    this.#dropped += 1;
  }

  #logDropped(): void {
    if (this.#dropped === 0) return;
    const message =
      'dropped Events: there were more than the API server accepted in time; their content is in the log';
    this.#log.warn({ dropped: this.#dropped }, message);
    this.#dropped = 0;
  }

  get #isCut(): boolean {
    return this.#cut.signal.aborted;
  }
}

interface About {
  readonly ref: ResourceRef;
  readonly regarding: Regarding;
  readonly log: Logger;
}

/** Records an Event on the resource for a failure that somebody has to fix; any other failure passes by itself. */
export function recordFailure(recorder: Recorder, about: About, error: ApiError, cause: Cause): void {
  if (NEEDS_A_PERSON.has(error.classification)) recordCause(recorder, about, cause);
}

export function recordCause(recorder: Recorder, { ref, regarding, log }: About, cause: Cause): void {
  const message = `${displayName(ref)}: ${cause.message}`;
  recorder.record(ref, regarding, warning({ ...cause, message: message }, 'Reconcile'), log);
}

const NEEDS_A_PERSON: ReadonlySet<ApiErrorClass> = new Set(['refused', 'overridden', 'access-denied']);

function isOf(classification: ApiErrorClass, error: unknown): boolean {
  return error instanceof ApiError && error.classification === classification;
}

function lastSeenMs({ series, eventTime }: RecordedEvent): number {
  return Date.parse(series?.lastObservedTime ?? eventTime ?? '');
}
