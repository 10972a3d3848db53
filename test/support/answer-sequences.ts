import { bounded } from '../../src/temporal/bounded.ts';
import {
  ANSWERED_BECAUSE_ANNOTATION,
  ANSWERED_BY_ANNOTATION,
  APPROVED_ANNOTATION,
  REJECTED_ANNOTATION,
} from '../../src/api/annotations.ts';
import { type ApprovalAnswer } from '../../src/engine/holds/control.ts';
import { controlOf } from '../../src/engine/holds/annotations.ts';

/*
 * All sequences of requests by which two people can answer for a resource, and what the operator reads after each.
 */

export type Annotations = Readonly<Record<string, string>>;

/** One request. A null removes the annotation; an annotation that is missing stays as it is. */
export interface Write {
  readonly person: string;
  readonly change: Readonly<Record<string, string | null>>;
}

export interface AnswerStage {
  readonly people: readonly string[];
  readonly plan: string;
  /** Makes a resource by these requests: the first one creates it. */
  readonly reach: (path: readonly Write[]) => Promise<DryRun>;
}

/** Tries one more request. @returns the annotations that the resource would have; undefined: the request is denied */
export type DryRun = (write: Write) => Promise<Annotations | undefined>;

interface State {
  readonly path: readonly Write[];
  readonly annotations: Annotations;
  readonly answer: ApprovalAnswer | undefined;
  /** The last request that changed what the answer says is theirs. */
  readonly author: string | undefined;
}

const NOTHING: State = { path: [], annotations: {}, answer: undefined, author: undefined };
const AT_A_TIME = 20;

/**
 * Sequences of any length: it goes on from each state once.
 *
 * @returns those that end with an answer in another name than its author's, or with an approval that nobody wrote
 */
export async function misleadingSequences(stage: AnswerStage): Promise<readonly (readonly Write[])[]> {
  const writes = stage.people.flatMap((person) => writesBy(person, stage));
  const misleading: State[] = [];
  const states = [NOTHING];
  const known = new Set<string>();
  for (const state of states) {
    const dryRun = await stage.reach(state.path);
    const results = await bounded(writes, AT_A_TIME, async (write) => {
      const annotations = await dryRun(write);
      return annotations && afterWrite(state, write, annotations);
    });
    for (const next of results) {
      if (next === undefined || known.has(keyOf(next))) continue;
      known.add(keyOf(next));
      (isMisleading(state, next) ? misleading : states).push(next);
    }
  }
  return misleading.map(({ path }) => path);
}

/** Each of the four annotations is left, written or removed. */
function writesBy(person: string, { people, plan }: AnswerStage): Write[] {
  const choices = [
    { key: APPROVED_ANNOTATION, values: [plan] },
    { key: REJECTED_ANNOTATION, values: [plan] },
    { key: ANSWERED_BY_ANNOTATION, values: people },
    { key: ANSWERED_BECAUSE_ANNOTATION, values: ['agreed'] },
  ];
  const changes = choices.reduce<Write['change'][]>(
    (all, { key, values }) =>
      all.flatMap((change) => [change, ...[...values, null].map((value) => ({ ...change, [key]: value }))]),
    [{}],
  );
  return changes.map((change) => ({ person, change }));
}

function afterWrite(before: State, write: Write, annotations: Annotations): State {
  const metadata = { name: '', namespace: '', uid: '', resourceVersion: '', annotations };
  const answer = controlOf({ metadata })?.answer;
  const isChanged = JSON.stringify(answer) !== JSON.stringify(before.answer);
  const author = isChanged ? write.person : before.author;
  return { path: [...before.path, write], annotations, answer, author: answer && author };
}

function isMisleading(before: State, { answer, author, path }: State): boolean {
  if (answer === undefined) return false;
  const becomesApproved = answer.is === 'approved' && before.answer?.is !== 'approved';
  const isWritten = typeof path.at(-1)?.change[APPROVED_ANNOTATION] === 'string';
  return answer.by !== author || (becomesApproved && !isWritten);
}

function keyOf({ annotations, author }: State): string {
  return JSON.stringify([Object.entries(annotations).toSorted(), author]);
}
