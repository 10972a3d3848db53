import { stripVTControlCharacters } from 'node:util';
import type { Advice } from '../../api/cause.ts';
import type { Ask, ExitStatus, Question } from '../ask.ts';
import { readRows, type ReadOptions, type Row } from '../get/rows.ts';
import { durationText, harmless, paintFor, TIMELESS_MS, type Paint } from '../output.ts';
import { namedResource, parseResource, type ResourceName } from '../resource-name.ts';
import { colourOf, isAtRest, isWell, type ResourceState } from '../state.ts';
import { explain } from './explain.ts';
import { adviceTexts, lineOf } from './explanation.ts';
import { findOut } from './findings.ts';
import type { OperatorProblem } from './operator-problems.ts';

/** Resources that are not well for the same cause. */
export interface Group {
  /** Of the worst of them. */
  readonly state: ResourceState | undefined;
  readonly reason: string;
  readonly controller: string;
  /** The oldest first. */
  readonly rows: readonly Row[];
  /** Of the oldest that says so. */
  readonly message: string;
  /** Undefined: a condition and a hold have none. */
  readonly advice: Advice | undefined;
}

export interface Overview {
  readonly groups: readonly Group[];
  readonly count: number;
  readonly problems: readonly OperatorProblem[];
}

/** The worst first. */
const ORDER: readonly (ResourceState | undefined)[] = [
  'Stalled',
  'Retrying',
  'NotReady',
  // With a cause, such as an annotation that cannot be followed.
  'UpToDate',
  'Ignored',
  'AwaitingApproval',
  'Waiting',
  'Reconciling',
  'Paused',
];
/** Without a cause, a wait counts only after so long: most builds end earlier. */
const LONG_MS = 5 * 60_000;

/** Everything that is not well, grouped by cause, the worst first. Pure. */
export function overviewOf(
  rows: readonly Row[],
  nowMs: number,
  problems: readonly OperatorProblem[] = [],
): Overview {
  const notWell = rows.filter((row) => isNotWell(row, nowMs));
  const byCause = Map.groupBy(notWell, (row) => `${row.controller} ${causeReasonOf(row)}`);
  const groups = [...byCause.values()].map(groupOf);
  groups.sort((a, b) => rankIn(a) - rankIn(b) || b.rows.length - a.rows.length);
  return { groups, count: rows.length, problems };
}

function isNotWell(row: Row, nowMs: number): boolean {
  if (isWell(row)) return false;
  const isOnItsWay = row.state === 'Waiting' || row.state === 'Reconciling';
  return !isOnItsWay || row.cause !== undefined || nowMs - (row.sinceMs ?? nowMs) > LONG_MS;
}

function causeReasonOf({ cause, state }: Row): string {
  return cause?.reason ?? String(state);
}

function groupOf(unordered: readonly Row[]): Group {
  const rows = unordered.toSorted((a, b) => sinceOf(a) - sinceOf(b));
  const [worst] = rows.toSorted((a, b) => rankOf(a) - rankOf(b));
  const telling = rows.find(({ cause }) => cause !== undefined && cause.advice.length > 0) ?? rows[0];
  const { cause, controller = '' } = telling ?? {};
  const because = becauseOf(telling);
  const isOfAll = rows.every((row) => becauseOf(row) === because);
  return {
    ...{ state: worst?.state, reason: telling ? causeReasonOf(telling) : '', controller, rows },
    message: telling === undefined || isOfAll ? because : `${nameOf(telling)}: ${because}`,
    advice: mostUseful(cause?.advice ?? []),
  };
}

function becauseOf({ cause, message = '' }: Partial<Row> = {}): string {
  return cause?.message ?? message;
}

function mostUseful(advice: readonly Advice[]): Advice | undefined {
  return advice.find((each) => typeof each !== 'string') ?? advice[0];
}

function sinceOf({ sinceMs = Number.MAX_SAFE_INTEGER }: Row): number {
  return sinceMs;
}

function rankIn({ rows }: Group): number {
  return Math.min(...new Set(rows.map(rankOf)));
}

/** A deletion that does not come to its end is as bad as what is stalled. */
function rankOf({ state, isBeingDeleted }: Row): number {
  return isBeingDeleted === true ? 0 : ORDER.indexOf(state);
}

/** As kubectl takes it: `podset/web -n shop`. */
function nameOf({ resource, namespace }: Pick<Row, 'resource' | 'namespace'>): string {
  return namespace === '' ? resource : `${resource} -n ${namespace}`;
}

const NAMES_MAX = 3;

/** For people; ends in a line feed. */
export function overviewText({ groups, count, problems }: Overview, paint: Paint, nowMs: number): string {
  const first = problems.map((problem) => problemText(problem, paint));
  if (groups.length === 0 && problems.length === 0)
    return `${paint('green', `everything is well: ${resources(count)}`)}\n`;
  if (groups.length === 0) return `${first.join('\n\n')}\n`;
  const notWell = groups.reduce((sum, { rows }) => sum + rows.length, 0);
  const head = paint('bold', `${notWell} of ${resources(count)} ${notWell === 1 ? 'is' : 'are'} not well`);
  return `${[...first, head, ...groups.map((group) => groupText(group, paint, nowMs))].join('\n\n')}\n`;
}

const TITLES = {
  worker: 'No worker is polling',
  watcher: 'Nobody watches the cluster',
  'worker of another task queue': 'Runs are left on another task queue',
} as const satisfies Record<OperatorProblem['missing'], string>;

function problemText({ missing, message, advice }: OperatorProblem, paint: Paint): string {
  const line = lineOf(paint);
  const texts = adviceTexts(advice, paint).map((text, index) => line(index === 0 ? 'you can' : '', text));
  return [paint('red', TITLES[missing]), line('because', message), ...texts].join('\n');
}

function resources(count: number): string {
  return count === 1 ? '1 resource' : `${count} resources`;
}

function groupText(
  { state, reason: reason, controller, rows, message: message, advice }: Group,
  paint: Paint,
  nowMs: number,
) {
  const name = state === reason || isAtRest(state) ? reason : `${state ?? ''}: ${reason}`;
  const title = paint(colourOf({ state, cause: reason }), name);
  const [{ sinceMs } = {}] = rows;
  const age =
    sinceMs === undefined
      ? ''
      : `, ${rows.length === 1 ? '' : 'the oldest '}for ${durationText(nowMs - sinceMs)}`;
  const more = rows.length > NAMES_MAX ? [`and ${rows.length - NAMES_MAX} more`] : [];
  const line = lineOf(paint);
  return [
    `${title}, ${rows.length} of ${controller}${age}`,
    line('which', [...rows.slice(0, NAMES_MAX).map(nameOf), ...more].join(', ')),
    ...(message === '' ? [] : [line('because', harmless(message))]),
    ...(advice === undefined ? [] : adviceTexts([advice], paint).map((text) => line('you can', text))),
  ].join('\n');
}

export function overviewData({ groups, count, problems }: Overview): object {
  const becauseOf = (who: OperatorProblem['missing']) =>
    problems.find(({ missing }) => missing === who)?.message;
  return {
    resources: count,
    noWorker: becauseOf('worker'),
    noWatcher: becauseOf('watcher'),
    leftRuns: becauseOf('worker of another task queue'),
    causes: groups.map(({ state, reason: reason, controller, rows, message: message, advice }) => ({
      ...{ state, reason, controller, count: rows.length },
      oldest: rows[0]?.sinceMs === undefined ? undefined : new Date(rows[0].sinceMs).toISOString(),
      which: rows.slice(0, NAMES_MAX).map(({ namespace, resource }) => ({ namespace, resource })),
      message: stripVTControlCharacters(message),
      advice: typeof advice === 'string' ? { sentence: advice } : advice,
    })),
  };
}

/** What `why` says. */
export interface Said {
  readonly text: string;
  readonly data: object;
  /** The same as long as only time has passed. */
  readonly change: string;
  readonly notes?: readonly string[];
  readonly exit: ExitStatus;
}

/** What `why` says without the name of a resource. */
export async function readAll(
  ask: Ask,
  question: Question<ReadOptions>,
  named: ResourceName | undefined,
): Promise<Said> {
  const { rows, problems, notes, ofOperator } = await readRows(ask, question, named);
  const bare = overviewOf(rows, ask.now(), ofOperator);
  const groups = await Promise.all(bare.groups.map((group) => withAdvice(ask, question, group)));
  const overview = { ...bare, groups };
  const exit = overview.groups.length === 0 && ofOperator.length === 0 ? 0 : 1;
  return {
    text: overviewText(overview, paintFor(ask), ask.now()),
    data: overviewData(overview),
    change: overviewText(overview, (_, text) => text, TIMELESS_MS),
    notes: [...problems.map((problem) => `kubectl durable: ${problem}`), ...notes],
    exit: problems.length > 0 ? 2 : exit,
  };
}

/** Of a group without any, what `why` says of its oldest resource. */
async function withAdvice(ask: Ask, { session }: Question<ReadOptions>, group: Group): Promise<Group> {
  const [oldest] = group.rows;
  if (group.advice !== undefined || oldest === undefined) return group;
  const { controllers, name = '' } = parseResource(ask.program, [oldest.resource]);
  const controller = controllers.find((each) => each.name === group.controller);
  if (controller === undefined) return group;
  const resource = namedResource(controller, name, oldest.namespace || session.namespace);
  const findings = await findOut(session, resource, ask.now).catch(() => undefined);
  const advice = mostUseful(findings === undefined ? [] : explain(findings).advice);
  return { ...group, advice: advice ?? { run: `kubectl durable why ${nameOf(oldest)}`, to: 'explain it' } };
}
