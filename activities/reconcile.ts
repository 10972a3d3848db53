import { activityInfo } from '@temporalio/activity';
import type { Controller, ResourceType } from '../src/contract/controller.ts';
import {
  isObserve,
  isRest,
  isStep,
  nextOf,
  type Decision,
  type DecisionEvent,
  type Deed,
  type Observe,
  type Refusal,
  type Step,
  type StepResult,
} from '../src/contract/decision.ts';
import type { Logger } from '../src/contract/logger.ts';
import { workflowIdFor, type ResourceRef } from '../src/contract/resource.ts';
import type { StepInput } from '../src/contract/run.ts';
import { isOf, type ApiError } from '../src/kubernetes/errors.ts';
import { atTheEdge } from './edge.ts';
import { regardingNamespace, type Recorder, type Regarding } from './events.ts';
import { isLeftToBackoff, isStale, refusalIn } from './failed-step.ts';
import { isInVain, overridden, type Write } from './overridden.ts';
import type { Execution, Known, Memory } from './memory.ts';
import { PartlyDone } from './partly-done.ts';
import { Superseding } from './superseding.ts';
import { Undelivered } from './undelivered.ts';

/** How often a step observes again at once after a conflict; then Temporal's backoff takes over. */
const CONFLICTS_MAX = 4;
/** More than any controller asks to observe one after the other. */
const LOOKS_MAX = 20;

/**
 * What a step is performed with, besides the decision and the observation.
 *
 * @typeParam O what `decide` is asked with
 */
export interface StepContext<O = unknown> {
  readonly ref: ResourceRef;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Aborted once a newer step of the same resource waits for this one to end. */
  readonly superseded: AbortSignal;
  /** Of an earlier attempt of the step that was refused last. */
  readonly refusal?: Refusal | undefined;
  /** What this process's watcher shows by now, which may lag behind what was read; undefined: it does not watch. */
  readonly watched?: (() => O | undefined) | undefined;
  /** Whether the Namespace of the resource is paused. Default: it is not. @throws ApiError */
  readonly isNamespacePaused?: (() => Promise<boolean>) | undefined;
}

/** A step that was performed, all of it or as far as it came. */
export interface Performed<O> {
  /** What is known now: the observation before, with the server's answers folded in. Undefined: it is observed anew. */
  readonly observation: O | undefined;
  readonly did: readonly Deed[];
  /** The last write, which names what was changed on its way. */
  readonly write?: Write | undefined;
  /** Besides the event of the decision, or in its stead. */
  readonly event?: DecisionEvent;
  /**
   * The server refused, or nobody knows whether it was done. Where nothing was done and the next decision is the same step
   * again, the activity fails with this, so that Temporal retries it with backoff; where it is another one, such as to report
   * a refusal, that comes first.
   */
  readonly refusal?: ApiError | undefined;
}

/**
 * The impure half of a controller: how its resources are observed, and how its steps are performed.
 *
 * @typeParam O what `decide` is asked with
 * @typeParam S the steps
 * @typeParam L what `decide` may ask to observe besides
 */
export interface Reconciler<O, S extends Step, L extends Observe = Observe> {
  readonly controller: Pick<Controller<unknown, unknown, O, S, L>, 'decide' | 'control' | 'statusStep'> & {
    readonly steps: readonly string[];
    readonly primary: { readonly type: ResourceType };
  };
  /** Reads the live state of all that decisions are made from. @throws ApiError */
  observe(context: StepContext<O>): Promise<O>;
  /** Reads what a decision asked for besides; undefined: everything is observed again. @throws ApiError */
  look?(asked: L, observation: O, context: StepContext<O>): Promise<O | undefined>;
  /**
   * Makes a watcher's view as good as live for this step, with as few reads as that takes: none where the step's
   * first write fails unless the resource is the one that the watcher saw. Undefined: everything is observed, and
   * decided again.
   *
   * @throws ApiError
   */
  confirm?(step: S, view: O, context: StepContext<O>): Promise<O | undefined>;
  /** What is known, with a refusal that another process has met. Only where `decide` considers refusals. */
  withRefusal?(observation: O, refusal: Refusal): O;
  /** Performs one step. Safe to repeat. @throws ApiError */
  perform(step: S, observation: O, context: StepContext<O>): Promise<Performed<O>>;
  /** The same by dry runs, before a step is repeated whose writes something changes. @throws ApiError */
  rehearse?(step: S, observation: O, context: StepContext<O>): Promise<Performed<O>>;
}

export interface ReconcileDependencies {
  readonly memory: Memory;
  /** What the watcher of this process shows of a resource, as `decide` is asked of it. Default: none watches. */
  readonly watched?: ((ref: ResourceRef) => unknown) | undefined;
  /** Default: none is. @throws ApiError */
  readonly isNamespacePaused?: ((namespace: string) => Promise<boolean>) | undefined;
  readonly recorder: Recorder;
  readonly log: Logger;
}

export type StepActivity = (input: StepInput) => Promise<StepResult>;
export type StepActivities = Readonly<Record<string, StepActivity>>;

/** The step activities of one controller by their names, with `observe` among them. */
export function stepActivities<O, S extends Step, L extends Observe>(
  reconciler: Reconciler<O, S, L>,
  dependencies: ReconcileDependencies,
): StepActivities {
  const activities = new ControllerActivities(reconciler, dependencies);
  const names = ['observe', ...reconciler.controller.steps];
  return Object.fromEntries(names.map((name) => [name, (input) => activities.perform(name, input)]));
}

/** What surrounds a step: only one at a time for each resource, what is known before and after it, and its Events. */
class ControllerActivities<O, S extends Step, L extends Observe> {
  readonly #reconciler: Reconciler<O, S, L>;
  readonly #dependencies: ReconcileDependencies;
  readonly #regarding: Regarding;
  readonly #superseding = new Superseding();
  readonly #undelivered = new Undelivered();

  constructor(reconciler: Reconciler<O, S, L>, dependencies: ReconcileDependencies) {
    this.#reconciler = reconciler;
    this.#dependencies = dependencies;
    this.#regarding = kindOf(reconciler.controller.primary.type);
  }

  async perform(name: string, input: StepInput): Promise<StepResult> {
    const { ref, results } = input;
    const { log, recorder } = this.#dependencies;
    const execution = executionOf(input);
    const withUndelivered = this.#undelivered.begin(execution.runId, results);
    const edge = { log, recorder, regarding: this.#regarding };
    const result = await atTheEdge(edge, ref, (runLog) =>
      this.#superseding.run(ref.uid, async (superseded) => {
        const run = new StepRun(this.#reconciler, this.#contextOf(input, superseded));
        try {
          const end = await this.#remembering(execution, (known) => run.perform(name, known));
          this.#record(ref, end.events, runLog);
          return resultOf(end);
        } catch (error) {
          if (error instanceof PartlyDone) {
            this.#record(ref, error.events, runLog);
            // Only that failure has what was done with it; of any other, the next attempt reports it.
            if (!isOf(error.cause, 'retry-after')) withUndelivered(error.did);
          }
          throw error;
        }
      }),
    );
    return { ...result, did: withUndelivered(result.did) };
  }

  #contextOf({ ref, refusal }: StepInput, superseded: AbortSignal): StepContext<O> {
    const { watched: viewOf, isNamespacePaused } = this.#dependencies;
    return {
      ref,
      now: Date.now,
      superseded,
      refusal,
      watched: () => viewOf?.(ref) as O | undefined,
      isNamespacePaused: async () => (await isNamespacePaused?.(ref.namespace)) ?? false,
    };
  }

  /** The step gets what was known, and leaves what it knows. */
  async #remembering(
    execution: Execution,
    step: (known: Known<O> | undefined) => Promise<StepEnd<O>>,
  ): Promise<StepEnd<O>> {
    const { memory } = this.#dependencies;
    const end = await step(memory.take(execution) as Known<O> | undefined);
    // What was known before a rest says nothing about what happens meanwhile.
    if (isRest(end.next)) memory.rest(execution);
    else memory.keep(execution, end.known);
    return end;
  }

  #record(ref: ResourceRef, events: readonly DecisionEvent[], log: Logger): void {
    const { recorder } = this.#dependencies;
    for (const { about, ...event } of events) {
      const regarding = about === 'namespace' ? regardingNamespace(ref, this.#regarding) : this.#regarding;
      recorder.record(ref, regarding, event, log);
    }
  }
}

function executionOf({ ref, changes }: StepInput): Execution {
  const { runId = '' } = activityInfo().workflowExecution ?? {};
  const workflowId = workflowIdFor(ref);
  // A workflow of somebody else may ask for steps of several resources: what is known of one is not of the others.
  return { workflowId, runId: `${runId}/${workflowId}`, changes };
}

/** As history has it. */
function resultOf({ did, next, refusal }: StepEnd<unknown>): StepResult {
  return { did, next, ...(refusal && { refusal }) };
}

function kindOf({ group, version, kind }: ResourceType): Regarding {
  return { apiVersion: group === '' ? version : `${group}/${version}`, kind };
}

/** What came of one step activity. */
export interface StepEnd<O> extends StepResult {
  /** For the step that follows; undefined: it has to observe. */
  readonly known: Known<O> | undefined;
  readonly events: readonly DecisionEvent[];
}

/** A step that did not bring about what it was for. */
interface FailedEnd<O, S extends Step, L extends Observe> {
  readonly step: S;
  readonly error: ApiError;
  readonly did: readonly Deed[];
  readonly events: readonly DecisionEvent[];
  readonly decided: Decided<O, S, L>;
}

interface Decided<O, S extends Step, L extends Observe> {
  readonly known: Known<O>;
  readonly decision: Decision<S, L>;
}

/**
 * One step activity of any controller: observes, unless that is known; decides; performs the step that it is named
 * after, if that is what was decided; decides again, to say what comes next.
 */
export class StepRun<O, S extends Step, L extends Observe> {
  readonly #reconciler: Reconciler<O, S, L>;
  readonly #context: StepContext<O>;

  constructor(reconciler: Reconciler<O, S, L>, context: StepContext<O>) {
    this.#reconciler = reconciler;
    this.#context = context;
  }

  /**
   * @param name of the step, or `observe`: then nothing is written
   * @throws ApiError
   */
  async perform(name: string, from: Known<O> | undefined): Promise<StepEnd<O>> {
    let known = from;
    for (let conflicts = 0; ;) {
      try {
        const decided = await this.#decide(known ?? (await this.#observe()));
        const { decision } = decided;
        if (!isStep(decision) || decision.do !== name) return endWith(decided, []);
        const { observation, source } = decided.known;
        if (source === 'live') return await this.#perform(decision, observation, conflicts < CONFLICTS_MAX);
        known = await this.#confirmed(decision, observation);
      } catch (error) {
        if (!isStale(error) || (conflicts += 1) > CONFLICTS_MAX) throw error;
        known = undefined;
      }
    }
  }

  async #observe(): Promise<Known<O>> {
    const { refusal } = this.#context;
    const observation = await this.#reconciler.observe(this.#context);
    return { observation: refusal ? this.#withRefusal(observation, refusal) : observation, source: 'live' };
  }

  /** Observes what the decision asks for until it is a step or a rest. */
  async #decide(from: Known<O>): Promise<Decided<O, S, L>> {
    const { controller } = this.#reconciler;
    let known = from;
    for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
      const decision = controller.decide(known.observation, this.#context.now(), {
        isLive: known.source === 'live',
        isNamespacePaused: (await this.#context.isNamespacePaused?.()) ?? false,
      });
      if (!isObserve(decision)) return { known, decision };
      known = await this.#look(decision, known);
    }
    throw new Error(`no decision after ${LOOKS_MAX} observations; this is a bug in the controller`);
  }

  async #look(asked: L, { observation, source }: Known<O>): Promise<Known<O>> {
    const seen = await this.#reconciler.look?.(asked, observation, this.#context);
    return seen === undefined ? this.#observe() : { observation: seen, source };
  }

  /** What is known is the watcher's alone: it is made as good as live, and decided on again. */
  async #confirmed(step: S, view: O): Promise<Known<O>> {
    const observation = await this.#reconciler.confirm?.(step, view, this.#context);
    return observation === undefined ? this.#observe() : { observation, source: 'live' };
  }

  /** @param mayObserve again at once, after a conflict */
  async #perform(step: S, observation: O, mayObserve: boolean): Promise<StepEnd<O>> {
    const performed = await this.#carryOut(step, observation);
    const { approval, event } = step;
    const events = [approval?.event, event, performed.event].filter((each) => each !== undefined);
    const { refusal, observation: after } = performed;
    if (mayObserve && isStale(refusal)) throw refusal;
    const did = approval && performed.did.length > 0 ? [...performed.did, approval.deed] : performed.did;
    let decided: Decided<O, S, L>;
    try {
      // An earlier refusal is left out: with it, other steps are held, and each status would say the opposite of the last.
      const seen = after ?? (await this.#reconciler.observe(this.#context));
      decided = await this.#decide({ observation: seen, source: 'live' });
    } catch (error) {
      if (did.length === 0) throw refusal ?? error;
      // The write is made: that it failed to look around afterwards must not hide it. Yet a Retry-After is kept.
      if (isOf(error, 'retry-after')) throw new PartlyDone(error, did, events);
      return { did, next: lookAgain(error), known: undefined, events };
    }
    if (refusal !== undefined) return this.#failed({ step, error: refusal, did, events, decided });
    if (isInVain(step, performed.write, decided.decision))
      return this.#failed({ step, error: overridden(step, performed.write), did, events: [], decided });
    return endWith(decided, did, events);
  }

  async #failed({ step, error, did, events, decided: before }: FailedEnd<O, S, L>): Promise<StepEnd<O>> {
    const refusal = refusalIn(step.do, error);
    const decided = isOf(error, 'overridden')
      ? await this.#decide({
          ...before.known,
          observation: this.#withRefusal(before.known.observation, refusal),
        })
      : before;
    const { decision } = decided;
    if (isLeftToBackoff({ step: step.do, error, did, decision, refusal: this.#context.refusal })) {
      const reported = await this.#report(decided);
      throw reported.length === 0 ? error : new PartlyDone(error, reported);
    }
    return { ...endWith(decided, did, events), refusal };
  }

  /** After a step in vain, it is tried by a dry run first. */
  async #carryOut(step: S, observation: O): Promise<Performed<O>> {
    const { refusal } = this.#context;
    if (refusal?.because === 'overridden' && refusal.step === step.do) {
      const { write, ...rehearsed } = await this.#rehearse(step, observation);
      if (rehearsed.refusal !== undefined) return { observation, did: [], refusal: rehearsed.refusal };
      // What is observed anew knows nothing of a dry run: then the answer decides.
      const seen = rehearsed.observation ?? observation;
      const { decision } = await this.#decide({ observation: seen, source: 'live' });
      if (isInVain(step, write, decision)) return { observation, did: [], refusal: overridden(step, write) };
    }
    return this.#reconciler.perform(step, observation, this.#context);
  }

  async #rehearse(step: S, observation: O): Promise<Performed<O>> {
    const rehearsed = await this.#reconciler.rehearse?.(step, observation, this.#context);
    return rehearsed ?? { observation: undefined, did: [] };
  }

  #withRefusal(observation: O, refusal: Refusal): O {
    return this.#reconciler.withRefusal?.(observation, refusal) ?? observation;
  }

  /** Who waits sees why, at most once an attempt. Where it does not succeed, the next attempt tries it again. */
  async #report({ decision, known: { observation } }: Decided<O, S, L>): Promise<readonly Deed[]> {
    if (!isStep(decision) || decision.do !== 'updateStatus') return [];
    const performing = this.#reconciler.perform(decision, observation, this.#context);
    return performing.then(
      ({ did }) => did,
      () => [],
    );
  }
}

function endWith<O, S extends Step, L extends Observe>(
  { known, decision }: Decided<O, S, L>,
  did: readonly Deed[],
  events: readonly DecisionEvent[] = [],
): StepEnd<O> {
  // The event of a step belongs to when it is done.
  const ofRest = isRest(decision) && decision.event !== undefined ? [decision.event] : [];
  return { did, next: nextOf(decision), known, events: [...events, ...ofRest] };
}

function lookAgain(error: unknown): Observe {
  const why = error instanceof Error ? error.message : String(error);
  return { do: 'observe', because: `the next step could not be determined: ${why}` };
}
