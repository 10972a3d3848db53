/*
 * Steps, as Temporal calls them. In: the name of a step, its resource and its reason. Out: what was done, and what comes next. Each step
 * observes or confirms what was seen, decides again (step-run.ts), writes, and turns errors into failures (edge.ts). Neither objects nor
 * secrets are in what it returns.
 */

import type { StepInput } from '../src/runs/run.ts';
import { type DecisionEvent, isRest, type Observe, type StepReport, waitFor } from '../src/runs/decision.ts';
import { activityInfo, Context } from '@temporalio/activity';
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { isNamespaceType, namespaceOf, type ResourceType } from '../src/api/resource-type.ts';
import type { Logger } from '../src/api/logger.ts';
import { workflowIdFor, type ResourceRef } from '../src/api/resource-ref.ts';
import { shortened } from '../src/api/text.ts';
import { isOf } from '../src/kubernetes/errors.ts';
import { Account } from './account.ts';
import { atTheEdge } from './edge.ts';
import { isHanging } from './hanging-code.ts';
import { lastHeartbeat, withHeartbeats, type Progress } from './heartbeats.ts';
import { regardingNamespace, type Recorder, type Regarding } from './events/events.ts';
import {
  type Execution,
  type KnownObservation,
  type Memory,
  Superseding,
  Undelivered,
} from './run-memory.ts';
import { PartlyDone, type Reconciler, type AttemptContext } from './reconciler.ts';
import { StepRun, type StepEnd } from './step-run.ts';
import type { NoTurn, Turn, Turns } from './turns.ts';

/** All activities, by the names that workflows call them by. @param reconcilers by the names of their controllers */
export function activitiesFor(
  reconcilers: Readonly<Record<string, Reconciler>>,
  dependencies: ReconcileDependencies,
): StepActivities {
  const activities = Object.entries(reconcilers).map(
    ([name, reconciler]) => [name, stepActivities(reconciler, dependencies)] as const,
  );
  return dispatching(Object.fromEntries(activities));
}

/** Versions that know different steps ask each other for them, but not more often. */
const OTHER_VERSION_MS = 1_000;

/**
 * Some steps of several controllers have one name, such as `updateStatus`: the resource says whose it is. A step that this version of its
 * controller does not know, since it has another name now or is gone, is decided anew. The SDK calls `default` for such a name.
 */
export function dispatching(byController: Readonly<Record<string, StepActivities>>): StepActivities {
  const names = new Set(Object.values(byController).flatMap((activities) => Object.keys(activities)));
  const dispatch =
    (name: string) =>
    async (input: StepInput): Promise<StepReport> => {
      const { controller } = input.ref;
      const its = byController[controller];
      if (its === undefined) throw new Error(`this worker has no controller ${controller}`);
      return (await its[name]?.(input)) ?? otherVersion();
    };
  return Object.fromEntries([...names, 'default'].map((name) => [name, dispatch(name)]));
}

function otherVersion(): StepReport {
  const { activityType } = activityInfo();
  const what = `another decision: this version has no step ${activityType}`;
  return { did: [], next: waitFor(what, OTHER_VERSION_MS), hasNotLooked: true };
}

export interface ReconcileDependencies {
  readonly memory: Memory;
  /** Of all controllers. Default: nobody else asks a step to end. */
  readonly superseding?: Superseding;
  /** What the watcher of this process shows of a resource, as `decide` is asked of it. Default: none watches. */
  readonly watched?: ((ref: ResourceRef) => unknown) | undefined;
  /** Default: none is. @throws ApiError */
  readonly isNamespacePaused?: ((namespace: string) => Promise<boolean>) | undefined;
  /** Default: each attempt gets a turn. */
  readonly turns?: Turns;
  readonly recorder: Recorder;
  readonly log: Logger;
}

export type StepActivity = (input: StepInput) => Promise<StepReport>;
export type StepActivities = Readonly<Record<string, StepActivity>>;

/** The step activities of one controller by their names, with `observe` among them. */
export function stepActivities<O>(
  reconciler: Reconciler<O>,
  dependencies: ReconcileDependencies,
): StepActivities {
  const activities = new ControllerActivities(reconciler, dependencies);
  const names = ['observe', ...Object.keys(reconciler.controller.steps)];
  return Object.fromEntries(names.map((name) => [name, (input) => activities.perform(name, input)]));
}

/** More than begin while a result can be on its way. */
const BEGUN_MAX = 2_000;

/** What surrounds a step: only one at a time for each resource, what is known before and after it, and its Events. */
class ControllerActivities<O> {
  readonly #reconciler: Reconciler<O>;
  readonly #dependencies: ReconcileDependencies;
  readonly #regarding: Regarding;
  readonly #superseding: Superseding;
  readonly #undelivered = new Undelivered();
  /** By run: its first look has found that nothing of an earlier run may still arrive. Its result may have got lost. */
  readonly #begun = new LRUCache<string, true>({ max: BEGUN_MAX });

  constructor(reconciler: Reconciler<O>, dependencies: ReconcileDependencies) {
    this.#reconciler = reconciler;
    this.#dependencies = dependencies;
    this.#superseding = dependencies.superseding ?? new Superseding();
    this.#regarding = kindOf(reconciler.controller.primary.type);
  }

  async perform(name: string, input: StepInput): Promise<StepReport> {
    const { ref, results } = input;
    const { log, recorder } = this.#dependencies;
    const execution = executionOf(input);
    const account = new Account(input, this.#reconciler.controller.mayStillArrive !== undefined);
    const withUndelivered = this.#undelivered.begin(execution.runId, results, lastHeartbeat().did);
    const turn = this.#takeTurn(ref);
    if ('againMs' in turn) return { did: withUndelivered([]), ...withoutTurn(turn), ...account.report };
    const edge = { log, recorder, regarding: this.#regarding, account };
    const attempt = (runLog: Logger, progress: Progress) =>
      this.#superseding.run(execution.workflowId, async (superseded) => {
        const context = {
          ...this.#contextOf(input, execution, superseded),
          ...{ progress: progress.did, log: runLog },
          unknownHere: account.unknown,
          unknownNow: () => account.ofThisAttempt,
          begins: () => progress.begins(account.begins()),
        };
        const run = new StepRun(this.#reconciler, context);
        try {
          const end = await this.#remembering(ref, execution, (known) => run.perform(name, known));
          this.#record(ref, end.events, runLog);
          return resultOf(end);
        } catch (error) {
          const did = error instanceof PartlyDone ? error.did : [];
          if (error instanceof PartlyDone) {
            this.#record(ref, error.events, runLog);
            progress.did(did);
            // Only that failure has what was done with it; of any other, the next attempt reports it.
            if (!isOf(error.cause, 'retry-after')) withUndelivered(did);
          }
          account.unknown = run.unknown;
          if (account.isNotBegun && mayBeginLater(error))
            return { did: [], next: cannotBegin(name, error, runLog), ...account.report };
          throw error;
        }
      });
    const before = this.#undelivered.of(execution.runId, results);
    const result = await atTheEdge(edge, ref, (runLog) =>
      withHeartbeats(before, (progress) => attempt(runLog, progress)),
    ).finally(turn.end);
    return { ...result, did: withUndelivered(result.did) };
  }

  #takeTurn(ref: ResourceRef): Turn | NoTurn {
    const { controller, concurrency } = this.#reconciler;
    const request = {
      ...{ controller: ref.controller, workflowId: workflowIdFor(ref), concurrency },
      namespace: namespaceOf(ref, controller.primary.type),
      isLocal: activityInfo().isLocal,
    };
    return this.#dependencies.turns?.take(request) ?? { end: () => undefined };
  }

  #contextOf(
    { ref, refusal, results, unknown, attempt: keyed, otherData = 0, onChange }: StepInput,
    { runId }: Execution,
    superseded: AbortSignal,
  ): AttemptContext<O> {
    const { watched: viewOf, isNamespacePaused } = this.#dependencies;
    const { activityType, attempt, isLocal } = activityInfo();
    const namespace = namespaceOf(ref, this.#reconciler.controller.primary.type);
    return {
      ref,
      now: Date.now,
      superseded:
        onChange === 'finish'
          ? superseded
          : AbortSignal.any([superseded, Context.current().cancellationSignal]),
      ...{ attempt, refusal, notDone: isLocal ? undefined : activityType },
      idempotencyKey: keyed === undefined ? keyOfActivity : () => keyed.idempotencyKey,
      ...(keyed && { asking: { step: keyed.step, digest: keyed.digest, otherData } }),
      // A run that goes on with an empty history knows what there is.
      isFirst: () => results === 0 && unknown === undefined && !this.#begun.has(runId),
      begunAnew: () => this.#begun.set(runId, true),
      ...(unknown && { unknown }),
      watched: () => viewOf?.(ref) as O | undefined,
      isNamespacePaused: async () =>
        namespace !== undefined && (await isNamespacePaused?.(namespace)) === true,
    };
  }

  /** The step gets what was known, and leaves what it knows. */
  async #remembering(
    ref: ResourceRef,
    execution: Execution,
    step: (known: KnownObservation<O> | undefined) => Promise<StepEnd<O>>,
  ): Promise<StepEnd<O>> {
    const { memory, watched } = this.#dependencies;
    const shownSince = (written: unknown) => {
      const shown = watched?.(ref) as O | undefined;
      return shown !== undefined && this.#reconciler.hasShown?.(shown, written as O) ? shown : undefined;
    };
    const end = await step(memory.take(execution, shownSince) as KnownObservation<O> | undefined);
    // What was known before a rest says nothing about what happens meanwhile.
    if (isRest(end.next)) memory.rest(execution);
    else memory.keep(execution, end.known);
    return end;
  }

  #record(ref: ResourceRef, events: readonly DecisionEvent[], log: Logger): void {
    const { recorder } = this.#dependencies;
    for (const { about, alsoAbout = [], ...event } of events) {
      const regarding = about === 'namespace' ? regardingNamespace(ref, this.#regarding) : this.#regarding;
      for (const { namespace, name, uid } of [ref, ...alsoAbout])
        recorder.record({ ...ref, namespace, name, uid }, regarding, event, log);
    }
  }
}

/** Temporal gives all attempts of an activity one id. */
function keyOfActivity(): string {
  const { workflowExecution: { workflowId = '', runId = '' } = {}, activityId } = activityInfo();
  return createHash('sha256').update(`${workflowId}/${runId}/${activityId}`).digest('hex').slice(0, 32);
}

function executionOf({ ref, changes }: StepInput): Execution {
  const { runId = '' } = activityInfo().workflowExecution ?? {};
  const workflowId = workflowIdFor(ref);
  // A workflow of somebody else may ask for steps of several resources: what is known of one is not of the others.
  return { workflowId, runId: `${runId}/${workflowId}`, changes };
}

/** It has not begun, so that nothing is in doubt. */
function withoutTurn({ because, againMs }: NoTurn): Pick<StepReport, 'next' | 'hasNotLooked'> {
  return { next: waitFor(`its turn: ${because}`, againMs), hasNotLooked: true };
}

/** What keeps a step from beginning keeps the observation from it, too. */
function mayBeginLater(error: unknown): error is Error {
  return isOf(error, 'unavailable', 'api-missing', 'expired') || isHanging(error);
}

/** Its backoff is that of the observation that comes next: so nothing is in doubt when a change ends it. */
function cannotBegin(step: string, error: Error, log: Logger): Observe {
  log.warn({ err: error }, 'the step could not begin');
  return { do: 'observe', because: shortened(`${step} could not begin: ${error.message}`, REASON_MAX_BYTES) };
}

const REASON_MAX_BYTES = 500;

/** As history has it. */
function resultOf({ did, next, refusal, unknown, isUnknown }: StepEnd<unknown>): StepReport {
  return {
    ...{ did, next },
    ...(refusal && { refusal }),
    ...(unknown && { unknown }),
    ...(isUnknown && { isUnknown }),
  };
}

function kindOf(type: ResourceType): Regarding {
  const { group, version, kind } = type;
  const isClusterScoped = !type.namespaced && !isNamespaceType(type);
  return {
    apiVersion: group === '' ? version : `${group}/${version}`,
    kind,
    ...(isClusterScoped && { isClusterScoped }),
  };
}
