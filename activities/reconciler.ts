import type { Circumstances } from '../src/engine/holds/control.ts';
import type { Controller } from '../src/engine/controller.ts';
import type { ResourceType } from '../src/api/resource-type.ts';
import type { DecisionEvent, Action, Observe, Refusal, Step } from '../src/runs/decision.ts';
import type { Logger } from '../src/api/logger.ts';
import type { ResourceRef } from '../src/api/resource-ref.ts';
import type { UnknownAttempt } from '../src/api/unknown-attempt.ts';
import { ApiError } from '../src/kubernetes/errors.ts';

/**
 * What a step is performed with, besides the decision and the observation.
 *
 * @typeParam O what `decide` is asked with
 */
export interface AttemptContext<O = unknown> {
  readonly ref: ResourceRef;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Aborted once the run, or a newer step of the same resource, waits for this one to end. */
  readonly superseded: AbortSignal;
  /** Its lines name the attempt. Default: nothing is logged. */
  readonly log?: Logger;
  /** To be told all that the attempt has done so far: the next one reports it, should the process be killed. Absent: outside of Temporal. */
  readonly progress?: ((did: readonly Action[]) => void) | undefined;
  /** From 1. Default: outside of Temporal. */
  readonly attempt?: number;
  /** The step, where it is not tried within the workflow task: it takes longer, or has failed there. */
  readonly notDone?: string | undefined;
  /** Of an earlier attempt of the step that was refused last. */
  readonly refusal?: Refusal | undefined;
  /** What this process's watcher shows now, which may lag behind what was read; undefined: it does not show all of it. */
  readonly watched?: (() => O | undefined) | undefined;
  /** Earlier attempts whose outcome is not known, as the run knows of them. Default: there is none. */
  readonly unknown?: readonly UnknownAttempt[];
  /** Those of this execution of the step, of which the run does not know. Default: there is none. */
  readonly unknownHere?: readonly UnknownAttempt[];
  /** Only of a step whose data has a digest. */
  readonly asking?: Circumstances['asking'];
  /** As {@link KeyedAttempt} has it; of a brief step, the same for all attempts of its execution. Absent: outside of Temporal. */
  readonly idempotencyKey?: () => string;
  /** This attempt, once it may take effect. Absent: outside of Temporal. */
  readonly unknownNow?: () => UnknownAttempt | undefined;
  /** To be called right before the attempt may take effect. Absent: outside of Temporal. */
  readonly begins?: () => void;
  /** Whether this is the first step of a run. Ask after observing: an earlier attempt may be in progress. */
  readonly isFirst?: () => boolean;
  /** The first step has found that nothing of an earlier run may still arrive. */
  readonly begunAnew?: () => void;
  /** Whether the Namespace of the resource is paused. Default: it is not. @throws ApiError */
  readonly isNamespacePaused?: (() => Promise<boolean>) | undefined;
}

/** All attempts without a known outcome. */
export function unknownTo({
  unknown = [],
  unknownHere = [],
}: Pick<AttemptContext, 'unknown' | 'unknownHere'>): readonly UnknownAttempt[] {
  return [...unknown, ...unknownHere];
}

/** A step that was performed, all of it or as far as it came. */
export interface Performed<O> {
  /** What is known now: the observation before, with the server's answers folded in. Undefined: it is observed anew. */
  readonly observation: O | undefined;
  /** Where it is observed anew: what is taken from before, as from a view of the watcher. Default: nothing. */
  readonly view?: O;
  readonly did: readonly Action[];
  /** What something changed in the last write on its way, as `changeOf` says it. */
  readonly changed?: string | undefined;
  /** Nobody knows whether it was done, and what comes next says so. */
  readonly isUnknown?: true;
  /** Besides the event of the decision, or in its stead. */
  readonly event?: DecisionEvent;
  /**
   * The server refused, or nobody knows whether it was done. Where nothing was done and the next decision is the same step
   * again, the activity fails with this, so that Temporal retries it with backoff; where it is another one, such as to report
   * a refusal, that comes first.
   */
  readonly refusal?: ApiError | undefined;
}

/** The step is performed on what is shown; or everything is observed; or it is decided again, on what was read. */
export type Confirmation<O> = 'as shown' | 'unknown' | { readonly observation: O };

/**
 * The impure half of a controller: how its resources are observed, and how its steps are performed.
 *
 * @typeParam O what `decide` is asked with
 */
export interface Reconciler<O = unknown> {
  readonly controller: Pick<
    Controller<unknown, unknown, O>,
    'decide' | 'control' | 'statusStep' | 'mayStillArrive' | 'attemptMaxMs'
  > & {
    readonly steps: Readonly<Record<string, string>>;
    readonly primary: { readonly type: ResourceType };
  };
  /**
   * Reads the live state of all that decisions are made from.
   *
   * @param view of the watcher, from which what need not be read may be taken: where a write fails unless it is the object that the
   *   watcher saw. Given where there is no `confirm`, and one is watched @throws ApiError
   */
  observe(context: AttemptContext<O>, view?: O): Promise<O>;
  /** Reads what a decision asked for besides; undefined: everything is observed again. @throws ApiError */
  look?(asked: Observe, observation: O, context: AttemptContext<O>): Promise<O | undefined>;
  /**
   * Makes a watcher's view as good as live for this step, with as few reads as that takes: none where the step's
   * first write fails unless the resource is the one that the watcher saw. Without this function, each step observes first.
   *
   * @throws ApiError
   */
  confirm?(step: Step, view: O, context: AttemptContext<O>): Promise<Confirmation<O>>;
  /** Whether what is known after a step is in part what the watcher shows: the next step has to {@link confirm} it. Default: it is not. */
  isShown?(observation: O): boolean;
  /** Whether a view of the watcher has what a run has just read or written of the resource. Only beside {@link confirm}. */
  hasShown?(view: O, written: O): boolean;
  /**
   * What is known, with a refusal that another process has met. Only where `decide` considers refusals.
   *
   * @param name of the activity; undefined: something was done in it
   */
  withRefusal?(observation: O, refusal: Refusal, name?: string): O;
  /** The most attempts that a process has in progress. Default: as many as it has slots. */
  readonly concurrency?: number;
  /** Whether the step changes something outside of the cluster, so that it cannot be rehearsed. Default: none does. */
  isExternal?(step: string): boolean;
  /** Performs one step. Safe to repeat. @throws ApiError */
  perform(step: Step, observation: O, context: AttemptContext<O>): Promise<Performed<O>>;
  /** The same by dry runs, before a step is repeated whose writes something changes. @throws ApiError */
  rehearse?(step: Step, observation: O, context: AttemptContext<O>): Promise<Performed<O>>;
}

/** What goes away by itself within so many attempts changes no status, and is no Event. */
export const ATTEMPTS_UNTOLD = 2;

/** The error of a step that had done something before. What it did must not be lost. */
export class PartlyDone extends ApiError {
  override readonly name = 'PartlyDone';
  /** An ApiError; or a mistake of the controller, of which nobody knows how far it came. */
  override readonly cause: Error;
  readonly did: readonly Action[];
  readonly events: readonly DecisionEvent[];

  constructor(cause: Error, did: readonly Action[], events: readonly DecisionEvent[] = []) {
    super(cause.message, cause instanceof ApiError ? cause : { classification: 'unavailable' });
    this.cause = cause;
    this.did = did;
    this.events = events;
  }
}
