import type { KubernetesObject } from '../../contract/object.ts';
import { bounded } from '../bounded.ts';
import { readObject, type ObjectName } from '../cluster/objects.ts';
import type { Session } from '../connection/session.ts';
import type { TemporalAccess } from '../connection/temporal.ts';
import { placeOf, titleOf, type NamedResource, type ResourcePlace } from '../resource-name.ts';
import { describeRun, runsOfPlace, timelineOfRun, type ListedRun } from '../runs/runs.ts';
import { withPending, type RunTimeline } from '../runs/timeline.ts';
import type { Incarnation } from './history-lines.ts';
import { eventsOf, type EventOf } from './object-events.ts';

export interface ReadHistory {
  readonly incarnations: readonly Incarnation[];
  /** What is left out, and why. */
  readonly notes: readonly string[];
}

/** Reads what is known of a name. Runs that are closed are read once. */
export class HistoryReader {
  readonly #session: Session;
  readonly #place: ResourcePlace;
  readonly #object: ObjectName;
  readonly #tail: number | undefined;
  readonly #closed = new Map<string, RunTimeline>();
  /** `PodSet shop/web` */
  readonly title: string;

  constructor(session: Session, resource: NamedResource, tail: number | undefined) {
    this.#session = session;
    this.#tail = tail;
    this.#place = placeOf(resource, session.namespace);
    this.#object = { ...this.#place, type: resource.controller.primary.type };
    this.title = titleOf(this.#object);
  }

  async read(): Promise<ReadHistory> {
    const { client } = this.#session;
    const [live, events, access] = await Promise.all([
      readObject(client, this.#object, { metadataOnly: true }),
      eventsOf(client, this.#object.type, this.#place),
      this.#session.temporal(),
    ]);
    const most = this.#tail ?? RUNS_MAX;
    // One more, to know whether there are any.
    const runs = await runsOf(access, this.#place, { liveUid: live?.metadata.uid, most: most + 1 });
    const shown = runs.slice(-most);
    const timelines = await this.#timelinesOf(shown, access);
    const notes = [
      ...(events === undefined
        ? [`Events are not shown: you may not list them in ${this.#place.namespace}`]
        : []),
      ...(this.#tail === undefined && runs.length > most
        ? [`older reconciles than the last ${most} are left out; for more of them: --tail ${most * 10}`]
        : []),
    ];
    return { incarnations: incarnationsOf({ live, runs: shown, timelines, events: events ?? [] }), notes };
  }

  async #timelinesOf(
    runs: readonly ListedRun[],
    access: TemporalAccess,
  ): Promise<ReadonlyMap<string, RunTimeline>> {
    const fresh = await bounded(
      runs.filter(({ runId }) => !this.#closed.has(runId)),
      HISTORIES_AT_A_TIME,
      (run) => readTimeline(access, run),
    );
    for (const timeline of fresh) if (timeline.end !== undefined) this.#closed.set(timeline.runId, timeline);
    return new Map([...this.#closed, ...fresh.map((timeline) => [timeline.runId, timeline] as const)]);
  }
}

const HISTORIES_AT_A_TIME = 8;

/** So many reconciles are shown where nobody says how many. */
export const RUNS_MAX = 1_000;

interface Asked {
  readonly liveUid: string | undefined;
  readonly most: number;
}

/** The oldest first. The list may lag by a second: the latest run of the resource that is there is asked for besides. */
async function runsOf(
  access: TemporalAccess,
  place: ResourcePlace,
  { liveUid, most }: Asked,
): Promise<readonly ListedRun[]> {
  const [listed, latest] = await Promise.all([
    runsOfPlace(access, place, most),
    liveUid === undefined ? undefined : describeRun(access, { ...place, uid: liveUid }),
  ]);
  const byId = new Map(listed.toReversed().map((run) => [run.runId, run]));
  if (latest !== undefined) byId.set(latest.runId, latest);
  return [...byId.values()];
}

async function readTimeline(access: TemporalAccess, run: ListedRun): Promise<RunTimeline> {
  const timeline = { ...(await timelineOfRun(access, run)), runId: run.runId };
  if (timeline.end !== undefined) return timeline;
  const now = await describeRun(access, run.ref, run.runId);
  return now === undefined ? timeline : withPending(timeline, now.pending);
}

interface Found {
  readonly live: KubernetesObject | undefined;
  readonly runs: readonly ListedRun[];
  readonly timelines: ReadonlyMap<string, RunTimeline>;
  readonly events: readonly EventOf[];
}

/** By UID. Events of objects of which nothing else is known are theirs. */
export function incarnationsOf({ live, runs, timelines, events }: Found): readonly Incarnation[] {
  const uids = new Set([
    ...runs.map(({ ref }) => ref.uid),
    ...events.map(({ uid }) => uid),
    ...(live ? [live.metadata.uid] : []),
  ]);
  return [...uids].map((uid) => {
    const isLive = live?.metadata.uid === uid;
    const created = isLive ? live.metadata.creationTimestamp : undefined;
    return {
      uid,
      createdAtMs: created === undefined ? undefined : Date.parse(created),
      isLive,
      runs: runs.filter(({ ref }) => ref.uid === uid).flatMap(({ runId }) => timelines.get(runId) ?? []),
      events: events.filter((event) => event.uid === uid),
    };
  });
}
