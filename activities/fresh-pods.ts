import type { Observation } from '../src/controllers/pod-set/decide.ts';
import type { PodView } from '../src/controllers/pod-set/pod.ts';
import type { PodSetObjects, Written } from './pod-set-objects.ts';
import type { AttemptContext } from './reconciler.ts';

/** After this time, a Pod is read again before it is deleted. With the way of the DELETE, it is less than a second. */
const FRESH_MS = 750;
/** To list more Pods than these takes longer than to read, one by one, those that are deleted in the meantime. */
const LISTED_MAX = 2_000;

type PodsByUid = ReadonlyMap<string, PodView>;

interface Request extends Pick<AttemptContext<Observation>, 'now' | 'watched'> {
  readonly before: Observation;
  readonly objects: Pick<PodSetObjects, 'listPods'>;
}

/** Deletes that were sent together. */
interface Batch {
  readonly sentAtMs: number;
  /** Of those that the watcher still showed when they were sent. */
  readonly uids: string[];
}

/**
 * The Pods of a PodSet while some of them are deleted. Somebody may take a Pod out at any time, by its labels or its
 * controller, so what is known of it must not be old.
 *
 * A watch can lag without a sign of it. So the watcher's view counts from the moment from which it has proved to be: it
 * shows that all Pods of a batch are gone, and it did not when the batch was sent.
 */
export class FreshPods {
  readonly #request: Request;
  #pods: PodsByUid;
  #asOfMs: number;
  #isListQuick: boolean;
  #shown: PodsByUid | undefined;
  #batch: Batch | undefined;
  #unproved: readonly Batch[] = [];
  readonly #written: PodView[] = [];

  constructor(request: Request) {
    const { pods, asOfMs = -Infinity } = request.before;
    this.#request = request;
    this.#pods = byUid(pods);
    this.#asOfMs = asOfMs;
    this.#isListQuick = pods.length <= LISTED_MAX;
  }

  /** Call it before each batch: costs no call where the watcher proves to be up to date. @throws ApiError */
  async refresh(): Promise<void> {
    this.#goByWatcher();
    if (!this.#isFresh && this.#isListQuick) await this.#list();
    this.#batch = { sentAtMs: this.#request.now(), uids: [] };
  }

  /** The Pod as it was within the last second; undefined: that is not known, or it was not among the PodSet's. */
  latest({ uid }: PodView): PodView | undefined {
    const pod = this.#isFresh ? this.#pods.get(uid) : undefined;
    return pod && newer(pod, this.#shown?.get(uid));
  }

  note({ pod, isDone }: Written): void {
    this.#written.push(pod);
    if (isDone && !isGone(this.#shown?.get(pod.uid))) this.#batch?.uids.push(pod.uid);
  }

  /** What is known by now. No list shows the Pods that were deleted, or that lost the labels. */
  get observation(): Observation {
    const { before } = this.#request;
    const unlisted = before.pods.filter((pod) => !pod.matches || isGone(pod));
    const all = [...unlisted, ...this.#pods.values(), ...this.#written];
    const pods = [...new Map(all.map((pod) => [pod.name, pod])).values()];
    return { ...before, pods, asOfMs: this.#asOfMs };
  }

  get #isFresh(): boolean {
    const ageMs = this.#request.now() - this.#asOfMs;
    // The clock may have been set back.
    return ageMs >= 0 && ageMs <= FRESH_MS;
  }

  #goByWatcher(): void {
    const pods = this.#request.watched?.()?.pods;
    this.#shown = pods && byUid(pods);
    if (this.#shown === undefined) return;
    const { uids = [] } = this.#batch ?? {};
    if (this.#batch !== undefined && uids.length > 0) this.#unproved = [...this.#unproved, this.#batch];
    const proved = this.#unproved.findLast((batch) =>
      batch.uids.every((uid) => isGone(this.#shown?.get(uid))),
    );
    if (proved === undefined) return;
    this.#unproved = this.#unproved.filter(({ sentAtMs }) => sentAtMs > proved.sentAtMs);
    if (proved.sentAtMs >= this.#asOfMs) this.#know(this.#shown, proved.sentAtMs);
  }

  async #list(): Promise<void> {
    const asOfMs = this.#request.now();
    this.#know(byUid(await this.#request.objects.listPods()), asOfMs);
    this.#isListQuick = this.#isFresh;
  }

  #know(pods: PodsByUid, asOfMs: number): void {
    this.#pods = pods;
    this.#asOfMs = asOfMs;
  }
}

function byUid(pods: readonly PodView[]): PodsByUid {
  return new Map(pods.map((pod) => [pod.uid, pod]));
}

function isGone(pod: PodView | undefined): boolean {
  return pod === undefined || pod.life === 'being deleted';
}

/** Versions of one object grow. Source: KEP-5504, comparable resource versions. */
function newer(read: PodView, shown: PodView | undefined): PodView {
  return shown !== undefined && Number(shown.resourceVersion) > Number(read.resourceVersion) ? shown : read;
}
