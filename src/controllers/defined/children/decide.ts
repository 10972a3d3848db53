import type { Cause } from '../../../contract/cause.ts';
import {
  converged,
  stalled,
  waitFor,
  type Converged,
  type Rest,
  type Step,
} from '../../../contract/decision.ts';
import { isAsWanted, type ChildView } from './view.ts';
import { inWords, isSame, type ChildRef, type Wanted } from './wanted.ts';

/** What is declared, and what there is of it. */
export interface ChildrenSeen {
  readonly wanted: readonly Wanted[];
  readonly there: readonly ChildView[];
  /** What kept a step from its end just now: only the step that follows knows. */
  readonly blocked?: readonly Blocked[];
  /** What the server refused, the first first, likewise. */
  readonly refused?: readonly RefusedChild[];
  /** What changes the objects each time, likewise. */
  readonly overridden?: Cause;
}

/** An object of which the server has refused a write. */
export interface RefusedChild {
  /** `createService`. */
  readonly step: string;
  /** Undefined: all of the step, as far as is known. */
  readonly child?: ChildRef;
  readonly cause: Cause;
}

/** An object that cannot be made what it is declared to be. */
export interface Blocked {
  readonly by: 'stranger' | 'immutable';
  readonly child: ChildRef;
  /** Whose it is, or what the server says. */
  readonly because: string;
  /** A field that nobody declares, and that is in the way: `spec.strategy.rollingUpdate`. */
  readonly undeclared?: string;
}

/** A step on declared objects of one kind, such as `createDeployment`; or on all that were refused, and then named after the first. */
export interface ChildStep extends Step {
  readonly verb: 'create' | 'apply' | 'delete';
  readonly children: readonly ChildRef[];
}

/** Nothing is to be done, and yet not all of them are ready. */
export interface ChildrenNotReady extends Converged {
  /** They may become so by themselves. */
  readonly isProgressing?: true;
}

/** What the reason of a condition about a declared object ends with. */
const NOT_READY = 'NotReady';
/** At most. */
const REQUESTS_EACH = { create: 2, apply: 3, delete: 1 } as const;
/** Until somebody deletes what has the name, or ends a refusal: no watch shows it. */
const BLOCKED_RECHECK_MS = 60_000;
/** The watch shows that it is gone. */
const DELETED_RECHECK_MS = 60_000;

/**
 * What comes next for the declared objects, or why nothing does. Undefined: all are as they are declared, and ready. What the server
 * refuses does not hold up the others, and is tried again once nothing else is left to do.
 */
export function decideChildren(seen: ChildrenSeen): ChildStep | ChildrenNotReady | Rest | undefined {
  const { wanted, there } = seen;
  const pairs = wanted.map((each) => [each, there.find((child) => isSame(child, each))] as const);
  const isBlocked = (child: ChildRef) => seen.blocked?.some((each) => isSame(each.child, child)) === true;
  const missing = pairs.flatMap(([each, child]) => (child === undefined && !isBlocked(each) ? [each] : []));
  const other = pairs.flatMap(([each, child]) =>
    child === undefined || child.isBeingDeleted || isBlocked(each) || isLeftAlone(child, each) ? [] : [child],
  );
  const [refusedCreates, creates] = byRefusal(seen, 'create', missing);
  const [refusedApplies, applies] = byRefusal(seen, 'apply', other);
  const stuck = [...refusedCreates, ...refusedApplies];
  const surplus = there.filter(
    (child) => !child.isBeingDeleted && !wanted.some((each) => isSame(each, child)),
  );
  const isOver = stuck.length === 0 && (seen.blocked ?? []).length === 0;
  const [refusedDeletes, deletes] = byRefusal(
    seen,
    'delete',
    isOver ? surplus : surplus.filter((child) => isInTheWay(child, stuck, seen)),
  );
  const deleting = 'is no longer declared';
  return (
    createStep(creates) ??
    applyStep(applies) ??
    replaceStep(seen) ??
    deleteStep(deletes, deleting) ??
    blockedRest(seen, stuck.length > 0) ??
    againStep(refusedCreates, refusedApplies) ??
    deleteStep(refusedDeletes, deleting) ??
    restOf(pairs.flatMap(([, child]) => child ?? []))
  );
}

/** Those that were refused, and the others. */
function byRefusal<T extends ChildRef>(
  { refused = [] }: ChildrenSeen,
  verb: ChildStep['verb'],
  children: readonly T[],
): readonly [refused: readonly T[], others: readonly T[]] {
  const isRefused = (child: T) =>
    refused.some(({ step, child: its }) => step === stepName(verb, child) && (!its || isSame(its, child)));
  return [children.filter(isRefused), children.filter((child) => !isRefused(child))];
}

/** Whether a refusal names something that this object holds. Else it stays: what was refused may be to take its place. */
function isInTheWay(child: ChildView, stuck: readonly ChildRef[], { refused = [] }: ChildrenSeen): boolean {
  const { type, holds = [] } = child;
  if (!stuck.some((each) => each.type.plural === type.plural && each.type.group === type.group)) return false;
  const names = [stepName('create', child), stepName('apply', child)];
  return refused.some(
    ({ step, cause: { message } }) =>
      names.includes(step) &&
      (message.includes(QUOTA) ||
        (message.includes(IN_USE) && holds.some((each) => isWordOf(message, each)))),
  );
}

/** Source: apiserver, admission plugin ResourceQuota. */
export const QUOTA = 'exceeded quota';
/** A port or an address. Source: kubernetes/pkg/registry/core/service, ipallocator and portallocator. */
export const IN_USE = 'already allocated';

function isWordOf(text: string, word: string): boolean {
  return text.split(/[^\w.:]+/).some((each) => each.replace(/[.:]+$/, '') === word);
}

/** What was declared elsewhere, the garbage collector does not delete with its resource. */
export function releaseChildren(seen: ChildrenSeen): ChildStep | Rest | undefined {
  const deleting = 'goes with its resource';
  const there = seen.there.filter(({ isElsewhere }) => isElsewhere);
  const [leaving] = there.filter(({ isBeingDeleted }) => isBeingDeleted);
  const staying = there.filter(({ isBeingDeleted }) => !isBeingDeleted);
  const [refused, others] = byRefusal(seen, 'delete', staying);
  return (
    deleteStep(others, deleting) ??
    deleteStep(refused, deleting) ??
    (leaving && waitFor(`${inWords(leaving)} to be deleted`, DELETED_RECHECK_MS))
  );
}

function isLeftAlone(child: ChildView, wanted: Wanted): boolean {
  return wanted.type.once === true || isAsWanted(child, wanted);
}

function createStep(missing: readonly Wanted[]): ChildStep | undefined {
  const children = ofFirstKind(missing);
  return children && stepOf('create', children, 'is missing');
}

function applyStep(other: readonly ChildView[]): ChildStep | undefined {
  const children = ofFirstKind(other);
  return children && stepOf('apply', children, 'is not as it is declared');
}

/** All at once: each is tried again with the same backoff. */
function againStep(creates: readonly ChildRef[], applies: readonly ChildRef[]): ChildStep | undefined {
  const all = [...creates, ...applies];
  if (all.length === 0) return undefined;
  return creates.length > 0
    ? stepOf('create', all, 'is missing')
    : stepOf('apply', all, 'is not as it is declared');
}

function deleteStep(surplus: readonly ChildView[], because: string): ChildStep | undefined {
  const children = ofFirstKind(surplus);
  const [first] = children ?? [];
  if (children === undefined || first === undefined) return undefined;
  const deletes = {
    what: first.type.kind,
    count: children.length,
    objects: () => children.map(({ namespace, name, uid }) => ({ namespace, name, uid })),
  };
  return { ...stepOf('delete', children, because), deletes };
}

/** The server refuses the change: what is deleted is created anew. */
function replaceStep({ there, blocked = [] }: ChildrenSeen): ChildStep | undefined {
  const replaced = there.filter(
    (child) =>
      child.type.replace === true &&
      !child.isBeingDeleted &&
      blocked.some((each) => each.by === 'immutable' && isSame(each.child, child)),
  );
  return deleteStep(replaced, 'has to be created anew, since the server refuses the change');
}

function ofFirstKind<T extends ChildRef>(children: readonly T[]): readonly T[] | undefined {
  const [first] = children;
  return first && children.filter(({ type }) => type === first.type);
}

function stepOf(verb: ChildStep['verb'], children: readonly ChildRef[], what: string): ChildStep {
  const [first] = children;
  const kind = first?.type.kind ?? '';
  const others = children.length - 1;
  const more = others === 0 ? '' : ` and ${others} more`;
  return {
    do: first === undefined ? verb : stepName(verb, first),
    because: `${first === undefined ? kind : inWords(first)}${more} ${what}`,
    writes: children.length * REQUESTS_EACH[verb],
    ...{ verb, children },
  };
}

/** The name of its activity. */
export function stepName(verb: ChildStep['verb'], { type }: Pick<ChildRef, 'type'>): string {
  return `${verb}${type.kind}`;
}

/** @param isRechecked something was refused, and is tried again */
function blockedRest({ blocked = [] }: ChildrenSeen, isRechecked: boolean): Rest | undefined {
  const [first] = blocked;
  if (first === undefined) return undefined;
  const recheckMs = BLOCKED_RECHECK_MS;
  return stalled(causeOf(first), first.by === 'stranger' || isRechecked ? { recheckMs } : {});
}

function causeOf({ by, child, because, undeclared }: Blocked): Cause {
  const { type, name, namespace } = child;
  const at = `${type.plural}${type.group === '' ? '' : `.${type.group}`} ${name}${namespace === undefined ? '' : ` -n ${namespace}`}`;
  if (by === 'stranger')
    return {
      reason: 'NameTaken',
      message: `${inWords(child)} exists already and ${because}`,
      advice: [
        'delete it, or rename one of the two; that is noticed within a minute',
        { run: `kubectl get ${at} -o yaml`, to: 'show what it is' },
      ],
    };
  return {
    reason: 'ImmutableField',
    message: `${inWords(child)} cannot be changed: ${because}`,
    advice: [
      ...(undeclared === undefined
        ? []
        : [
            `if the server's default of ${undeclared} is in the way, declare it as it is, let that be applied, and then make the change`,
          ]),
      'take the change back, or delete the object: it is created anew at once',
      { run: `kubectl delete ${at}`, to: 'delete it' },
    ],
  };
}

function restOf(children: readonly ChildView[]): ChildrenNotReady | Rest | undefined {
  const leaving = children.find(({ isBeingDeleted }) => isBeingDeleted);
  if (leaving !== undefined)
    return waitFor(`${inWords(leaving)} to be deleted, so that it can be created anew`, DELETED_RECHECK_MS);
  const failed = children.find(({ readiness }) => readiness.is === 'failed');
  if (failed?.readiness.is === 'failed') return notReady(failed, failed.readiness.because);
  const progressing = children.find(({ readiness }) => readiness.is === 'progressing');
  if (progressing === undefined) return undefined;
  return { ...notReady(progressing, 'is not ready yet'), isProgressing: true };
}

/** Without an open run: 10,000 Deployments whose image is missing need none. */
function notReady(child: ChildView, because: string): ChildrenNotReady {
  const { type, name, namespace } = child;
  const run = `kubectl describe ${type.kind.toLowerCase()} ${name}${namespace === undefined ? '' : ` -n ${namespace}`}`;
  const cause: Cause = {
    reason: `${type.kind}${NOT_READY}`,
    message: `${inWords(child)} ${because}`,
    advice: [{ run, to: 'show why' }],
  };
  return converged('all declared objects are as they are declared, but not all are ready', {
    notReady: cause,
  });
}
