import { setTimeout as delay } from 'node:timers/promises';
import { Audience, type AudienceOptions, type Told } from './audience.ts';
import { Doubts } from './doubts.ts';
import { Hearing, type HearingTimes } from './hearing.ts';
import { isOlder, type Projection } from './known-objects.ts';
import { Listing } from './listing.ts';
import type { Logger } from '../api/logger.ts';
import type { WatchEnd } from '../runs/telemetry.ts';
import { unreachable } from '../api/unreachable.ts';
import type { KubernetesClient, WatchEvent } from '../kubernetes/client.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { eachPage, readPage, type Collection } from '../kubernetes/pages.ts';
import type { KubernetesObject } from '../api/object.ts';
import { Backoff } from './timing.ts';
import { WatchAttempt } from './watch-attempt.ts';
import {
  BrokenWatch,
  hasNoAnswer,
  howItEnded,
  isExpired,
  mustListAgain,
  problemText,
} from './watch-failures.ts';

export interface ReflectorOptions extends Collection {
  readonly client: KubernetesClient;
  readonly log: Logger;
  /** Objects a page of a list. Default: 500, as client-go. */
  readonly pageSize?: number;
  /** Default: those of {@link Hearing}. */
  readonly hearing?: Partial<HearingTimes>;
  /** Between failures. Default: from 250 to 30,000. */
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number };
  readonly random?: () => number;
}

const LIST_TIMEOUT_MS = 60_000;
const BACKOFF = { firstMs: 250, maxMs: 30_000 };
/** Who has just installed a CRD is not let wait for long. */
const MISSING_API_WAIT_MS = 5_000;
/** Between two watches beside one list. */
const WATCH_AGAIN_MS = 1_000;

/**
 * Shows every object of a collection to those who have joined it, by list and watch, through every failure. Model:
 * client-go's Reflector.
 */
export class Reflector {
  /** Resolves after the first whole list; never where the reflector is stopped before. */
  readonly synced: Promise<void>;
  /** Resolves once that is so, or the server has said that there is no such API. */
  readonly answered: Promise<void>;
  readonly #options: ReflectorOptions;
  readonly #audiences: Told[] = [];
  readonly #backoff: Backoff;
  readonly #stopping = new AbortController();
  #markSynced: () => void = () => undefined;
  #markAnswered: () => void = () => undefined;
  #hasSynced = false;
  #running: Promise<void> | undefined;
  #isWatching = false;
  #problem: string | undefined;
  #isApiMissing = false;
  readonly #hearing: Hearing;
  readonly #doubts = new Doubts((shown) => void (this.#checking = this.#checkServer(shown)));
  #checking: Promise<void> | undefined;
  /** When an event, a bookmark or a list came; a watch that was merely accepted has said nothing. */
  #lastWordMs = performance.now();
  /** Of the last list: what is older is known. */
  #listedVersion = '';
  /** The resourceVersion to watch from; undefined: list first. */
  #resumeFrom: string | undefined;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#hearing = new Hearing(options.hearing);
    this.#backoff = new Backoff({ ...(options.backoff ?? BACKOFF), random: this.#random });
    this.synced = new Promise((resolve) => (this.#markSynced = resolve));
    const missing = new Promise<void>((resolve) => (this.#markAnswered = resolve));
    this.answered = Promise.race([this.synced, missing]);
  }

  /** Only before it starts. @returns what is kept of the objects that exist */
  join<P extends Projection>(options: AudienceOptions<P>): ReadonlyMap<string, P> {
    const audience = new Audience(options);
    this.#audiences.push(audience);
    return audience.items;
  }

  get path(): string {
    return this.#options.path;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Drops what is in progress; resolves once nothing is. Safe to repeat. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#doubts.stop();
    await Promise.all([this.#running, this.#checking]);
  }

  hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Until all pages of a list are here, some objects are known as they are now, and others as they were long ago. */
  get isComplete(): boolean {
    return this.#resumeFrom !== undefined;
  }

  /** Why the objects cannot be listed or watched just now, in one line; undefined where they can. */
  get problem(): string | undefined {
    return this.#problem ?? (this.#hearing.isBlind ? this.#blindness : undefined);
  }

  /**
   * Whether its CRD has still to be installed. Never so once it has synced: a 404 is then a gateway's, or somebody has taken
   * the API away.
   */
  get isApiMissing(): boolean {
    return this.#isApiMissing && !this.#hasSynced;
  }

  /** Whether the server says that there is no such API, for the first time or again. */
  get isMissing(): boolean {
    return this.#isApiMissing;
  }

  /** Since the last event, bookmark or list; where watches keep changes back, since the last event or bookmark. */
  get silenceSeconds(): number {
    // That there is no such API is a word, too.
    if (this.isApiMissing) return 0;
    const silenceMs = performance.now() - this.#lastWordMs;
    return (this.#hearing.isBlind ? this.#hearing.silenceMs : silenceMs) / 1000;
  }

  get #blindness(): string {
    return `the watch of ${this.#options.path} does not tell what a list shows; check the proxies between the operator and the API server; listing again and again meanwhile`;
  }

  /** A read, or a run, has found that this object is not there. */
  isGone(shown: Projection): void {
    this.#doubts.gone(shown, () => this.#isStillShown(shown));
  }

  /** A read has found this version of an object. @param shown what the watch had shown of it by then */
  isRead(version: string, shown: Projection): void {
    if (isOlder(version, shown.resourceVersion)) this.#doubts.isBack(shown);
  }

  /** What those who have joined keep of an object. */
  shown(key: string): readonly Projection[] {
    return this.#audiences.flatMap(({ items }) => items.get(key) ?? []);
  }

  async #run(): Promise<void> {
    while (!this.#isStopped()) {
      try {
        if (this.#resumeFrom !== undefined) await this.#lookAhead(this.#resumeFrom);
        this.#resumeFrom ??= await this.#list('watched');
        await this.#watch(this.#resumeFrom);
        if (!this.#isStopped()) this.#ended('ended');
      } catch (error) {
        if (this.#isStopped()) return;
        this.#ended(howItEnded(error));
        await this.#recoverFrom(error);
      }
    }
  }

  async #recoverFrom(error: unknown): Promise<void> {
    const isEveryday = error instanceof BrokenWatch || (isExpired(error) && this.#isWatching);
    if (isEveryday) this.#options.log.debug({ path: this.#options.path }, error.message);
    else this.#noteProblem(error);
    if (mustListAgain(error)) this.#beginAnew();
    this.#isApiMissing = error instanceof ApiError && error.classification === 'api-missing';
    if (this.#isApiMissing) this.#markAnswered();
    await this.#pause(this.#pauseAfter(error));
  }

  #lookAhead(from: string): Promise<void> {
    return this.#hearing.needsList ? this.#compare(from) : this.#checkVersion(from);
  }

  /** Shows whether the watches have kept a change back. If so, the next one begins before it, and has to tell it. */
  async #compare(from: string): Promise<void> {
    await this.#pause(this.#hearing.listAfterMs);
    const changesBefore = this.#changes;
    this.#resumeFrom = undefined;
    const version = await this.#list('alone');
    const isBack = isOlder(version, from);
    this.#resumeFrom = isBack ? version : from;
    this.#hearing.listed(!isBack && this.#changes > changesBefore);
  }

  get #changes(): number {
    return this.#audiences.reduce((sum, { changes }) => sum + changes, 0);
  }

  /**
   * Forgets a version that the server has not reached: a watch from there would stay silent. However the last watch
   * ended, the next server may have a restored database: one that shuts down in order ends its watches in order, up to a
   * minute later.
   *
   * @throws ApiError
   */
  async #checkVersion(from: string): Promise<void> {
    const { metadata } = await readPage(this.#options, { ...this.#reading, limit: 1 });
    this.#lastWordMs = performance.now();
    if (isOlder(metadata.resourceVersion ?? '', from)) this.#beginAnew();
  }

  #beginAnew(): void {
    this.#resumeFrom = undefined;
    this.#hearing.begunAnew();
  }

  /**
   * Asks a server that takes new connections for an object. One that is being ended may keep watches open for minutes after the
   * database was restored, and says nothing of that: then no connection to it is of use, whatever its type. The new database may
   * have reached the version of the watch by then, but its objects are others.
   */
  async #checkServer(shown: Projection): Promise<void> {
    const from = this.#resumeFrom;
    if (from === undefined) return;
    const { client, log, path } = this.#options;
    try {
      const { metadata, items } = await readPage(
        { ...this.#options, fieldSelector: fieldSelectorFor(shown) },
        { ...this.#reading, limit: 1, onNewConnection: true },
      );
      const isThere = items?.some((each) => isSince(each, shown));
      const isStale = !isThere && this.#isStillShown(shown) && this.#doubts.mayList();
      if (!isOlder(metadata.resourceVersion ?? '', from) && !isStale) return;
      log.warn({ path }, 'the API server contradicts its watch; connecting and listing anew');
      this.#beginAnew();
      client.reconnect?.();
    } catch (error) {
      log.debug({ path, err: error }, 'cannot check the API server');
    }
  }

  #isStillShown(shown: Projection): boolean {
    return this.shown(shown.key).includes(shown);
  }

  #pause(ms: number): Promise<void> {
    return delay(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  /** In milliseconds. */
  #pauseAfter(error: unknown): number {
    const pauseMs = this.#backoff.next();
    // The next list waits anyway.
    if (error instanceof BrokenWatch && this.#hearing.isBlind) return 0;
    if (this.#isApiMissing) return Math.min(pauseMs, MISSING_API_WAIT_MS);
    return error instanceof ApiError ? Math.max(pauseMs, error.retryAfterMs ?? 0) : pauseMs;
  }

  /** @param how whether a watch tells what changes until the last page is here */
  async #list(how: 'watched' | 'alone'): Promise<string> {
    this.#isWatching = false;
    const listing = new Listing(this.#audiences);
    const watch = new AbortController();
    let watching: Promise<void> | undefined;
    try {
      await eachPage(this.#options, {
        ...this.#reading,
        onPage: (page) => {
          this.#lastWordMs = performance.now();
          listing.page(page);
          if (how === 'watched' && page.metadata.continue)
            watching ??= this.#watchBeside(listing, watch.signal);
        },
        objectsMax: this.#options.pageSize,
        onExpired: () => (watching === undefined ? 'fail' : 'go on'),
      });
    } finally {
      watch.abort();
      await watching;
    }
    listing.end();
    this.#isApiMissing = false;
    this.#hasSynced = true;
    this.#markSynced();
    this.#listedVersion = listing.version;
    return listing.version;
  }

  /** Until the list has ended. Where it cannot, the watch after the list finds out why. */
  async #watchBeside(listing: Listing, over: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([over, this.#stopping.signal]);
    while (!signal.aborted) {
      let pauseMs = WATCH_AGAIN_MS;
      const watch = new WatchAttempt(this.#hearing.patienceMs, signal);
      try {
        for await (const event of this.#openWatch(listing.version, watch)) {
          watch.heard();
          this.#noteHeard();
          this.#lastWordMs = performance.now();
          listing.event(event);
        }
      } catch (error) {
        this.#options.log.debug(
          { path: this.#options.path, err: error },
          'the watch beside a list has ended',
        );
        if (error instanceof ApiError) pauseMs = Math.max(pauseMs, error.retryAfterMs ?? 0);
      } finally {
        watch.over();
      }
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  get #reading() {
    return { timeoutMs: LIST_TIMEOUT_MS, signal: this.#stopping.signal };
  }

  /** Watches until the server ends it. @throws BrokenWatch where it ends otherwise, once it was accepted */
  async #watch(from: string): Promise<void> {
    this.#isWatching = true;
    const watch = new WatchAttempt(this.#hearing.patienceMs, this.#stopping.signal);
    try {
      for await (const event of this.#openWatch(from, watch, () => this.#noteRecovery())) {
        watch.heard();
        this.#noteHeard();
        this.#take(event);
      }
      watch.checkEnd();
    } catch (error) {
      throw watch.accepted && hasNoAnswer(error) ? new BrokenWatch(error.message) : error;
    } finally {
      this.#backoff.workedFor(watch.livedMs());
      if (watch.accepted) this.#noteEnd(watch.hasTold);
      watch.over();
    }
  }

  #openWatch(from: string, watch: WatchAttempt, onOpen?: () => void): AsyncIterable<WatchEvent> {
    const { client, path, fieldSelector, labelSelector, metadataOnly = false } = this.#options;
    // Between 5 and 10 minutes, as client-go, so that watches do not all end together.
    const timeoutSeconds = this.#hearing.isInDoubt
      ? Math.ceil(this.#hearing.patienceMs / 1000)
      : Math.floor(300 * (1 + this.#random()));
    const position = { resourceVersion: from, allowWatchBookmarks: true, timeoutSeconds };
    return client.watch({
      path,
      query: { ...position, fieldSelector, labelSelector },
      metadataOnly,
      signal: watch.signal,
      onOpen: () => {
        watch.open();
        onOpen?.();
      },
    });
  }

  #take(event: WatchEvent): void {
    this.#lastWordMs = performance.now();
    const { resourceVersion: version } = event.object.metadata;
    // A watch that begins before a list repeats what that has shown, and what is gone since would be there for a moment.
    if (version !== this.#listedVersion && !isOlder(version, this.#listedVersion)) this.#tell(event);
    this.#resumeAfter(version);
  }

  #tell(event: WatchEvent): void {
    switch (event.type) {
      case 'ADDED':
        this.#noteAge(event.object);
        for (const audience of this.#audiences) audience.changed(event.object);
        break;
      case 'MODIFIED':
        for (const audience of this.#audiences) audience.changed(event.object);
        break;
      case 'DELETED':
        for (const audience of this.#audiences) audience.vanished(event.object);
        break;
      case 'BOOKMARK':
        break;
      default:
        return unreachable(event.type);
    }
  }

  #noteAge({ metadata: { creationTimestamp } }: KubernetesObject): void {
    if (creationTimestamp === undefined) return;
    const ageSeconds = (Date.now() - Date.parse(creationTimestamp)) / 1000;
    for (const { observer } of this.#audiences) observer.created(ageSeconds);
  }

  #resumeAfter(version: string): void {
    // A late event must not turn the watch back to what was already seen, nor the last events of a watch prevent a list.
    if (this.#resumeFrom !== undefined && !isOlder(version, this.#resumeFrom)) this.#resumeFrom = version;
  }

  #ended(how: WatchEnd): void {
    for (const { observer } of this.#audiences) observer.ended(how);
  }

  #noteHeard(): void {
    if (this.#hearing.isBlind)
      this.#options.log.info({ path: this.#options.path }, `the watch of ${this.#options.path} tells again`);
    this.#hearing.heard();
  }

  #noteEnd(hasTold: boolean): void {
    if (this.#hearing.watchEnded(hasTold))
      this.#options.log.warn({ path: this.#options.path }, this.#blindness);
  }

  #noteProblem(error: unknown): void {
    const problem = problemText(error, this.#options.path);
    if (problem !== this.#problem) this.#options.log.warn({ path: this.#options.path }, problem);
    this.#problem = problem;
  }

  #noteRecovery(): void {
    if (this.#problem === undefined) return;
    this.#options.log.info({ path: this.#options.path }, `watching ${this.#options.path} again`);
    this.#problem = undefined;
  }

  #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  readonly #random = (): number => (this.#options.random ?? Math.random)();
}

function fieldSelectorFor({ key }: Projection): string {
  const [name = '', namespace] = key.split('/').reverse();
  return `metadata.name=${name}${namespace === undefined ? '' : `,metadata.namespace=${namespace}`}`;
}

/** Whether it is the same object, not from before. */
function isSince({ metadata: { uid, resourceVersion } }: KubernetesObject, shown: Projection): boolean {
  return uid === shown.uid && !isOlder(resourceVersion, shown.resourceVersion);
}
