import { createHash } from 'node:crypto';
import { podNamePrefix } from '../src/controllers/pod-set/pod.ts';
import type { PodSetView } from '../src/controllers/pod-set/resource.ts';

/** Neither vowels nor what looks like them: apimachinery/pkg/util/rand, `alphanums`. */
const SAFE_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;

/**
 * The names that new Pods of a PodSet get, one after the other, for ever, but for those that are taken. They look like
 * those that the API server generates, but all who create Pods from the same status come to the same ones, whatever
 * else of the PodSet has changed: what is created twice meets AlreadyExists. Pods that the status names bring new names.
 */
export function* podNames(podSet: PodSetView, taken: ReadonlySet<string>): Generator<string, never> {
  const { observedGeneration = 0, podNames: known } = podSet.status;
  const seed = digestOf(JSON.stringify([podSet.uid, observedGeneration, known])).toString('hex');
  const given = new Set(taken);
  for (let ordinal = 0; ; ordinal += 1) {
    const name = podNamePrefix(podSet.name) + suffixOf(`${seed}/${ordinal}`);
    if (given.has(name)) continue;
    given.add(name);
    yield name;
  }
}

function suffixOf(seed: string): string {
  const bytes = digestOf(seed).subarray(0, SUFFIX_LENGTH);
  return [...bytes].map((byte) => SAFE_ALPHABET.charAt(byte % SAFE_ALPHABET.length)).join('');
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
