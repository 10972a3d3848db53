import { StepError } from '../api/step-error.ts';
import { ApiError } from '../api/api-error.ts';
import type { Advice, Cause } from '../api/cause.ts';
import { truncate } from '../api/text.ts';
import type { AnyDefinition } from './definition.ts';

/*
 * What the functions of a controller throw: a StepError means what it says, and so does an error of the API server. Any other one is
 * a mistake of the controller, and says in which function it was made.
 */

/** Thrown on purpose, by a plan or by a test, while a function of a controller is asked: no mistake of the controller. */
export class PassedOn extends Error {}

/** A function of a controller has thrown what is no StepError. */
export class ControllerError extends Error {
  override readonly name = 'ControllerError';
  readonly asCause: Cause;
  /** What it asks outside may have gone by the next attempt. */
  readonly mayPass: boolean;

  constructor(controller: string, { reason, what, asks = false, advice }: FailingFunction, thrown: unknown) {
    const words = truncate(thrown instanceof Error ? thrown.message : String(thrown), MESSAGE_MAX);
    const message = `${what} of controller ${controller} has failed: ${words}`;
    super(message, { cause: thrown });
    // What is of use in a log is where the function has failed.
    if (thrown instanceof Error && thrown.stack !== undefined) this.stack = `${message}\n${thrown.stack}`;
    const correct = `correct the controller ${controller}: its code has failed; the log of the operator shows where`;
    this.asCause = { reason, message, advice: advice ?? [correct] };
    this.mayPass = asks;
  }
}

/** A function of a controller. */
export interface FailingFunction {
  /** Of the condition. */
  readonly reason: string;
  /** `run of step provision` */
  readonly what: string;
  /** It asks outside systems. */
  readonly asks?: boolean;
  /** Default: to correct it. */
  readonly advice?: readonly Advice[];
}

type Never = StepError & { readonly classification: 'never' };

/** Trying again does not help, as a function has said. */
export function isNever(error: unknown): error is Never {
  return error instanceof StepError && error.classification === 'never';
}

export function neverCause({ message, advice }: Never): Cause {
  return { reason: PERMANENT_FAILURE, message, advice };
}

/** The reason of a condition that stands until something of the resource changes. */
export const PERMANENT_FAILURE = 'PermanentFailure';
/** How much of the message of a mistake a condition holds. */
const MESSAGE_MAX = 500;

const DECIDING: Functions = {
  decide: 'DecideFailed',
  status: 'StatusFailed',
  children: 'ChildrenFailed',
  view: 'ViewFailed',
  interruptOn: 'DecideFailed',
  refusal: 'RefusalFailed',
};
const OBSERVING: Functions = { observe: 'ObserveFailed' };
const READING: Functions = { read: 'ObserveFailed' };
const RUNNING: Functions = { run: 'StepFailed', deletes: 'DecideFailed', writes: 'DecideFailed' };
const REFERRING: Functions = { names: 'ReferencesFailed', matchLabels: 'ReferencesFailed' };
const OWNING: Functions = {
  view: 'ViewFailed',
  ownerOf: 'ViewFailed',
  nameFor: 'ViewFailed',
  labelsFor: 'ViewFailed',
};

const ASKING: readonly string[] = ['observe', 'read', 'run'];

/** The same controller, whose functions throw nothing but errors that say what they mean. */
export function saying(definition: AnyDefinition): AnyDefinition {
  const { name, owns, references, steps } = definition;
  const lookups = definition.lookups;
  const of = (its: object, functions: Functions, whose = '') => failing(its, functions, { name, whose });
  const inEach = <T extends { readonly kind: string }>(types: readonly T[], functions: Functions) =>
    types.map((type) => ({ ...type, ...of(type, functions, ` of ${type.kind}`) }));
  const inNamed = <T extends object>(all: Readonly<Record<string, T>>, functions: Functions, what: string) =>
    Object.fromEntries(
      Object.entries(all).map(([named, its]) => [
        named,
        { ...its, ...of(its, functions, ` of ${what} ${named}`) },
      ]),
    );
  return {
    ...definition,
    ...of(definition, { ...DECIDING, ...OBSERVING }),
    ...(lookups && { lookups: inNamed(lookups, READING, 'lookup') }),
    ...(owns && { owns: inEach(owns, OWNING) }),
    ...(references && { references: inEach(references, REFERRING) }),
    ...(steps && { steps: inNamed(steps, RUNNING, 'step') }),
  };
}

/** The reason of the condition, by the function that has failed. */
type Functions = Readonly<Record<string, string>>;
type AnyFunction = (...args: readonly unknown[]) => unknown;

/** Those of the functions that there are. */
export function failing(
  its: object,
  functions: Functions,
  { name, whose }: { name: string; whose: string },
): object {
  const wrapped = Object.entries(functions).flatMap(([member, reason]) => {
    const work: unknown = Reflect.get(its, member);
    if (typeof work !== 'function') return [];
    const said = (error: unknown) =>
      errorOf(name, { reason, what: `${member}${whose}`, asks: ASKING.includes(member) }, error);
    return [
      [
        member,
        (...args: readonly unknown[]) => attempted(() => (work as AnyFunction).apply(its, [...args]), said),
      ],
    ];
  });
  return Object.fromEntries(wrapped) as object;
}

function attempted(work: () => unknown, said: (error: unknown) => Error): unknown {
  try {
    const answer = work();
    return answer instanceof Promise
      ? answer.catch((error: unknown) => {
          throw said(error);
        })
      : answer;
  } catch (error) {
    throw said(error);
  }
}

/** What outside systems said has the same consequences as what the API server says. The other functions ask none. */
export function errorOf(controller: string, failing: FailingFunction, error: unknown): Error {
  if (error instanceof ApiError || error instanceof PassedOn || error instanceof ControllerError)
    return error;
  if (!(error instanceof StepError)) return new ControllerError(controller, failing, error);
  const { classification, message, retryAfterMs, advice, reason } = error;
  if (classification === 'never') return error;
  if (failing.asks !== true) return new ControllerError(controller, failing, error);
  const failure = new ApiError(message, { classification, retryAfterMs, advice });
  return reason === undefined ? failure : failure.as({ reason, message, advice });
}
