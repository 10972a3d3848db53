import { z } from 'zod';
import { EVENTS } from '../../controllers/kinds.ts';
import { namespaceOf, type ResourceType } from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { EVENTS_OF_CLUSTER_SCOPED } from '../../contract/resource.ts';
import { isOf } from '../../kubernetes/errors.ts';
import type { ListedRun, RunReader } from '../../temporal/run-reader.ts';
import { withPending, type RunTimeline } from '../../temporal/timeline.ts';
import { bounded } from '../../bounded.ts';
import { listObjects, readObject } from '../cluster/objects.ts';
import type { Session } from '../connection/session.ts';
import type { TemporalAccess } from '../connection/temporal.ts';
import { titleOf, type NamedResource, type ResourcePlace } from '../resource-name.ts';
import type { Incarnation, ObjectEvent } from './history-lines.ts';

export interface ReadHistory {
  readonly incarnations: readonly Incarnation[];
  /** Lines about what is left out, and why. */
  readonly notes: readonly string[];
}

const HISTORIES_AT_A_TIME = 8;

export const RUNS_MAX = 1_000;

/** Reads all that is known of a name. It reads closed runs only once. */
export class HistoryReader {
  readonly #session: Session;
  readonly #resource: NamedResource;
  readonly #tail: number | undefined;
  readonly #closed = new Map<string, RunTimeline>();
  readonly title: string;

  constructor(session: Session, resource: NamedResource, tail: number | undefined) {
    this.#session = session;
    this.#tail = tail;
    this.#resource = resource;
    this.title = titleOf(resource.object);
  }

  async read(): Promise<ReadHistory> {
    const { client } = this.#session;
    const { object, place } = this.#resource;
    const [live, events, access] = await Promise.all([
      readObject(client, object, { metadataOnly: true }),
      eventsOf(this.#session, object.type, place),
      this.#session.temporal(),
    ]);
    const most = this.#tail ?? RUNS_MAX;
    // One more shows whether runs are left out.
    const runs = await this.#runs(access, live?.metadata.uid, most + 1);
    const shown = runs.slice(-most);
    const timelines = await this.#timelines(shown, access.runs);
    const notes = [
      ...(events
        ? []
        : [`Events are not shown: you may not list them in ${namespaceOfEvents(place, object.type)}`]),
      ...(this.#tail === undefined && runs.length > most
        ? [`only the last ${most} reconciles are shown; for more: --tail ${most * 10}`]
        : []),
    ];
    return { incarnations: incarnationsOf({ live, runs: shown, timelines, events: events ?? [] }), notes };
  }

  /** The oldest first. Temporal's list may be a second late, so the latest run is also read by itself. */
  async #runs(
    { runs, cluster }: TemporalAccess,
    uid: string | undefined,
    most: number,
  ): Promise<readonly ListedRun[]> {
    const { place } = this.#resource;
    const [listed, latest] = await Promise.all([
      runs.ofPlace(place, cluster, most),
      uid === undefined ? undefined : runs.describe({ ...place, uid }),
    ]);
    const byId = new Map(listed.toReversed().map((run) => [run.runId, run]));
    if (latest !== undefined) byId.set(latest.runId, latest);
    return [...byId.values()];
  }

  async #timelines(runs: readonly ListedRun[], reader: RunReader): Promise<ReadonlyMap<string, RunTimeline>> {
    const unread = runs.filter(({ runId }) => !this.#closed.has(runId));
    const fresh = await bounded(unread, HISTORIES_AT_A_TIME, (run) => readTimeline(reader, run));
    for (const timeline of fresh) if (timeline.end !== undefined) this.#closed.set(timeline.runId, timeline);
    return new Map([...this.#closed, ...fresh.map((timeline) => [timeline.runId, timeline] as const)]);
  }
}

async function readTimeline(reader: RunReader, run: ListedRun): Promise<RunTimeline> {
  const timeline = { ...(await reader.timeline(run)), runId: run.runId };
  if (timeline.end !== undefined) return timeline;
  const now = await reader.describe(run.ref, run.runId);
  return now === undefined ? timeline : withPending(timeline, now.pending);
}

/** @returns undefined if the user may not list Events @throws ApiError */
async function eventsOf(
  { program, client }: Session,
  type: ResourceType,
  place: ResourcePlace,
): Promise<readonly EventOf[] | undefined> {
  const { controller, name } = place;
  const namespace = namespaceOfEvents(place, type);
  const fieldSelector = `regarding.kind=${type.kind},regarding.name=${name}`;
  try {
    const objects = await listObjects(client, EVENTS, { namespace, fieldSelector });
    return objects.flatMap((object) => eventFrom(object, `${program.name}/${controller}`) ?? []);
  } catch (error) {
    if (isOf(error, 'access-denied')) return undefined;
    throw error;
  }
}

interface EventOf extends ObjectEvent {
  /** Of the object that it is about. */
  readonly uid: string;
}

/** As the operator writes it. */
const Event = z.object({
  type: z.string(),
  reason: z.string(),
  note: z.string().default(''),
  eventTime: z.string(),
  reportingController: z.string(),
  metadata: z.object({ uid: z.string() }),
  regarding: z.object({ uid: z.string().default('') }),
  series: z.object({ count: z.number() }).nullish(),
});

function eventFrom(object: unknown, reporter: string): EventOf | undefined {
  const event = Event.safeParse(object).data;
  if (event?.reportingController !== reporter) return undefined;
  const { type, reason, note, eventTime, metadata, regarding, series } = event;
  const count = series?.count ?? 1;
  return { atMs: Date.parse(eventTime), type, reason, note, count, id: metadata.uid, uid: regarding.uid };
}

interface Found {
  readonly live: KubernetesObject | undefined;
  readonly runs: readonly ListedRun[];
  readonly timelines: ReadonlyMap<string, RunTimeline>;
  readonly events: readonly EventOf[];
}

/** One for each UID, even if only an Event has it. */
export function incarnationsOf({ live, runs, timelines, events }: Found): readonly Incarnation[] {
  const liveUid = live?.metadata.uid;
  const created = live?.metadata.creationTimestamp;
  const uids = [...runs.map(({ ref }) => ref.uid), ...events.map(({ uid }) => uid), liveUid ?? []].flat();
  return [...new Set(uids)].map((uid) => ({
    uid,
    createdAtMs: uid === liveUid && created !== undefined ? Date.parse(created) : undefined,
    isLive: uid === liveUid,
    runs: runs.filter(({ ref }) => ref.uid === uid).flatMap(({ runId }) => timelines.get(runId) ?? []),
    events: events.filter((event) => event.uid === uid),
  }));
}

function namespaceOfEvents(place: ResourcePlace, type: ResourceType): string {
  return namespaceOf(place, type) ?? EVENTS_OF_CLUSTER_SCOPED;
}
