import type { ZodObject } from 'zod';
import type { WrappedChild } from '../src/api/child.ts';
import type { Decision } from '../src/api/next.ts';
import { millisecondsIn } from '../src/api/duration.ts';
import { bound, withValues } from '../src/engine/bound.ts';
import type { AnyDefinition } from '../src/engine/definition.ts';
import { canonicalText } from '../src/api/fields.ts';
import { Violation } from './explorer/explorer.ts';

/** What waits longer than a day is hardly waited for. */
const WAIT_MAX_MS = 86_400_000;

/** A controller that says where it is not what a controller has to be. */
export interface Checked {
  readonly definition: AnyDefinition;
  /** Whether a decision has asked for `nowMs`. */
  readonly readsClock: () => boolean;
}

interface Facts {
  readonly resource: { readonly isBeingDeleted?: boolean };
}

type Decides = (facts: Facts, next?: unknown) => unknown;

/**
 * The same controller, which says where it is not pure, and where it waits without bounds.
 *
 * @param given values of its options. Default: their defaults
 */
export function checked(defined: AnyDefinition, given: object = {}): Checked {
  let hasRead = false;
  const onRead = () => {
    hasRead = true;
  };
  const options = (defined.options as ZodObject | undefined)?.parse(given) ?? {};
  const its = withValues(defined, options);
  const members = ['decide', 'status', 'children'].filter((member) => member in its);
  const pure = Object.fromEntries(members.map((member) => [member, pureOf(its, member, onRead)] as const));
  let made: { readonly clients: unknown } | undefined;
  const clients = () => (made ??= { clients: its.clients?.(options) as unknown }).clients;
  return {
    readsClock: () => hasRead,
    definition: bound({ ...its, ...pure }, { options, clients }),
  };
}

function pureOf(its: AnyDefinition, member: string, onRead: () => void): Decides {
  const what = `${member} of ${its.name}`;
  const decide = (its as unknown as Readonly<Record<string, Decides>>)[member];
  return (facts, next) => {
    const ask = () => withoutChance(what, () => decide?.call(its, given(facts, onRead), next));
    const [one, other] = [ask(), ask()];
    if (canonicalText(one) !== canonicalText(other))
      throw new Violation(
        `${what} answers the same facts with ${canonicalText(one)}, and then with ${canonicalText(other)}: it keeps something in a variable`,
      );
    if (member === 'decide') {
      checkUsable(one, facts, its);
      checkData(one, () => withoutChance(what, () => decide?.call(its, given(later(facts), onRead), next)));
    }
    return member === 'children' ? withFixedTexts(one) : one;
  };
}

/** With another password in each story, no two of them would meet in one state. */
function withFixedTexts(answer: unknown): unknown {
  if (!Array.isArray(answer)) return answer;
  return (answer as readonly Partial<WrappedChild>[]).map(({ generate, ...its }) =>
    generate === undefined ? its : { ...its, generate: async () => fixed(await generate()) },
  );
}

const GENERATED = Buffer.from('generated').toString('base64');

function fixed(value: unknown): object {
  const fields = Object.entries(value as object).map(([name, each]: [string, unknown]) => [
    name,
    typeof each === 'object' && each !== null ? fixed(each) : typeof each === 'string' ? GENERATED : each,
  ]);
  return Object.fromEntries(fields) as object;
}

/** A moment later, each attempt of a durable step would be given other data than its decision before, and none would begin. */
function checkData(one: unknown, askLater: () => unknown): void {
  const outcome = one as Decision;
  if (outcome.is !== 'step' || outcome.data === undefined) return;
  const then = askLater() as Decision;
  if (
    then.is === 'step' &&
    then.step === outcome.step &&
    canonicalText(then.data) !== canonicalText(outcome.data)
  )
    throw new Violation(
      `decide hands over the time to ${outcome.step}, so that each attempt has other data: the step has now()`,
    );
}

function later(facts: Facts): Facts {
  return { ...facts, nowMs: Number(Reflect.get(facts, 'nowMs')) + 1 } as Facts;
}

/** What may not be changed, and says whether the time is asked for. */
function given(facts: Facts, onRead: () => void): Facts {
  const nowMs: unknown = Reflect.get(facts, 'nowMs');
  const get = () => {
    onRead();
    return nowMs;
  };
  return Object.freeze(Object.defineProperty({ ...frozen(facts) }, 'nowMs', { get, enumerable: true }));
}

/** Who reads the time or a random number meanwhile gets an error that names what to use. */
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

/** @throws Violation where nothing could be done with such an answer */
function checkUsable(answer: unknown, { resource }: Facts, { finalizer }: AnyDefinition): void {
  if (!('is' in Object(answer)))
    throw new Violation(`decide answers ${JSON.stringify(answer)}, and not with one of next.…`);
  const outcome = answer as Decision;
  if (outcome.is === 'converged' && resource.isBeingDeleted && finalizer !== undefined)
    throw new Violation(
      `the resource is being deleted, and decide answers next.converged: only next.removeFinalizer lets go of ${finalizer}`,
    );
  if (outcome.is === 'wait' && !isBound(outcome.recheckAfter))
    throw new Violation(
      `it waits for ${outcome.what} without a bound (${outcome.recheckAfter}): no watch may show it, so give next.wait a recheckAfter such as "30s", at most a day`,
    );
}

function isBound(recheckAfter: string): boolean {
  const ms = millisecondsIn(recheckAfter) ?? 0;
  return ms > 0 && ms <= WAIT_MAX_MS;
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const each of Object.values(value)) frozen(each);
  return Object.freeze(value);
}
