import type { Condition } from '../../api/condition.ts';
import type { Finding } from '../condition.ts';
import { decideChildren, type ChildrenSeen } from './decide.ts';
import { judged } from './current.ts';
import { inWords, isSame, type Wanted } from './wanted.ts';

/*
 * Jobs that are not changed, and were complete: whatever deletes them, they are not made again for the same declaration. The reason of
 * a condition names them.
 */

const TYPE = 'JobsCompleted';
const ENTRY = /(Job \S+) \((\w+) ([\w-]+)\)/g;

/** One that was complete. */
interface Done {
  /** `Job shop/migrate` */
  readonly job: string;
  /** Of its declaration. */
  readonly digest: string;
  readonly uid: string;
}

/** What comes next for declared objects, as {@link decideChildren} says; what was complete is not missing. */
export function nextOfChildren(
  seen: ChildrenSeen,
  { conditions }: { readonly conditions: readonly Condition[] },
): ReturnType<typeof decideChildren> {
  return decideChildren(judged(withDone(seen, conditions)));
}

/** Without those that are not made again. */
export function withDone({ wanted, ...seen }: ChildrenSeen, conditions: readonly Condition[]): ChildrenSeen {
  const known = doneIn(conditions);
  if (known.length === 0) return { ...seen, wanted };
  const done = wanted.filter(
    (each) =>
      isOnce(each) &&
      known.some(({ job, digest }) => job === inWords(each) && digest === each.digest) &&
      !seen.there.some((child) => isSame(child, each) && !child.isBeingDeleted),
  );
  return { ...seen, done, wanted: wanted.filter((each) => !done.includes(each)) };
}

/** Undefined: it stays as it is. */
export function doneFinding(
  { wanted, there }: ChildrenSeen,
  conditions: readonly Condition[],
): Finding | undefined {
  const before = doneIn(conditions);
  const jobs = wanted.filter(isOnce).flatMap((each): readonly Done[] => {
    const job = inWords(each);
    const known = before.find((one) => one.job === job);
    const live = there.find((child) => isSame(child, each));
    const isNew = live?.readiness.is === 'ready' && live.uid !== known?.uid;
    if (isNew) return [{ job, digest: each.digest, uid: live.uid }];
    return known === undefined ? [] : [known];
  });
  if (jobs.length === 0 && before.length === 0) return undefined;
  const entries = jobs.map(({ job, digest, uid }) => `${job} (${digest} ${uid})`);
  return jobs.length === 0
    ? { type: TYPE, status: 'False', reason: 'None', message: '' }
    : {
        ...{ type: TYPE, status: 'True', reason: 'NotMadeAgain' },
        message: `complete, and not made again if deleted: ${entries.join(', ')}`,
      };
}

function isOnce({ type, createOnly }: Wanted): boolean {
  return createOnly === true && type.group === 'batch' && type.kind === 'Job';
}

function doneIn(conditions: readonly Condition[]): readonly Done[] {
  const said = conditions.find(({ type, status }) => type === TYPE && status === 'True')?.message ?? '';
  return [...said.matchAll(ENTRY)].map(([, job = '', digest = '', uid = '']) => ({ job, digest, uid }));
}
