import { createHash } from 'node:crypto';
import { podNamePrefix } from '../src/controllers/pod-set/pod.ts';

/** Neither vowels nor what looks like them: apimachinery/pkg/util/rand, `alphanums`. */
const SAFE_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;

/**
 * The names that a run gives to Pods, one after the other, for ever, but for those that are taken. They look like those that the API server
 * generates, but every attempt of the run comes to the same ones: a create that is repeated meets
 * AlreadyExists.
 */
export function* podNames(
  podSet: string,
  runId: string,
  taken: ReadonlySet<string> = new Set(),
): Generator<string, never> {
  const given = new Set(taken);
  for (let ordinal = 0; ; ordinal += 1) {
    const name = podNamePrefix(podSet) + suffixOf(`${runId}/${ordinal}`);
    if (given.has(name)) continue;
    given.add(name);
    yield name;
  }
}

function suffixOf(seed: string): string {
  const bytes = createHash('sha256').update(seed).digest().subarray(0, SUFFIX_LENGTH);
  return [...bytes].map((byte) => SAFE_ALPHABET.charAt(byte % SAFE_ALPHABET.length)).join('');
}
