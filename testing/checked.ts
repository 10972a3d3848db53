import type { Facts } from '../src/api/controller.ts';
import type { AnyDefinition } from '../src/controllers/defined/decide.ts';
import { canonicalText } from '../src/controllers/fields.ts';
import { Violation } from './explorer/explorer.ts';

/** What waits longer than a day is hardly waited for. */
const WAIT_MAX_MS = 86_400_000;

/** A controller that says where it is not what a controller has to be. */
export interface Checked<D extends AnyDefinition> {
  readonly definition: D;
  /** Whether `decide` or `status` has asked for `nowMs`. */
  readonly readsClock: () => boolean;
}

/** The same controller, which says where it is not pure, and where it waits without bounds. */
export function checked<D extends AnyDefinition>(its: D): Checked<D> {
  let hasRead = false;
  const given = <T>(facts: Facts<never, T>) => {
    const shown = { ...frozen(facts) };
    const get = () => {
      hasRead = true;
      return facts.nowMs;
    };
    return Object.freeze(Object.defineProperty(shown, 'nowMs', { get, enumerable: true }));
  };
  const decide = (...[facts, next]: Parameters<D['decide']>) =>
    usable(its.decide(given(facts as Facts<never, unknown>), next), facts as Deleted, its);
  const status = (facts: Facts<never, unknown>) => its.status?.(given(facts)) ?? {};
  return {
    readsClock: () => hasRead,
    definition: {
      ...its,
      decide: pure(`decide of ${its.name}`, decide),
      ...(its.status && { status: pure(`status of ${its.name}`, status) }),
    },
  };
}

function pure<Given extends readonly unknown[], T>(what: string, decide: (...given: Given) => T) {
  return (...given: Given): T => {
    const [one, other] = [0, 1].map(() => withoutChance(what, () => decide(...given)));
    if (canonicalText(one) === canonicalText(other)) return one as T;
    throw new Violation(
      `${what} answers the same facts with ${canonicalText(one)}, and then with ${canonicalText(other)}: it keeps something in a variable`,
    );
  };
}

/** Whoever asks for the time or for chance meanwhile is told what to use. */
function withoutChance<T>(what: string, work: () => T): T {
  const { Date: clock } = globalThis;
  const { random } = Math;
  globalThis.Date = new Proxy(clock, {
    construct: (its, args: readonly unknown[]) =>
      args.length === 0 ? refuse(what, 'the clock', USE_NOW) : (Reflect.construct(its, args) as Date),
    get: (its, field) =>
      field === 'now' ? () => refuse(what, 'the clock', USE_NOW) : (Reflect.get(its, field) as unknown),
  });
  Math.random = () => refuse(what, 'Math.random()', 'decide from what was observed');
  try {
    return work();
  } catch (error) {
    if (error instanceof TypeError && /read only|not extensible|Cannot (?:delete|add)/.test(error.message))
      throw new Violation(`${what} changes what it is given: ${error.message}`);
    throw error;
  } finally {
    globalThis.Date = clock;
    Math.random = random;
  }
}

const USE_NOW = 'use nowMs, which each decision is given';

function refuse(what: string, source: string, instead: string): never {
  throw new Violation(`${what} reads ${source}, so that nobody can repeat its decision: ${instead}`);
}

interface Deleted {
  readonly resource: { readonly isBeingDeleted: boolean };
}

type Outcome = ReturnType<AnyDefinition['decide']>;

/** @throws Violation where nothing could be done with such an answer */
function usable(outcome: Outcome, { resource }: Deleted, { finalizer }: AnyDefinition): Outcome {
  // An author in JavaScript may answer anything.
  if (!('is' in Object(outcome)))
    throw new Violation(`decide answers ${JSON.stringify(outcome)}, and not with one of next.…`);
  if (outcome.is === 'converged' && resource.isBeingDeleted && finalizer !== undefined)
    throw new Violation(
      `the resource is being deleted, and decide answers next.converged: only next.released lets go of ${finalizer}`,
    );
  if (outcome.is === 'wait' && !(outcome.atMostMs > 0 && outcome.atMostMs <= WAIT_MAX_MS))
    throw new Violation(
      `it waits for ${outcome.what} without a bound (${String(outcome.atMostMs)}): no watch may show it, so give next.wait at most a day, in milliseconds`,
    );
  return outcome;
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const each of Object.values(value)) frozen(each);
  return Object.freeze(value);
}
