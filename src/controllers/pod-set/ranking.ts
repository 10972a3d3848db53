import { readyCondition, type Pod } from './pod.ts';

export const DELETION_COST_ANNOTATION = 'controller.kubernetes.io/pod-deletion-cost';

/** What decides which of the Pods that are too many goes first. */
export interface Standing {
  readonly uid: string;
  /** Empty: not scheduled. */
  readonly node: string;
  readonly phase: string;
  readonly ready: boolean;
  /** Since when it is ready; 0: unknown, or it is not. */
  readonly readySinceMs: number;
  /** An int32: the value of the annotation, or 0. */
  readonly deletionCost: number;
  /** The most of any of its containers, and then of its init containers. */
  readonly restarts: readonly [number, number];
  readonly createdAtMs: number;
}

export function standingOf(pod: Pod): Standing {
  const { uid, annotations, creationTimestamp } = pod.metadata;
  const condition = readyCondition(pod);
  const ready = condition?.status === 'True';
  return {
    uid,
    node: pod.spec?.nodeName ?? '',
    phase: pod.status?.phase ?? 'Pending',
    ready,
    readySinceMs: ready ? timeOf(condition.lastTransitionTime) : 0,
    deletionCost: deletionCostOf(annotations?.[DELETION_COST_ANNOTATION]),
    restarts: [mostRestarts(pod.status?.containerStatuses), mostRestarts(pod.status?.initContainerStatuses)],
    createdAtMs: timeOf(creationTimestamp),
  };
}

/**
 * So many of the Pods as are too many, the first to go first, in the order in which the ReplicaSet controller
 * scales down.
 *
 * Sources: Kubernetes documentation, "ReplicaSet", "Scaling a ReplicaSet"; KEP 2255 (deletion cost); KEP 2185
 * (ages are compared in powers of two); kubernetes/pkg/controller, `ActivePodsWithRanks`.
 */
export function podsToDelete<P extends { readonly standing: Standing }>(
  pods: readonly P[],
  excess: number,
  nowMs: number,
): readonly P[] {
  const neighbours = new Map<string, number>();
  for (const { standing } of pods) neighbours.set(standing.node, (neighbours.get(standing.node) ?? 0) + 1);
  const rules = rulesOfOrder({ neighbours, nowMs });
  const compare = (a: P, b: P) => firstDifference(rules, a.standing, b.standing);
  return [...pods].sort(compare).slice(0, excess);
}

/** Negative: the first one goes first; 0: this rule does not tell them apart. */
type Rule = (a: Standing, b: Standing) => number;

interface Surroundings {
  /** How many of the Pods are on each node. */
  readonly neighbours: ReadonlyMap<string, number>;
  readonly nowMs: number;
}

function rulesOfOrder({ neighbours, nowMs }: Surroundings): readonly Rule[] {
  return [
    by(({ node }) => (node === '' ? 0 : 1)),
    by(({ phase }) => PHASES.indexOf(phase)),
    by(({ ready }) => (ready ? 1 : 0)),
    by(({ deletionCost }) => deletionCost),
    by(({ node }) => -(neighbours.get(node) ?? 0)),
    byAge(({ readySinceMs }) => readySinceMs, nowMs),
    by(({ restarts }) => -restarts[0]),
    by(({ restarts }) => -restarts[1]),
    byAge(({ createdAtMs }) => createdAtMs, nowMs),
    byUid,
  ];
}

const PHASES = ['Pending', 'Unknown', 'Running'];

function firstDifference(rules: readonly Rule[], a: Standing, b: Standing): number {
  for (const rule of rules) {
    const difference = rule(a, b);
    if (difference !== 0) return difference;
  }
  return 0;
}

function by(value: (standing: Standing) => number): Rule {
  return (a, b) => value(a) - value(b);
}

/**
 * The younger goes first. Ages of the same power of two are as good as equal, and then it is left to chance,
 * which is the UID: else a rollout that failed halfway would lose all of its newest Pods at once.
 */
function byAge(since: (standing: Standing) => number, nowMs: number): Rule {
  return (a, b) => {
    const [one, other] = [since(a), since(b)];
    if (one === other) return 0;
    return magnitude(nowMs - one) - magnitude(nowMs - other) || byUid(a, b);
  };
}

function magnitude(ageMs: number): number {
  return ageMs <= 0 ? -1 : Math.floor(Math.log2(ageMs * NANOSECONDS));
}

/** Go counts ages in nanoseconds: the powers of two lie where the ReplicaSet controller has them. */
const NANOSECONDS = 1e6;

const byUid: Rule = (a, b) => (a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0);

function timeOf(time: string | null | undefined): number {
  return typeof time === 'string' ? Date.parse(time) : 0;
}

/** Neither a sign `+` nor leading zeros: kubernetes/pkg/apis/core/helper, `GetDeletionCostFromPodAnnotations`. */
function deletionCostOf(value: string | undefined): number {
  if (value === undefined || !/^(0|-?[1-9]\d*)$/.test(value)) return 0;
  const cost = Number(value);
  return cost >= -(2 ** 31) && cost < 2 ** 31 ? cost : 0;
}

function mostRestarts(statuses: readonly { readonly restartCount?: number }[] | undefined): number {
  return Math.max(0, ...(statuses ?? []).map(({ restartCount = 0 }) => restartCount));
}
