import { hash } from 'node:crypto';
import { podNamePrefix } from '../src/controllers/pod-set/pod.ts';
import type { PodSetView } from '../src/controllers/pod-set/resource.ts';

/** Neither vowels nor what looks like them: apimachinery/pkg/util/rand, `alphanums`. */
const SAFE_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const SUFFIX_STARTS = [0, 5, 10, 15, 20, 25];

/**
 * For each new Pod of a PodSet, without end, the names to try, one after the other, until one is free. They look like those
 * that the API server generates, but all who create Pods from the same status come to the same ones, whatever else of
 * the PodSet has changed: what is created twice meets AlreadyExists. Pods that the status names bring new names.
 *
 * A name may be taken by a Pod that nobody has listed, such as one that lost the labels. Each Pod has other names of its
 * own to try, so however many are taken, few calls are made in vain.
 *
 * @param taken a Pod that has any of its names is there already
 */
export function* podNames(
  podSet: PodSetView,
  taken: ReadonlySet<string>,
): Generator<readonly string[], never> {
  const { observedGeneration = 0, podNames: known } = podSet.status;
  const seed = digestOf(JSON.stringify([podSet.uid, observedGeneration, known])).toString('hex');
  const prefix = podNamePrefix(podSet.name);
  const given = new Set(taken);
  for (let ordinal = 0; ; ordinal += 1) {
    const names = suffixesOf(`${seed}/${ordinal}`).map((suffix) => prefix + suffix);
    if (names.some((name) => given.has(name))) continue;
    for (const name of names) given.add(name);
    yield names;
  }
}

/** Six: as many as there are in a digest. */
function suffixesOf(seed: string): readonly string[] {
  const letters = digestOf(seed)
    .map((byte) => SAFE_ALPHABET.charCodeAt(byte % SAFE_ALPHABET.length))
    .toString();
  return SUFFIX_STARTS.map((start) => letters.slice(start, start + SUFFIX_LENGTH));
}

function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
