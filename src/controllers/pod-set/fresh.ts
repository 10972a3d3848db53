import type { PodOfSet } from './pod.ts';

/** What is older is read again, so that it is less than a second old at the DELETE. */
const FRESH_MS = 750;

/** How Pods are read. */
interface Reading {
  /** Those with the labels of the PodSet. */
  readonly list: () => Promise<readonly PodOfSet[]>;
  /** One of that name. */
  readonly read: (name: string) => Promise<PodOfSet | undefined>;
  readonly now: () => number;
}

/**
 * Recent readings of Pods that are about to be deleted, since somebody may take a Pod out at any time by its labels or its controller. One
 * list serves many; if it takes too long, each Pod is read by itself.
 */
export class FreshPods {
  readonly #reading: Reading;
  #listedAtMs = -Infinity;
  #listed: Promise<ReadonlyMap<string, PodOfSet>> | undefined;
  #isListQuick = true;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  /** The Pod as it was within the last second; undefined: it is none of the PodSet's any more. @throws ApiError */
  async latest({ uid, name }: PodOfSet): Promise<PodOfSet | undefined> {
    if (this.#isListQuick && !this.#isFresh) this.#listed = this.#list();
    const pods = await this.#listed;
    return this.#isFresh ? pods?.get(uid) : this.#reading.read(name);
  }

  async #list(): Promise<ReadonlyMap<string, PodOfSet>> {
    this.#listedAtMs = this.#reading.now();
    const pods = await this.#reading.list();
    this.#isListQuick = this.#isFresh;
    return new Map(pods.map((pod) => [pod.uid, pod]));
  }

  get #isFresh(): boolean {
    const ageMs = this.#reading.now() - this.#listedAtMs;
    // The clock may have been set back.
    return ageMs >= 0 && ageMs <= FRESH_MS;
  }
}
