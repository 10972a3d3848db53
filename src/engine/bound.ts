import { PassedOn } from './failing.ts';
import type { OperatorScope } from '../api/with-options.ts';
import { stepsOf, type AnyDefinition, type AnyLookups, type AnySteps } from './definition.ts';

/** A plan must not read an outside system, unless the controller allows it, and must never write to one. */
export class OutsideNotAsked extends PassedOn {
  override readonly name = 'OutsideNotAsked';
}

/** The functions that get clients. */
export type ClientsUser = 'observe' | 'run';

/** What the functions of a controller are given besides: the values of its options, and its clients. */
export interface BoundInputs {
  readonly options: unknown;
  /** Made when they are first asked for. */
  readonly clients: (user: ClientsUser) => unknown;
}

/** As it is with these values of its options. A member that somebody has replaced, such as a test, stays replaced. */
export function withValues(
  { following, ...definition }: AnyDefinition,
  values: unknown,
  scope: OperatorScope = { namespaces: [] },
): AnyDefinition {
  if (following === undefined) return definition;
  const replaced = Object.entries(definition).filter(
    ([member, value]) => value !== Reflect.get(following.byDefault, member),
  );
  return { ...definition, ...following.define(values, scope), ...Object.fromEntries(replaced) };
}

const DECIDING = ['decide', 'status', 'interruptOn', 'children'];

/** The same controller, whose functions are given its options, and those that read or write its clients. */
export function bound(definition: AnyDefinition, { options, clients }: BoundInputs): AnyDefinition {
  if (definition.options === undefined && definition.clients === undefined) return definition;
  const lookups = definition.lookups;
  const withOptions = (facts: object) => ({ ...facts, options });
  // In place: what else there is, is made only when it is asked for.
  const withClients = (user: ClientsUser) => (facts: object) =>
    Object.defineProperties(facts, { options: { value: options }, clients: { get: () => clients(user) } });
  const steps = Object.entries(stepsOf(definition)).map(([name, step]) => [
    name,
    { ...step, ...calling(step, ['run'], withClients('run')), ...calling(step, ['deletes'], withOptions) },
  ]);
  const readers = Object.entries(lookups ?? {}).map(([name, lookup]) => [
    name,
    calling(lookup, ['read'], withClients('observe')),
  ]);
  // `calling` keeps the members that it is given.
  return {
    ...definition,
    ...(definition.options !== undefined && { optionValues: options }),
    ...calling(definition, DECIDING, withOptions),
    ...calling(definition, ['observe'], withClients('observe')),
    ...(lookups && { lookups: Object.fromEntries(readers) as AnyLookups }),
    ...(definition.references && {
      references: definition.references.map((each) => ({
        ...each,
        ...calling(each, ['names', 'matchLabels'], withOptions),
      })),
    }),
    steps: Object.fromEntries(steps) as AnySteps,
  };
}

type Asked = (facts: object, ...more: readonly unknown[]) => unknown;

/** Those of the members that there are, each called with more. */
function calling(owner: object, members: readonly string[], given: (facts: object) => object): object {
  const functions = owner as Readonly<Record<string, Asked>>;
  const call =
    (member: string): Asked =>
    (facts, ...more) =>
      functions[member]?.(given(facts), ...more);
  return Object.fromEntries(
    members.filter((member) => member in owner).map((member) => [member, call(member)]),
  );
}
