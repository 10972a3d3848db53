import { InvalidArgumentError, type Command } from 'commander';
import { z } from 'zod';
import { bounded } from '../../temporal/bounded.ts';
import { namespaceOf, type ResourceType } from '../../api/resource-type.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { EVENTS_OF_CLUSTER_SCOPED } from '../../api/resource-ref.ts';
import { EVENTS } from '../../api/kinds.ts';
import { isOf } from '../../kubernetes/errors.ts';
import { ENCRYPTED_WORDS } from '../../temporal/payloads.ts';
import type { ListedRun, RunReader } from '../../temporal/run-reader.ts';
import { withPending, type RunTimeline } from '../../temporal/timeline.ts';
import { answerWith, AskProblem, repeatedly, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { listObjects, readObject } from '../cluster/objects.ts';
import { addCommand, type SharedOptions } from '../options.ts';
import { harmless, oneOrAll, paintFor, structured, timeText, type Paint } from '../output.ts';
import { parseNamedResource, type NamedResource, type ResourcePlace } from '../resource-name.ts';
import type { Session, TemporalAccess } from '../session.ts';
import { historyLines, type Incarnation, type Line, type ObjectEvent } from './history-lines.ts';

interface HistoryOptions extends SharedOptions {
  readonly follow?: boolean;
  readonly tail?: number;
  readonly output?: 'json' | 'yaml';
}

export function addHistory(program: Command, ask: Ask): void {
  const command = addCommand(program, ask, 'history', 'data')
    .argument('<resource...>', 'KIND/NAME or KIND NAME')
    .option('-f, --follow', 'then print what happens next, until Ctrl-C')
    .option('--tail <count>', `only the last COUNT reconciles (default: ${RUNS_MAX})`, countFrom);
  answerWith(command, ask, answerHistory);
}

function countFrom(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('Write a number from 1.');
  return Number(text);
}

/** The status is 1 if nothing is known of the resource. */
async function answerHistory(
  ask: Ask,
  { session, words, options: { follow: isFollowed, output, tail } }: Question<HistoryOptions>,
): Promise<ExitStatus> {
  const resources = parseNamedResource(session, words);
  const readers = resources.map((each) => new HistoryReader(session, each, tail));
  if (isFollowed === true) {
    if (output !== undefined) throw new AskProblem('-o and --follow exclude each other; leave one out');
    await Promise.all(readers.map((reader) => follow(ask, reader)));
    return 0;
  }
  const histories = await Promise.all(readers.map((reader) => reader.read()));
  const lines = histories.map(({ incarnations }) => historyLines(incarnations));
  if (output !== undefined) {
    const data = histories.map(({ incarnations }, index) => ({
      resource: readers[index]?.title,
      objects: incarnations,
    }));
    ask.stdout.write(await structured(oneOrAll(data), output));
  } else {
    const paint = paintFor(ask);
    for (const [index, { title }] of readers.entries())
      for (const line of lines[index] ?? []) ask.stdout.write(textOfLine(line, { title, paint }));
  }
  const notes = readers.flatMap((reader, index) => {
    const its = lines[index] ?? [];
    return [...(histories[index]?.notes ?? []), ...noteOnKeys(its), ...noteOnNothing(its, reader)];
  });
  for (const note of new Set(notes)) ask.stderr.write(`${note}\n`);
  return lines.every(({ length }) => length === 0) ? 1 : 0;
}

function noteOnNothing(lines: readonly Line[], { title }: HistoryReader): string[] {
  if (lines.length === 0) return [`there is no ${title}, and Temporal has no reconcile of it`];
  return lines.every(({ kind }) => kind === 'object') ? [`Temporal has no reconcile of ${title}`] : [];
}

function noteOnKeys(lines: readonly Line[]): string[] {
  if (!lines.some(({ words, notes }) => [words, ...notes].some((text) => text.includes(ENCRYPTED_WORDS))))
    return [];
  return [`to read what is ${ENCRYPTED_WORDS}, give the operator's keys: --payload-keys FILE`];
}

const READ_EVERY_MS = 1_000;

/** Prints new lines until Ctrl-C, and again those that have changed, such as by another attempt. */
async function follow(ask: Ask, reader: HistoryReader): Promise<void> {
  const printed = new Map<string, string>();
  const noted = new Set<string>();
  const style = { title: reader.title, paint: paintFor(ask) };
  const print = ({ incarnations, notes }: ReadHistory) => {
    const lines = historyLines(incarnations);
    for (const note of [...notes, ...noteOnKeys(lines)]) {
      if (!noted.has(note)) ask.stderr.write(`${note}\n`);
      noted.add(note);
    }
    for (const line of lines) {
      const text = textOfLine(line, style);
      if (printed.get(line.id) !== text) ask.stdout.write(text);
      printed.set(line.id, text);
    }
  };
  // If the first read fails, the command ends.
  print(await reader.read());
  for await (const next of repeatedly(ask, READ_EVERY_MS, () => reader.read())) print(next);
}

interface LineStyle {
  readonly title: string;
  readonly paint: Paint;
}

const LABEL_WIDTH = 22;

export function textOfLine({ kind, ...line }: Line, { title, paint }: LineStyle): string {
  if (kind === 'object') return `${paint('bold', `── ${title}, ${line.words}`)}\n`;
  const label = (kind === 'entry' ? `  ${line.label}` : line.label).padEnd(LABEL_WIDTH);
  const notes = line.notes.length === 0 ? '' : ` (${harmless(line.notes.join(', '))})`;
  const text = `${label} ${harmless(line.words)}`.trimEnd();
  const plain = line.isBad ? paint('red', text) : text;
  const shown = kind === 'run' ? paint('bold', text) : plain;
  return `${paint('dim', timeText(line.atMs))} ${shown}${paint('dim', notes)}\n`;
}

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
    this.title = resource.title;
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
    const sinceMs = runs.length > most ? (shown[0]?.startedAtMs ?? 0) : 0;
    const since = (events ?? []).filter(({ atMs }) => atMs >= sinceMs);
    return { incarnations: incarnationsOf({ live, runs: shown, timelines, events: since }), notes };
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
