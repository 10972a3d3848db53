import {
  isObjectName,
  type Condition,
  type DecisionContext,
  type Decision,
  type NextOf,
  type StatusOf,
  type ViewedObject,
} from '../../api/index.ts';
import type { PodSetKind } from './kind.ts';
import { isAvailable, selectorFor, type Disruption, type PodOwnership, type PodOfSet } from './pod.ts';
import { podsToDelete } from './ranking.ts';
import { podsFailed, unreadinessOf } from './unready.ts';

/** What decisions need of a PodSet itself. */
export interface PodSetView {
  readonly generation: number;
  readonly replicas: number;
  /** As its status says. */
  readonly podNames: readonly string[];
  readonly readyReplicas: number;
  /** The condition, as it is. */
  readonly ready?: Pick<Condition, 'reason' | 'message'>;
  /** When somebody asked for a reconcile, in milliseconds since the epoch. */
  readonly requestedMs?: number;
}

/** Pods that the status names, and that the watch does not show among those of the PodSet. */
export interface NamedPods {
  readonly names: readonly string[];
  /** Those of them that are there, and not being deleted. */
  readonly found: readonly (PodOwnership & { readonly hasLabels: boolean })[];
}

/** What each step is handed over. */
export interface Steps {
  readonly createPods: { readonly count: number; readonly replicas: number };
  readonly deletePods: PodsToDelete;
  readonly adoptPods: readonly PodOwnership[];
  readonly releasePods: readonly PodOwnership[];
}

export interface PodsToDelete {
  readonly what: 'Pod' | 'failed Pod';
  /** The first to be deleted first. */
  readonly pods: readonly PodOfSet[];
  /** While this text is the same, other Pods may be deleted by the same approval. */
  readonly interchangeable: string;
  /** How many stay. Absent where failed Pods are deleted. */
  readonly replicas?: number;
}

type Status = StatusOf<typeof PodSetKind>;
export type Context = DecisionContext<
  ViewedObject<PodSetView | undefined>,
  PodOfSet,
  undefined,
  unknown,
  { readonly named: NamedPods }
>;
type Next = NextOf<Steps, Status>;

/** One step: release, adopt, delete or create. If there is none, how the PodSet rests. */
export function decidePodSet(context: Context, next: Next): Decision {
  const { view } = context.resource;
  if (view === undefined) return next.converged('it is ignored');
  const seen = new PodsSeen(context, view);
  return (
    // First, since the names of new Pods follow from the status: each Pod that it names has to be accounted for.
    release(seen, next) ??
    adopt(seen, next) ??
    deleteSurplus(seen, next) ??
    deleteFinished(seen, next) ??
    createMissing(seen, next) ??
    settle(seen, next)
  );
}

/**
 * The names stay while Pods are created: those of new Pods follow from them, so a late create meets AlreadyExists. After a refusal, the answers
 * are known. A name also stays until its Pod is gone or released: only the status leads to a Pod that lost the labels.
 */
export function statusOf(context: Context): Status {
  const { metadata, view } = context.resource;
  if (view === undefined) return {};
  const seen = new PodsSeen(context, view);
  const areNamesKept = seen.isCreating && context.refused?.step !== 'createPods';
  return {
    podNames: [...(areNamesKept ? view.podNames : seen.names)],
    readyReplicas: seen.available.length,
    selector: selectorFor(metadata.name),
  };
}

/** `1 Pod`, `3 Pods` */
export function podsInWords(count: number): string {
  return count === 1 ? '1 Pod' : `${count} Pods`;
}

/** The Pods of a PodSet, by what is to be done with them. */
class PodsSeen {
  readonly context: Context;
  readonly view: PodSetView;
  /** Those of ours that make up the desired number. */
  readonly available: readonly PodOfSet[];
  readonly finished: readonly PodOfSet[];
  /** Available Pods with the labels and no controller. Like the ReplicaSet controller, it adopts no finished ones. */
  readonly orphans: readonly PodOfSet[];
  /** Until Pods may be created again. */
  readonly pauseMs: number;
  /** Those of ours that have lost the labels. */
  readonly lost: readonly PodOwnership[];
  /** Names in the status whose Pods nobody has looked for yet, or that the watch does not show yet. */
  readonly unclear: readonly string[];

  constructor(context: Context, view: PodSetView) {
    const { owned, resource, lookups, nowMs } = context;
    const known = new Set(owned.map(({ name }) => name));
    const ours = owned.filter(({ controllerUid }) => controllerUid === resource.metadata.uid);
    this.context = context;
    this.view = view;
    this.available = ours.filter(isAvailable);
    this.finished = ours.filter(({ life }) => life === 'finished');
    this.orphans = owned.filter((pod) => pod.controllerUid === undefined && isAvailable(pod));
    this.pauseMs = pauseMs(failedOf(this.finished, view.requestedMs, nowMs), nowMs);
    // The status may be somebody's own work.
    const unseen = view.podNames.filter((name) => isObjectName(name) && !known.has(name));
    // To read it is to ask for it.
    const { names = [], found = [] } = (unseen.length > 0 ? lookups.named : undefined) ?? {};
    this.lost = found.filter((pod) => pod.controllerUid === resource.metadata.uid && !pod.hasLabels);
    this.unclear = unseen.filter(
      (name) => !names.includes(name) || found.some((pod) => pod.name === name && pod.hasLabels),
    );
  }

  get surplus(): number {
    return this.available.length - this.view.replicas;
  }

  get isCreating(): boolean {
    return this.surplus < 0 && this.pauseMs === 0;
  }

  /** For the status: of the oldest Pods, so that they change rarely. */
  get names(): readonly string[] {
    const lost = this.lost.map(({ name }) => name);
    const available = this.available.toSorted(byAge).map(({ name }) => name);
    return [...this.unclear, ...lost, ...available].slice(0, NAMED_MAX).sort();
  }
}

function adopt({ orphans }: PodsSeen, next: Next): Decision | undefined {
  if (orphans.length === 0) return undefined;
  const verb = orphans.length === 1 ? 'has' : 'have';
  return next.do.adoptPods(
    `${podsInWords(orphans.length)} with the labels of the PodSet ${verb} no controller`,
    orphans,
  );
}

function deleteSurplus(seen: PodsSeen, next: Next): Decision | undefined {
  const { available, surplus, context } = seen;
  if (surplus <= 0) return undefined;
  const { generation, replicas } = seen.view;
  const pods = podsToDelete(available, surplus, context.nowMs);
  const interchangeable = `generation ${generation}`;
  const step = next.do.deletePods(why(seen), { what: 'Pod', pods, interchangeable, replicas });
  return withCount(seen, next, next.reason('PodsSurplus', step));
}

/** An approval covers only Pods that are older than the oldest kept one. A Pod that fails later needs a new one. */
function deleteFinished({ finished, view }: PodsSeen, next: Next): Decision | undefined {
  const newest = finished.toSorted(byAge).reverse();
  const pods = newest.slice(FINISHED_KEPT);
  const oldestKept = newest[FINISHED_KEPT - 1];
  if (pods.length === 0 || oldestKept === undefined) return undefined;
  const interchangeable = `generation ${view.generation}, older than Pod ${oldestKept.uid}`;
  return next.do.deletePods(`only the ${FINISHED_KEPT} newest failed Pods are kept`, {
    ...{ what: 'failed Pod', pods, interchangeable },
  });
}

function createMissing(seen: PodsSeen, next: Next): Decision | undefined {
  if (!seen.isCreating) return undefined;
  const { replicas } = seen.view;
  const step = next.do.createPods(why(seen), { count: -seen.surplus, replicas });
  return withCount(seen, next, next.reason('PodsMissing', step));
}

function why({ available, view }: PodsSeen): string {
  const are = available.length === 1 ? 'is' : 'are';
  return `there ${are} ${podsInWords(available.length)}, and spec.replicas is ${view.replicas}`;
}

/** The status shows the progress of large changes. */
function withCount({ available, view }: PodsSeen, next: Next, step: Decision): Decision {
  const isFarBehind = Math.abs(available.length - view.readyReplicas) >= LAG_MAX;
  return isFarBehind ? next.record({ readyReplicas: available.length }, step) : step;
}

/** A Pod of ours that has lost the labels is not among those that are watched; the status still names it. */
function release({ unclear, lost }: PodsSeen, next: Next): Decision | undefined {
  if (lost.length > 0)
    return next.do.releasePods(`${podsInWords(lost.length)} lost the labels of the PodSet`, lost);
  return unclear.length === 0 ? undefined : next.wait('another look at its Pods', { recheckAfter: '1s' });
}

/** The status, and then the end. Without an open run: 10,000 Pods whose image is missing need none. */
function settle({ available, pauseMs: pause, surplus, view, context }: PodsSeen, next: Next): Decision {
  const { namespace = '', name } = context.resource.metadata;
  const { lookups, nowMs } = context;
  if (surplus < 0)
    return next.wait('the pause after failed Pods to end', {
      recheckAfter: `${pause}ms`,
      ...{ cause: podsFailed(name, namespace), action: 'Create' },
    });
  const nodeNamed = (node: string) => lookups.node(node);
  const unreadiness = unreadinessOf(available, { namespace, ready: view.ready, nodeNamed, nowMs });
  if (unreadiness === undefined)
    return next.reason('PodsReady', next.converged('all desired Pods exist and are Ready'));
  if ('cause' in unreadiness)
    return next.converged('all desired Pods exist, but some are not Ready', {
      ...{ notReady: unreadiness.cause, action: 'Reconcile' },
    });
  return next.converged('its Pods are starting', {
    notReady: {
      ...{
        reason: 'PodsStarting',
        message: 'all desired Pods exist, but some are not Ready yet',
        advice: [],
      },
    },
    recheckAfter: `${unreadiness.recheckMs}ms`,
  });
}

/** With the longest names, these take a quarter of what etcd takes as one object (1.5 MiB). */
const NAMED_MAX = 1_000;
/** So many Pods may be created or deleted before the status says so. */
const LAG_MAX = 100;
/** So many finished Pods stay, the newest ones, for people to look into. */
const FINISHED_KEPT = 5;
/**
 * From the creation of the newest finished Pod until it is replaced, by how many of them (from 1) are recent. The last one counts from five on,
 * as many as are kept.
 */
const REPLACED_AFTER_MS = [0, 10_000, 30_000, 90_000, 300_000] as const;
/** Long enough that five failures at the longest pause all count as recent. */
const RECENT_MS = 30 * 60_000;
/** A Pod that was evicted after it ran this long is no failure: its replacement does not wait. */
const RUN_LEAST_MS = 60_000;

/** Finished Pods that count as failures. A request for a reconcile clears the earlier ones. */
function failedOf(
  finished: readonly PodOfSet[],
  requestedMs = -Infinity,
  nowMs: number,
): readonly PodOfSet[] {
  return finished.filter(
    ({ createdAtMs, disrupted }) => createdAtMs > requestedMs && !hasRun(disrupted, nowMs),
  );
}

function hasRun(disrupted: Disruption | undefined, nowMs: number): boolean {
  return disrupted !== undefined && (disrupted.endedMs ?? nowMs) - disrupted.startedMs >= RUN_LEAST_MS;
}

/** How long from now until Pods may be created again, in milliseconds; 0: at once. */
function pauseMs(finished: readonly PodOfSet[], nowMs: number): number {
  const recent = finished.filter(({ createdAtMs }) => createdAtMs > nowMs - RECENT_MS).sort(byAge);
  const newest = recent.at(-1);
  if (newest === undefined) return 0;
  const replacedAfterMs = REPLACED_AFTER_MS[Math.min(recent.length, REPLACED_AFTER_MS.length) - 1] ?? 0;
  // Where the clocks differ, a Pod may come from the future.
  return Math.max(0, Math.min(newest.createdAtMs, nowMs) + replacedAfterMs - nowMs);
}

/** The oldest first. */
function byAge(a: PodOfSet, b: PodOfSet): number {
  return a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1);
}
