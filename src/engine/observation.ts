import type { Decision } from '../api/next.ts';
import type { RefusedStep } from '../api/step.ts';
import type { Cause } from '../api/cause.ts';
import type { ReferredState } from './controller.ts';
import type { ResourceType } from '../api/resource-type.ts';
import type { NextStep, Step, Wait } from '../runs/decision.ts';
import type { Condition } from './condition.ts';
import type { Fields } from '../api/fields.ts';
import type { ChildrenSeen, ChildStep } from './children/decide.ts';
import type { DeclaredView } from './children/declared.ts';
import type { PodsFound } from './children/hanging.ts';
import type { ChildView } from './children/view.ts';
import type { AuthorsStep } from './definition.ts';
import type { LookupValues } from './lookups.ts';
import type { OwnedView } from './owned.ts';
import type { DefinedView } from './view.ts';

/** What a decision is made from: what the watcher shows, or all that a step has read. */
export type DefinedObservation = 'gone' | SeenResource;

export interface SeenResource {
  readonly view: DefinedView;
  /** Its declared objects, as the watcher shows them. */
  readonly there?: readonly ChildView[];
  /** The other objects that belong to it. */
  readonly owned: readonly OwnedView[];
  /** What it declares, as far as the watcher knows. Undefined: its controller declares nothing. */
  readonly declared?: DeclaredView | undefined;
  /** The optional types whose API is missing. Absent: none, as far as is known. */
  readonly missing?: readonly ResourceType[];
  /** What it refers to. Undefined: its controller has no references, or nobody knows. */
  readonly referred?: ReferredState | undefined;
  /** Reads that decisions have asked for. Absent: none. */
  readonly lookups?: LookupValues;
  /** The resource itself was just read or written, and `owned` is as the watch shows it. */
  readonly isOwnedShown?: true;
  /** Absent: nothing was read for this decision. */
  readonly live?: LiveReads;
}

/** What only a step reads. */
export interface LiveReads {
  /** Absent where nothing is decided from it: the resource is invalid, or not ours any more. */
  readonly observed?: unknown;
  /** Declared objects were written since `observe` was asked. */
  readonly isOutdated?: true;
  /** What it declares, and what there is of it. Absent: nothing is declared, or can be. */
  readonly declared?: ChildrenSeen | { readonly outcome: Decision } | undefined;
  /** Of declared objects that are not ready. Absent: nobody has looked. */
  readonly pods?: PodsFound;
  /** The step that was refused last, and has not been done since. */
  readonly refused?: RefusedStep;
  /** What the step that was just tried has to wait for. */
  readonly waiting?: Wait;
  /** The step that this was read for, where that was not done at once. */
  readonly notDone?: string;
  /** Why it could not be found out what a decision is made from. */
  readonly unobserved?: Cause;
  /** Why trying again does not help, as a function of the controller has said. */
  readonly never?: Cause;
}

/** Undefined: nobody knows, or no objects are declared. */
export function childrenIn({ live, declared, there = [], missing }: SeenResource): ChildrenSeen | undefined {
  if (live !== undefined) return live.declared && 'wanted' in live.declared ? live.declared : undefined;
  const isKnown = declared !== undefined && declared !== 'unknown' && 'wanted' in declared;
  return isKnown ? { ...declared, there, ...(missing && { missing }) } : undefined;
}

export type DefinedStep = LibraryStep | ChildStep | AuthorsStep;

/** The library's own steps. */
export type LibraryStep =
  | (Step & {
      readonly do: 'addFinalizer' | 'removeFinalizer';
      readonly finalizers: readonly string[];
      readonly resourceVersion: string;
    })
  | (Step & {
      readonly do: 'updateState';
      /** Null: it is removed. */
      readonly note: string | null;
      readonly resourceVersion: string;
    })
  | StatusWrite;

export interface StatusWrite extends Step {
  readonly do: 'updateStatus';
  readonly status: StatusPatch;
  /** Of the resource that it was decided from. */
  readonly resourceVersion: string;
}

/** What is left out stays as it is. Null: the field is removed. */
export type StatusPatch = Fields & {
  readonly conditions?: readonly Condition[];
  readonly observedGeneration?: number;
};

export const LIBRARY_STEPS = {
  addFinalizer: 'keep the resource until what it stands for is removed',
  updateStatus: 'update the status',
  updateState: 'note what was found',
  removeFinalizer: 'allow the resource to be deleted',
} as const;

export function isLibraryStep(step: Step): step is LibraryStep {
  return Object.hasOwn(LIBRARY_STEPS, step.do);
}

export function isChildStep(step: Step): step is ChildStep {
  return 'verb' in step;
}

export function isAuthorsStep(step: Step): step is AuthorsStep {
  return !isLibraryStep(step) && !isChildStep(step);
}

export type DefinedDecision = NextStep<DefinedStep>;
