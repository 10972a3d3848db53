import type { PodOfSet } from './pod.ts';

/**
 * So many of the Pods, the first to be deleted first, in the order in which the ReplicaSet controller scales down.
 *
 * Sources: Kubernetes documentation, "ReplicaSet", "Scaling a ReplicaSet"; KEP 2255 (deletion cost); KEP 2185
 * (ages are compared in powers of two); kubernetes/pkg/controller, `ActivePodsWithRanks`.
 */
export function podsToDelete(pods: readonly PodOfSet[], count: number, nowMs: number): readonly PodOfSet[] {
  const onNode = new Map<string, number>();
  for (const { node } of pods) onNode.set(node, (onNode.get(node) ?? 0) + 1);
  const rules = rulesOfOrder(onNode, nowMs);
  return [...pods].sort((a, b) => firstDifference(rules, a, b)).slice(0, count);
}

/** Negative: the first one is deleted first; 0: this rule does not distinguish them. */
type Rule = (a: PodOfSet, b: PodOfSet) => number;

/** @param onNode how many of the Pods are on each node */
function rulesOfOrder(onNode: ReadonlyMap<string, number>, nowMs: number): readonly Rule[] {
  return [
    by(({ node }) => (node === '' ? 0 : 1)),
    by(({ life }) => (life === 'pending' ? 0 : 1)),
    by(({ readySinceMs }) => (readySinceMs === undefined ? 0 : 1)),
    by(({ deletionCost }) => deletionCost),
    by(({ node }) => -(onNode.get(node) ?? 0)),
    byAge(({ readySinceMs }) => readySinceMs ?? 0, nowMs),
    by(({ restarts }) => -restarts),
    by(({ sidecarRestarts }) => -sidecarRestarts),
    byAge(({ createdAtMs }) => createdAtMs, nowMs),
    byUid,
  ];
}

function firstDifference(rules: readonly Rule[], a: PodOfSet, b: PodOfSet): number {
  return rules.reduce((difference, rule) => difference || rule(a, b), 0);
}

function by(value: (pod: PodOfSet) => number): Rule {
  return (a, b) => value(a) - value(b);
}

/**
 * The younger one is deleted first, and before it one whose age nobody knows. Ages of the same power of two count as equal,
 * and then it is left to chance, which is the UID: else a rollout that failed halfway would lose all of its newest Pods at once.
 */
function byAge(since: (pod: PodOfSet) => number, nowMs: number): Rule {
  return (a, b) => {
    const [one, other] = [since(a), since(b)];
    if (one === other) return 0;
    if (one === UNKNOWN || other === UNKNOWN) return one === UNKNOWN ? -1 : 1;
    return magnitude(nowMs - one) - magnitude(nowMs - other) || byUid(a, b);
  };
}

/** The object has no such time. */
const UNKNOWN = 0;

function magnitude(ageMs: number): number {
  return ageMs <= 0 ? -1 : Math.floor(Math.log2(ageMs * NANOSECONDS));
}

/** Go counts ages in nanoseconds: the powers of two lie where the ReplicaSet controller has them. */
const NANOSECONDS = 1e6;

/** No two Pods have the same. */
const byUid: Rule = (a, b) => (a.uid < b.uid ? -1 : 1);
