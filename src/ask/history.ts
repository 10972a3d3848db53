import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError, type Command } from 'commander';
import type { KubernetesObject } from '../contract/object.ts';
import { found } from '../kubernetes/found.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import { inSession, type Ask, type ExitStatus } from './ask.ts';
import { ASK_COMMANDS } from './commands.ts';
import { withConnectionOptions, withOutput, type ConnectionOptions } from './connection-options.ts';
import { linesOf, timeText, type Incarnation, type Line } from './history-lines.ts';
import { eventsOf, type EventOf } from './object-events.ts';
import { harmless, paintFor, structured, type Paint } from './output.ts';
import { parseNamedResource, placeOf, type NamedResource, type ResourcePlace } from './resource-name.ts';
import { ENCRYPTED_WORDS, withPending, type RunStory } from './run-story.ts';
import { bounded, describeRun, runsOfPlace, storyOfRun, type ListedRun } from './runs.ts';
import { controllersOf, type Session, type TemporalAccess } from './session.ts';

interface HistoryOptions extends ConnectionOptions {
  readonly follow?: boolean;
  readonly tail?: number;
  readonly output?: 'json' | 'yaml';
}

export function addHistory(program: Command, ask: Ask): void {
  const command = program
    .command('history')
    .description(ASK_COMMANDS.history)
    .argument('<resource...>', 'KIND/NAME or KIND NAME')
    .option('-f, --follow', 'go on with what happens next, until Ctrl-C')
    .option('--tail <count>', 'only the last so many reconciles', countOf);
  withOutput(withConnectionOptions(command), ['json', 'yaml']).action(
    (words: string[], options: HistoryOptions) =>
      inSession(ask, options, (session) => answerHistory(ask, { session, words, options })),
  );
}

function countOf(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('write a number from 1');
  return Number(text);
}

interface Question {
  readonly session: Session;
  readonly words: readonly string[];
  readonly options: HistoryOptions;
}

/** 1 where nothing is known of the resource. */
async function answerHistory(ask: Ask, { session, words, options }: Question): Promise<ExitStatus> {
  const controllers = controllersOf(await session.settings());
  const resource = parseNamedResource(words, controllers);
  const reader = new HistoryReader(session, resource, options.tail);
  if (options.follow === true) {
    await follow(ask, reader);
    return 0;
  }
  const { incarnations, notes } = await reader.read();
  if (options.output !== undefined) {
    ask.stdout.write(await structured({ resource: reader.title, objects: incarnations }, options.output));
    return incarnations.length === 0 ? 1 : 0;
  }
  const lines = linesOf(incarnations);
  if (lines.length === 0) {
    ask.stderr.write(`there is no ${reader.title}, and Temporal keeps no reconcile of one\n`);
    return 1;
  }
  const paint = paintFor(ask);
  for (const line of lines) ask.stdout.write(textOfLine(line, { title: reader.title, paint }));
  for (const note of [...notes, ...noteOnKeys(lines)]) ask.stderr.write(`${note}\n`);
  return 0;
}

function noteOnKeys(lines: readonly Line[]): string[] {
  if (!lines.some(({ words, notes }) => [words, ...notes].some((text) => text.includes(ENCRYPTED_WORDS))))
    return [];
  return [`what is ${ENCRYPTED_WORDS} takes the operator's keys to read: --payload-keys FILE`];
}

interface ReadHistory {
  readonly incarnations: readonly Incarnation[];
  /** What could not be read. */
  readonly notes: readonly string[];
}

/** Reads what is known of a name. Runs that are closed are read once. */
class HistoryReader {
  readonly #session: Session;
  readonly #resource: NamedResource;
  readonly #tail: number | undefined;
  readonly #closed = new Map<string, RunStory>();
  /** `PodSet shop/web` */
  readonly title: string;

  constructor(session: Session, resource: NamedResource, tail: number | undefined) {
    this.#session = session;
    this.#resource = resource;
    this.#tail = tail;
    const { kind, namespaced } = resource.controller.primary.type;
    this.title = `${kind} ${namespaced ? `${session.namespace}/` : ''}${resource.name}`;
  }

  async read(): Promise<ReadHistory> {
    const { client, namespace } = this.#session;
    const place = placeOf(this.#resource, namespace);
    const [live, events] = await Promise.all([
      this.#live(place),
      eventsOf(client, this.#resource.controller.primary.type, place),
    ]);
    const access = await this.#session.temporal();
    const runs = (await runsOf(access, place, live?.metadata.uid)).slice(-(this.#tail ?? 0));
    const fresh = await bounded(
      runs.filter(({ runId }) => !this.#closed.has(runId)),
      HISTORIES_AT_A_TIME,
      (run) => readStory(access, run),
    );
    for (const story of fresh) if (story.end !== undefined) this.#closed.set(story.runId, story);
    const stories = new Map([...this.#closed, ...fresh.map((story) => [story.runId, story] as const)]);
    const notes = events === undefined ? [`Events are not shown: you may not list them in ${namespace}`] : [];
    return { incarnations: incarnationsOf({ live, runs, stories, events: events ?? [] }), notes };
  }

  #live({ namespace, name }: ResourcePlace): Promise<KubernetesObject | undefined> {
    const { type } = this.#resource.controller.primary;
    const path = resourcePath(type, { namespace: type.namespaced ? namespace : undefined, name });
    return found(this.#session.client.request<KubernetesObject>({ method: 'GET', path, metadataOnly: true }));
  }
}

const HISTORIES_AT_A_TIME = 8;

/** The oldest first. The list may lag by a second: the latest run of the resource that is there is asked for besides. */
async function runsOf(
  access: TemporalAccess,
  place: ResourcePlace,
  liveUid: string | undefined,
): Promise<readonly ListedRun[]> {
  const [listed, latest] = await Promise.all([
    runsOfPlace(access, place),
    liveUid === undefined ? undefined : describeRun(access, { ...place, uid: liveUid }),
  ]);
  const byId = new Map(listed.toReversed().map((run) => [run.runId, run]));
  if (latest !== undefined) byId.set(latest.runId, latest);
  return [...byId.values()];
}

async function readStory(access: TemporalAccess, run: ListedRun): Promise<RunStory> {
  const story = { ...(await storyOfRun(access, run)), runId: run.runId };
  if (story.end !== undefined) return story;
  const now = await describeRun(access, run.ref, run.runId);
  return now === undefined ? story : withPending(story, now.pending);
}

interface Found {
  readonly live: KubernetesObject | undefined;
  readonly runs: readonly ListedRun[];
  readonly stories: ReadonlyMap<string, RunStory>;
  readonly events: readonly EventOf[];
}

/** By UID. Events of objects of which nothing else is known are theirs. */
export function incarnationsOf({ live, runs, stories, events }: Found): readonly Incarnation[] {
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
      runs: runs.filter(({ ref }) => ref.uid === uid).flatMap(({ runId }) => stories.get(runId) ?? []),
      events: events.filter((event) => event.uid === uid),
    };
  });
}

const FOLLOW_EVERY_MS = 1_000;

/** A line that has changed, such as by another attempt, is printed again. Ends with the signal. */
async function follow(ask: Ask, reader: HistoryReader): Promise<void> {
  const printed = new Map<string, string>();
  const style = { title: reader.title, paint: paintFor(ask) };
  while (!ask.signal.aborted) {
    for (const line of linesOf((await reader.read()).incarnations)) {
      const text = textOfLine(line, style);
      if (printed.get(line.id) !== text) ask.stdout.write(text);
      printed.set(line.id, text);
    }
    await delay(FOLLOW_EVERY_MS, undefined, { signal: ask.signal }).catch(() => undefined);
  }
}

interface LineStyle {
  readonly title: string;
  readonly paint: Paint;
}

const LABEL_WIDTH = 22;

/** With a line feed. */
export function textOfLine(line: Line, { title, paint }: LineStyle): string {
  if (line.kind === 'object') return `${paint('bold', `── ${title}, ${line.words}`)}\n`;
  const isHead = line.kind === 'run' || line.kind === 'event';
  const label = (isHead ? line.label : `  ${line.label}`).padEnd(LABEL_WIDTH);
  const notes = line.notes.length === 0 ? '' : ` (${harmless(line.notes.join(', '))})`;
  const format = FORMATS[line.tone];
  const text = `${label} ${harmless(line.words)}`.trimEnd();
  const shown = line.kind === 'run' ? paint('bold', text) : format === undefined ? text : paint(format, text);
  return `${paint('dim', timeText(line.atMs))} ${shown}${paint('dim', notes)}\n`;
}

const FORMATS = { good: undefined, plain: undefined, bad: 'red' } as const;
