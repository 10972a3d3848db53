import { canonicalText, fieldsOf, listOf } from '../src/api/fields.ts';
import { START_MS, type SimulatedCluster } from './explorer/cluster.ts';
import { keptIn, type Fake } from './outside.ts';
import type { AnyObject, Scenario, Situation } from './scenario.ts';
import type { Checked } from './checked.ts';

/** What was found in the ends where nothing failed, by the spec of the resource. */
export class Outcomes {
  readonly #bySpec = new Map<string, Set<string>>();
  /** Nothing fails now. */
  isLearning = true;

  /** @returns what is wrong */
  compare(spec: string, outcome: string): readonly string[] {
    const known = this.#bySpec.get(spec) ?? new Set();
    this.#bySpec.set(spec, known);
    if (this.isLearning) known.add(outcome);
    const [one] = known;
    if (one === undefined || known.has(outcome)) return [];
    return [`it is not what it is where nothing fails on the way; here ${outcome}; else ${one}`];
  }
}

/** Any scenario. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- what its own types say, each call of explore checks
export type AnyScenario = Scenario<any, any>;

/** What is explored, and what is known of it so far. */
export interface ExploredSubject extends Checked {
  readonly scenario: AnyScenario;
  readonly fake: Fake;
  readonly outcomes: Outcomes;
}

interface Found extends Situation<unknown, object> {
  readonly cluster: SimulatedCluster;
  /** It is one of several states that come back again and again, as time goes on: which one is chance. */
  readonly comesBack: boolean;
}

/** What is not as it has to be when nothing happens any more. */
export function wrongAtEnd(
  { scenario, fake, outcomes, definition }: ExploredSubject,
  end: Found,
): readonly string[] {
  const { resource, outside } = end;
  const own = scenario.finally?.({ ...end, outside }) ?? [];
  const wrong = own.filter((each): each is string => typeof each === 'string' && each !== '');
  if (resource === undefined)
    wrong.push(...left(scenario.mayStay ?? [], fake.initial().state, keptIn(end.cluster).state, definition));
  else if (resource.metadata.deletionTimestamp !== undefined)
    wrong.push(
      `it is being deleted, and stays, with the finalizers ${(resource.metadata.finalizers ?? []).join(', ')}`,
    );
  if (wrong.length > 0 || end.comesBack) return wrong;
  const spec = resource === undefined ? 'gone' : canonicalText(resource.spec);
  const outcome = scenario.outcome?.({ ...end, outside }) ?? outcomeOf(end);
  return outcomes.compare(spec, withoutTimes(withoutUids(canonicalText(outcome))));
}

type State = Readonly<Record<string, unknown>>;

function left(
  mayStay: readonly PropertyKey[],
  before: State,
  after: State,
  { finalizer }: { finalizer?: string },
): readonly string[] {
  const fields = Object.keys(after).filter(
    (field) => !mayStay.includes(field) && canonicalText(after[field]) !== canonicalText(before[field]),
  );
  if (fields.length === 0) return [];
  const why =
    finalizer === undefined
      ? 'it has no finalizer, which keeps the resource until its steps have cleaned up'
      : 'the finalizer goes too early';
  const stays = fields.map((field) => `${field}: ${canonicalText(after[field])}`).join(', ');
  return [`the resource is gone, and outside stays ${stays}; ${why}`];
}

/** Whatever the controller brings about. */
function outcomeOf({ resource, outside, objects }: Found): unknown {
  const others = Object.entries(objects).map(([key, object]) => [key, contentOf(object ?? {})]);
  return { outside, status: statusOf(resource), objects: Object.fromEntries(others) as unknown };
}

function contentOf({ metadata, ...content }: AnyObject): object {
  return { ...content, labels: fieldsOf(metadata)['labels'] };
}

/** Without generations and sentences. */
function statusOf(resource: unknown): object {
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- left out of the rest
  const { conditions, observedGeneration: _, ...own } = fieldsOf(fieldsOf(resource)['status']);
  return { ...own, conditions: listOf(conditions).map(({ type, status, reason }) => [type, status, reason]) };
}

function withoutUids(text: string): string {
  return text.replace(/uid-\d+/g, 'uid-…');
}

/** As texts, in milliseconds or in seconds: whatever has passed by then differs from story to story. */
function withoutTimes(text: string): string {
  return text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g, 'a time')
    .replace(/\b\d{10}(?:\d{3})?\b/g, (number) => (isMeanwhile(number) ? 'a time' : number));
}

/** Since the exploration began. */
function isMeanwhile(number: string): boolean {
  const ms = Number(number) * (number.length === 10 ? 1_000 : 1);
  return ms >= START_MS && ms < START_MS + YEAR_MS;
}

const YEAR_MS = 366 * 86_400_000;
