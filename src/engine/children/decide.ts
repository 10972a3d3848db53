import type { ChildOptions } from '../../api/child.ts';
import type { Cause } from '../../api/cause.ts';
import { typeNameOf, type ResourceType } from '../../api/resource-type.ts';
import { converged, stalled, waitFor, type Converged, type Rest, type Step } from '../../runs/decision.ts';
import { isAsWanted, type ChildView } from './view.ts';
import { afterKey, inWords, isSame, type ChildRef, type Wanted } from './wanted.ts';

/** What becomes of the objects that belong to one that is created anew. */
export type Recreation = NonNullable<ChildOptions['recreate']>;

/** What is declared, and what there is of it. */
export interface ChildrenSeen {
  readonly wanted: readonly Wanted[];
  readonly there: readonly ChildView[];
  /** Jobs that were complete, and are gone: they are not made again. */
  readonly done?: readonly ChildRef[];
  /** Optional types whose API is missing. */
  readonly missing?: readonly ResourceType[];
  /** What is declared depends on what there is. */
  readonly isByCurrent?: true;
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
  /** Of a delete: what becomes of the objects that belong to the deleted ones. */
  readonly propagation?: Recreation;
  /** Nothing is left but what was refused. */
  readonly isAgain?: true;
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
  const absent = pairs.flatMap(([each, child]) => (child === undefined && !isBlocked(each) ? [each] : []));
  const waiting = absent.filter((each) => waitsFor(each, seen) !== undefined);
  const missing = absent.filter((each) => !waiting.includes(each));
  const other = pairs.flatMap(([each, child]) =>
    child === undefined || child.isBeingDeleted || isBlocked(each) || isLeftAlone(child, each) ? [] : [child],
  );
  const [refusedCreates, creates] = byRefusal(seen, 'create', missing);
  const [refusedApplies, applies] = byRefusal(seen, 'apply', other);
  const stuck = [...refusedCreates, ...refusedApplies];
  const missingTypes = seen.missing?.map(typeNameOf) ?? [];
  const surplus = there.filter(
    (child) =>
      !child.isBeingDeleted &&
      !wanted.some((each) => isSame(each, child)) &&
      !missingTypes.includes(typeNameOf(child.type)),
  );
  const isOver = stuck.length === 0 && waiting.length === 0 && (seen.blocked ?? []).length === 0;
  const [refusedDeletes, deletes] = byRefusal(
    seen,
    'delete',
    isOver ? surplus : surplus.filter((child) => isInTheWay(child, stuck, seen)),
  );
  const deleting = 'is no longer declared';
  return (
    createStep(creates) ??
    applyStep(applies) ??
    recreateStep(seen) ??
    deleteStep(deletes, deleting) ??
    blockedRest(seen, stuck.length > 0) ??
    againStep(refusedCreates, refusedApplies) ??
    deleteStep(refusedDeletes, deleting) ??
    restOf(
      pairs.flatMap(([, child]) => child ?? []),
      waiting,
    )
  );
}

/** What an object that is not there has to wait for. One that is not declared any more was complete, or its API is missing. */
export function waitsFor({ after = [] }: Wanted, { wanted, there }: ChildrenSeen): ChildRef | undefined {
  return after.find((each) => {
    const its = wanted.find((other) => isSame(other, each));
    const child = there.find((other) => isSame(other, each));
    if (its === undefined) return false;
    return (
      child === undefined ||
      child.isBeingDeleted ||
      child.readiness.is !== 'ready' ||
      !isLeftAlone(child, its)
    );
  });
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

/**
 * What was declared elsewhere, the garbage collector does not delete with its resource. What was created after others is deleted before
 * them, and gone with its Pods.
 */
export function releaseChildren(seen: ChildrenSeen): ChildStep | Rest | undefined {
  const deleting = 'goes with its resource';
  const isNeeded = (child: ChildView) => seen.there.some(({ after }) => after?.includes(afterKey(child)));
  const there = seen.there.filter(({ isElsewhere, after }) => isElsewhere || after !== undefined);
  const [leaving] = there.filter(({ isBeingDeleted }) => isBeingDeleted);
  const free = there.filter((child) => !child.isBeingDeleted && !isNeeded(child));
  const [refused, others] = byRefusal(seen, 'delete', free);
  const isLater = ({ after }: ChildView) => after !== undefined;
  return (
    deleteStep(others.filter(isLater), deleting, 'foreground') ??
    deleteStep(
      others.filter((child) => !isLater(child)),
      deleting,
    ) ??
    deleteStep(refused.filter(isLater), deleting, 'foreground') ??
    deleteStep(refused, deleting) ??
    (leaving && waitFor(`${inWords(leaving)} to be deleted`, DELETED_RECHECK_MS))
  );
}

function isLeftAlone(child: ChildView, wanted: Wanted): boolean {
  return wanted.createOnly === true || isAsWanted(child, wanted);
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
  const step =
    creates.length > 0
      ? stepOf('create', all, 'is missing')
      : stepOf('apply', all, 'is not as it is declared');
  return { ...step, isAgain: true };
}

/** @param propagation default: background */
function deleteStep(
  surplus: readonly ChildView[],
  because: string,
  propagation?: Recreation,
): ChildStep | undefined {
  const children = ofFirstKind(surplus);
  const [first] = children ?? [];
  if (children === undefined || first === undefined) return undefined;
  const deletes = {
    what: first.type.kind,
    count: children.length,
    objects: () => children.map(({ namespace, name, uid }) => ({ namespace, name, uid })),
  };
  return { ...stepOf('delete', children, because), deletes, ...(propagation && { propagation }) };
}

/** The server refuses the change: what is deleted is created anew. One after the other, since each says what becomes of its Pods. */
function recreateStep({ wanted, there, blocked = [] }: ChildrenSeen): ChildStep | undefined {
  const refused = blocked.filter(({ by }) => by === 'immutable');
  const recreated = wanted.find(
    (each) => each.recreate !== undefined && refused.some(({ child }) => isSame(child, each)),
  );
  const live = there.find((child) => recreated && isSame(child, recreated));
  if (recreated?.recreate === undefined || live === undefined || live.isBeingDeleted) return undefined;
  const { recreate, type } = recreated;
  const whose = type.group === 'apps' || type.group === 'batch' ? 'its Pods' : 'what belongs to it';
  const then = OF_RECREATED[recreate];
  const because = `has to be created anew, since the server refuses the change; ${whose} ${then}`;
  return deleteStep([live], because, recreate);
}

const OF_RECREATED: Readonly<Record<Recreation, string>> = {
  foreground: 'will be deleted before it',
  background: 'will be deleted with it, all at once',
  orphan: 'will stay, and the new one takes over those that its selector matches',
};

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
  return stalled(causeOfBlocked(first), first.by === 'stranger' || isRechecked ? { recheckMs } : {});
}

export function causeOfBlocked({ by, child, because, undeclared }: Blocked): Cause {
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

/** @param waiting those that are created after others */
function restOf(
  children: readonly ChildView[],
  waiting: readonly Wanted[],
): ChildrenNotReady | Rest | undefined {
  const leaving = children.find(({ isBeingDeleted }) => isBeingDeleted);
  if (leaving !== undefined)
    return waitFor(`${inWords(leaving)} to be deleted, so that it can be created anew`, DELETED_RECHECK_MS);
  const failed = children.find(({ readiness }) => readiness.is === 'failed');
  if (failed?.readiness.is === 'failed') return notReady(failed, failed.readiness, waiting);
  const progressing = children.find(({ readiness }) => readiness.is === 'progressing');
  if (progressing === undefined) return undefined;
  return { ...notReady(progressing, { because: 'is not ready yet' }, waiting), isProgressing: true };
}

/** Without an open run: 10,000 Deployments whose image is missing need none. */
function notReady(
  child: ChildView,
  { because, cause: own }: { readonly because: string; readonly cause?: Cause },
  waiting: readonly Wanted[],
): ChildrenNotReady {
  const { type, name, namespace } = child;
  const run = `kubectl describe ${type.kind.toLowerCase()} ${name}${namespace === undefined ? '' : ` -n ${namespace}`}`;
  const next = waiting.find(({ after = [] }) => after.some((each) => isSame(each, child)));
  const then = next === undefined ? '' : `; ${inWords(next)} waits for it`;
  const cause: Cause = own
    ? { ...own, message: `${own.message}${then}` }
    : {
        reason: `${type.kind}${NOT_READY}`,
        message: `${inWords(child)} ${because}${then}`,
        advice: [{ run, to: 'show why' }],
      };
  return converged('all declared objects are as they are declared, but not all are ready', {
    notReady: cause,
  });
}
