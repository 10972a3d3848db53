import type { Decision } from '../api/next.ts';
import type { DecisionContext, LookedUp } from '../api/step.ts';
import type { Observe } from '../runs/decision.ts';
import type { AnyDefinition, LiveResource, nextOf } from './definition.ts';

/** What was read, by `jobs` or `node worker-1`. */
export type LookupValues = Readonly<Record<string, unknown>>;

/** A decision asks for what was not read yet. */
export interface LookupObserve extends Observe {
  readonly lookups: readonly string[];
}

export function isLookup(asked: Observe): asked is LookupObserve {
  return 'lookups' in asked;
}

const NODE = 'node ';

/** Undefined: it is a lookup of the author's. */
export function nodeIn(key: string): string | undefined {
  return key.startsWith(NODE) ? key.slice(NODE.length) : undefined;
}

export function keyOfNode(name: string): string {
  return `${NODE}${name}`;
}

/** What a step leaves of them. @param forgets names, `node` for all Nodes */
export function remaining(values: LookupValues, forgets: readonly PropertyKey[] = []): LookupValues {
  const isForgotten = (key: string) => forgets.includes(nodeIn(key) === undefined ? key : 'node');
  return Object.fromEntries(Object.entries(values).filter(([key]) => !isForgotten(key)));
}

/** As the functions of the author are given them. */
export function lookedUp(
  { lookups = {} }: Pick<AnyDefinition, 'lookups'>,
  values: LookupValues = {},
  onAsked?: (key: string) => void,
): LookedUp<unknown> {
  const read = (key: string) => {
    onAsked?.(key);
    return values[key];
  };
  const getters = Object.keys(lookups as object).map(
    // To look through all of them is not to ask for one: they are not enumerable.
    (name) => [name, { get: () => read(name) }] as const,
  );
  const node = (name: string) => read(keyOfNode(name));
  return Object.defineProperties({ node }, Object.fromEntries(getters)) as LookedUp<unknown>;
}

/** Asks `decide`. Whatever it answers, or throws, counts once all that it has asked for is read. */
export function askDecide(
  definition: AnyDefinition,
  context: DecisionContext<LiveResource, unknown, unknown>,
  { next, values = {}, asked }: Asking,
): Decision | LookupObserve | undefined {
  const lookups = lookedUp(definition, values, (key) => asked.add(key));
  const unread = () => [...asked].filter((key) => !Object.hasOwn(values, key));
  let outcome: Decision | undefined;
  try {
    outcome = definition.decide?.({ ...context, lookups }, next);
  } catch (error) {
    if (unread().length === 0) throw error;
  }
  return unread().length === 0
    ? outcome
    : { do: 'observe', because: `${lookupsInWords(unread())} has to be read`, lookups: unread() };
}

interface Asking {
  readonly next: ReturnType<typeof nextOf>;
  readonly values?: LookupValues | undefined;
  /** It adds those that `decide` asks for. */
  readonly asked: Set<string>;
}

export function lookupsInWords(keys: Iterable<string>): string {
  return `lookup ${[...keys].join(', ')}`;
}
