import {
  keepsNote,
  writesStatus,
  type AnyKind,
  type ControllerDefinition,
  type ResourceOf,
} from '../api/controller.ts';
import type { ViewedObject, WatchedType } from '../api/watched.ts';
import { misnamed, refuse } from '../api/limits.ts';
import type { FollowsOptions } from '../api/with-options.ts';
import type { Cause } from '../api/cause.ts';
import type { NextOf, Decision } from '../api/next.ts';
import type { DecisionContext, StepDefinition } from '../api/step.ts';
import type { ResourceType } from '../api/resource-type.ts';
import { converged, namedStep, stalled, waitFor, warning, type Rest, type Step } from '../runs/decision.ts';
import { type Deletion } from '../api/deletion.ts';
import { digestOf } from '../api/digest.ts';
import { millisecondsIn } from '../api/duration.ts';
import { ATTEMPT_MAX_MS } from '../runs/run.ts';
import { displayName, type ResourceRef } from '../api/resource-ref.ts';
import { canonicalText } from '../api/fields.ts';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- what its own types say, each call checks
type Untyped = ControllerDefinition<any, any, any, any, any>;

/** Any controller that an author has defined. */
export type AnyDefinition = Omit<Untyped, 'for' | 'lookups' | 'steps'> & {
  readonly for: WatchedType;
  readonly lookups?: AnyLookups;
  readonly steps?: AnySteps;
  /** Of the program that it is a part of. */
  readonly operator?: string;
  /** Another controller of the program writes the conditions of the kind. */
  readonly leavesStatus?: true;
  /** Of its options, where it has some. */
  readonly optionValues?: unknown;
  /** It is made of its options: see `withOptions`. */
  readonly following?: FollowsOptions;
  /** Only some namespaces are watched, each for its own resources. */
  readonly isNarrow?: boolean;
  /** A plan, which must not read an outside system: `observe` is not called, and the last verdict stands. */
  readonly isUnobserved?: boolean;
  /** In an exploration: an attempt may stop anywhere, and the time that passes means nothing. */
  readonly isExplored?: true;
  /** It is for a plan: nothing is generated. */
  readonly isRehearsing?: true;
  /** Of what a decision hands over. Default: a hash. An exploration gives UIDs other numbers, so that it keeps them legible. */
  readonly digestOfData?: (data: unknown) => string;
};

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- likewise
export type AnySteps = Readonly<Record<string, StepDefinition<any, any, any, any, any, any, any>>>;

/** Those of any controller. */
export type AnyLookups = Readonly<Record<string, { read(context: unknown): Promise<unknown> }>>;

/** What the author's functions get: the view of a resource, where the controller has one; else the whole of it. */
export type LiveResource =
  (ResourceOf<AnyKind> & { readonly view?: undefined }) | (ViewedObject<unknown> & Absent);

type Absent = Readonly<Partial<Record<'spec' | 'status', undefined>>> & { readonly invalid?: string };

/** In place of what a controller that has options or clients is given: see bound.ts. */
export const UNBOUND = { options: undefined, clients: undefined } as const;

/** A step of an author, as it was decided. */
export interface AuthorsStep extends Step {
  readonly data: unknown;
}

export function stepsOf({ steps }: AnyDefinition): AnySteps {
  return steps ?? {};
}

/** What Temporal calls it and its runs. */
export function namesOf({ name, summary, for: type }: AnyDefinition) {
  const { kind, namespaced } = type as ResourceType;
  return {
    name,
    workflowType: name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
    summary: (ref: ResourceRef) =>
      [
        `${kind} ${namespaced ? displayName(ref) : ref.name}`,
        ...(summary === undefined ? [] : [summary]),
      ].join(': '),
  };
}

/** Whether the library has a place to remember what was done: the status, or an annotation. */
export function remembers(definition: AnyDefinition): boolean {
  return writesStatus(definition) || keepsNote(definition);
}

/** Whether some step changes something outside of the cluster. */
export function isAnyExternal(definition: AnyDefinition): boolean {
  return Object.keys(stepsOf(definition)).some((step) => isExternal(definition, step));
}

/** Whether objects are declared, or what earlier versions have declared is deleted. */
export function isDeclaring({ retired = [], ...definition }: AnyDefinition): boolean {
  return definition.children !== undefined || retired.length > 0;
}

/** Whether an object is kept until the controller lets it go. */
export function isHeld(definition: AnyDefinition, finalizers: readonly string[] = []): boolean {
  return finalizers.some((each) => isOurs(definition, each));
}

/** Whether it is a finalizer of the controller, or was one of an earlier version. */
export function isOurs({ finalizer, retiredFinalizers = [] }: AnyDefinition, one: string): boolean {
  return one === finalizer || retiredFinalizers.includes(one);
}

/**
 * Whether an attempt of a step that takes effect late can leave something that no watch shows, or that nobody deletes: objects without
 * an owner reference stay when their resource is let go. One write of the resource itself leaves nothing.
 */
export function mayLeave(definition: AnyDefinition, step: string): boolean {
  const { reads } = stepsOf(definition)[step] ?? {};
  return isExternal(definition, step) || (definition.finalizer !== undefined && reads !== 'cache');
}

/** What the Temporal UI shows of each step. */
export function summariesOf(definition: AnyDefinition): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(stepsOf(definition)).map(([name, { summary }]) => [name, summary]),
  );
}

/** Whether a step changes something outside of the cluster. */
export function isExternal(definition: AnyDefinition, step: string): boolean {
  return stepsOf(definition)[step]?.external ?? definition.observe !== undefined;
}

/** How long `run` of a step may take, in milliseconds. */
export function runMaxMs({ timeout }: { readonly timeout?: string | undefined }): number {
  return (timeout === undefined ? undefined : millisecondsIn(timeout)) ?? RUN_MAX_MS;
}

/** After which time a call of `observe`, or of `run` of a step, is given up, in milliseconds. */
export function callMaxMs(
  { isExplored }: AnyDefinition,
  step: { readonly timeout?: string | undefined } = {},
): number {
  return isExplored ? Infinity : runMaxMs(step);
}

/** What is read before, and a write that is under way when the time is over, are part of an attempt. */
export function attemptMaxMs(step: { readonly timeout?: string | undefined }): number {
  return runMaxMs(step) + ATTEMPT_MAX_MS - RUN_MAX_MS;
}

const RUN_MAX_MS = 10_000;

/** What is decided from, and what decides. */
export interface Deciding {
  readonly definition: AnyDefinition;
  readonly facts: DecisionContext<unknown, unknown, unknown>;
}

/** Whether an attempt came to its end is known only of durable ones. */
export function stepFor(
  { definition, facts }: Deciding,
  { step, because, data }: Decision & { is: 'step' },
): AuthorsStep {
  const its = stepsOf(definition)[step];
  const deletes = its?.deletes?.(facts, data);
  const isLong = its?.timeout !== undefined;
  const { digestOfData = hashOf } = definition;
  const isDurable = isLong || its?.durable === true || mayLeave(definition, step);
  // Begun anew beside an attempt that goes on, work outside would be done twice.
  const { retry, onChange = isDurable ? 'finish' : 'interrupt' } = its ?? {};
  const writes = its?.writes?.(facts, data);
  return {
    ...{ ...namedStep(step), because, data },
    ...(isDurable && { isDurable, digest: digestOfData(data ?? null) }),
    ...(isLong && { attemptMaxMs: attemptMaxMs(its) }),
    ...(writes !== undefined && { writes }),
    ...(retry && { retry: pace(retry) }),
    ...(onChange === 'finish' && { onChange }),
    ...(deletes && { deletes: read(deletes) }),
  };
}

/** Read once: a mistake in it is one of this decision. */
function read(deletes: Deletion): Deletion {
  const objects = deletes.objects();
  const helpers = deletes.helpers?.();
  return { ...deletes, objects: () => objects, ...(helpers && { helpers: () => helpers }) };
}

function hashOf(data: unknown): string {
  return digestOf([canonicalText(data)]);
}

/** Each is there: `defineController` has looked at them. */
function pace({ first, longest }: NonNullable<AnySteps[string]['retry']>): NonNullable<Step['retry']> {
  const [initialInterval, maximumInterval] = [first, longest].map((each) => each && millisecondsIn(each));
  return { ...(initialInterval && { initialInterval }), ...(maximumInterval && { maximumInterval }) };
}

type Resting = Extract<Decision, { is: 'converged' } | { is: 'wait' } | { is: 'stalled' }>;

/** @param defaultAction of the Event of what is stalled; undefined: there is none unless the author names its action */
export function restFor(outcome: Resting, defaultAction?: string): Rest {
  switch (outcome.is) {
    case 'converged': {
      const { because, notReady, recheckAfter, action } = outcome;
      return converged(because, {
        ...(notReady && { notReady }),
        ...(recheckAfter !== undefined && { recheckMs: millisecondsOf(recheckAfter), isProgressing: true }),
        ...eventOf(notReady, action),
      });
    }
    case 'wait': {
      const { what, recheckAfter, cause, action } = outcome;
      return { ...waitFor(what, millisecondsOf(recheckAfter), cause), ...eventOf(cause, action) };
    }
    case 'stalled': {
      const { cause, recheckAfter, action = defaultAction } = outcome;
      return stalled(cause, {
        ...(recheckAfter !== undefined && { recheckMs: millisecondsOf(recheckAfter) }),
        ...eventOf(cause, action),
      });
    }
  }
}

function eventOf(cause: Cause | undefined, action: string | undefined): Pick<Rest, 'event'> {
  return cause === undefined || action === undefined ? {} : { event: warning(cause, action) };
}

/** @throws Error where it is no duration */
function millisecondsOf(duration: string): number {
  const ms = millisecondsIn(duration);
  if (ms === undefined)
    throw new Error(`recheckAfter is "${duration}", but must be a duration such as "30s"`);
  return ms;
}

/** @throws Error where a condition cannot have the reason that an author gives: a mistake of the controller */
export function nextOf(definition: AnyDefinition): NextOf<Record<string, unknown>, object> {
  const told = (decision: Extract<Decision, { is: 'converged' | 'wait' | 'stalled' }>): Decision => {
    const cause = decision.is === 'converged' ? decision.notReady : decision.cause;
    const isLookedAt = decision.is === 'converged' && decision.recheckAfter !== undefined;
    refuse(`controller ${definition.name}`, [
      misnamed('reason', cause?.reason),
      isLookedAt && cause === undefined && 'next.converged has recheckAfter without notReady',
      isLookedAt &&
        definition.observe !== undefined &&
        'next.converged has recheckAfter, but the controller has observe; answer next.wait, or set pollInterval',
    ]);
    return decision;
  };
  const named = Object.keys(stepsOf(definition)).map((step) => {
    const does = (because: string, data?: unknown): Decision => ({ is: 'step', step, because, data });
    return [step, does] as const;
  });
  return {
    do: Object.fromEntries(named),
    converged: (because, more = {}) => told({ is: 'converged', because, ...more }),
    wait: (what, more) => told({ is: 'wait', what, ...more }),
    stalled: (cause, more = {}) => told({ is: 'stalled', cause, ...more }),
    record: (status, then, more = {}) => ({ is: 'record', status, then, ...more }),
    reason(reason, then, more = {}) {
      refuse(`controller ${definition.name}`, [misnamed('reason', reason)]);
      return { is: 'reason', reason, then, ...more };
    },
    removeFinalizer: (because, more = {}) => ({ is: 'removeFinalizer', because, ...more }),
  };
}
