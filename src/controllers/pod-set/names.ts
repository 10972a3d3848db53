import { hash } from 'node:crypto';
import { podNamePrefix } from './pod.ts';

/** Neither vowels nor what looks like them: apimachinery/pkg/util/rand, `alphanums`. */
const SAFE_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
/** A digest yields six suffixes, so each new Pod has six names to try. */
const SUFFIXES = 6;

/** The fields of a PodSet that names follow from. */
interface PodSetSeen {
  readonly name: string;
  readonly uid: string;
  /** `status.podNames` */
  readonly podNames: readonly string[];
}

/**
 * Six names to try for each new Pod, without end. They look like those that the API server generates, but follow from the UID and
 * `status.podNames` alone: whoever creates Pods from the same status comes to the same names, so a repeated create meets AlreadyExists.
 *
 * A name may be taken by a Pod that nobody has listed, such as one that lost the labels. Each Pod has other names of its
 * own to try, so however many are taken, few calls are made in vain.
 *
 * @param taken a Pod that has any of its names is there already
 */
export function* namesOfNewPods(
  { name: podSet, uid, podNames }: PodSetSeen,
  taken: ReadonlySet<string>,
): Generator<readonly string[], never> {
  const seed = digestOf(JSON.stringify([uid, podNames])).toString('hex');
  const given = new Set(taken);
  for (let ordinal = 0; ; ordinal += 1) {
    const names = suffixesOf(`${seed}/${ordinal}`).map((suffix) => podNamePrefix(podSet) + suffix);
    if (names.some((each) => given.has(each))) continue;
    for (const each of names) given.add(each);
    yield names;
  }
}

function suffixesOf(seed: string): readonly string[] {
  const letters = digestOf(seed)
    .map((byte) => SAFE_ALPHABET.charCodeAt(byte % SAFE_ALPHABET.length))
    .toString();
  return Array.from({ length: SUFFIXES }, (_, place) =>
    letters.slice(place * SUFFIX_LENGTH, (place + 1) * SUFFIX_LENGTH),
  );
}

function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
