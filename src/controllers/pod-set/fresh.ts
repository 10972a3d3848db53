import type { PodView } from './pod.ts';

/** After this time, a Pod is read again before it is deleted. With the way of the DELETE, it is less than a second. */
const FRESH_MS = 750;

/** How Pods are read. */
interface Reading {
  /** Those with the labels of the PodSet. */
  readonly list: () => Promise<readonly PodView[]>;
  /** One of that name. */
  readonly read: (name: string) => Promise<PodView | undefined>;
  readonly now: () => number;
}

/**
 * The Pods of a PodSet while some of them are deleted. Somebody may take a Pod out at any time, by its labels or its
 * controller, so what is known of it must not be old. One list does for many; where there are so many that a list takes longer, each
 * is read by itself.
 */
export class FreshPods {
  readonly #reading: Reading;
  #listedAtMs = -Infinity;
  #listed: Promise<ReadonlyMap<string, PodView>> | undefined;
  #isListQuick = true;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  /** The Pod as it was within the last second; undefined: it is none of the PodSet's any more. @throws ApiError */
  async latest({ uid, name }: PodView): Promise<PodView | undefined> {
    if (this.#isListQuick && !this.#isFresh) this.#listed = this.#list();
    const pods = await this.#listed;
    if (this.#isFresh) return pods?.get(uid);
    this.#isListQuick = false;
    return this.#reading.read(name);
  }

  async #list(): Promise<ReadonlyMap<string, PodView>> {
    this.#listedAtMs = this.#reading.now();
    const pods = await this.#reading.list();
    return new Map(pods.map((pod) => [pod.uid, pod]));
  }

  get #isFresh(): boolean {
    const ageMs = this.#reading.now() - this.#listedAtMs;
    // The clock may have been set back.
    return ageMs >= 0 && ageMs <= FRESH_MS;
  }
}
