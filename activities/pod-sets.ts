import { activityInfo } from '@temporalio/activity';
import type { Logger } from '../src/contract/logger.ts';
import { displayName, type ResourceRef } from '../src/contract/resource.ts';
import { converged, progressed, stalled, waiting, type Outcome } from '../src/contract/run.ts';
import { unreachable } from '../src/contract/unreachable.ts';
import type { PodSetActivities } from '../src/controllers/pod-set/activities.ts';
import {
  decidePodSet,
  type End,
  type PodSetStep,
  type Work,
  type WriteStatus,
} from '../src/controllers/pod-set/decide.ts';
import { observed, type Observation } from '../src/controllers/pod-set/observation.ts';
import { podsToDelete } from '../src/controllers/pod-set/ranking.ts';
import { POD_SET_KIND } from '../src/controllers/pod-set/resource.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { ApiError, type ApiErrorClass } from '../src/kubernetes/errors.ts';
import { AT_ONCE, inBatches, SLOWLY, type BatchesEnd, type Batching } from './batches.ts';
import { atTheEdge } from './edge.ts';
import type { Recorder } from './events.ts';
import { podNames } from './pod-names.ts';
import { PodSetObjects, type LivePod, type LivePodSet } from './pod-set-objects.ts';
import { Superseding } from './superseding.ts';
import { PodSetReport, type Deed } from './pod-set-report.ts';

/**
 * No batch is begun later: a change drops a pass only half a second after it came, by which time this one
 * has said itself how far it got.
 */
const TIME_FOR_WRITES_MS = 400;
/** But so many writes are made in any case, where that is possible in reasonable time: each pass has its cost. */
const WRITES_LEAST = 150;
const TIME_FOR_LEAST_MS = 2_000;
/** How often a pass looks again at once where somebody wrote in between; then Temporal's backoff does. */
const CONFLICTS_MAX = 3;
/** More are not begun with, since two thousand million may be wanted; a pass has no time for so many anyway. */
const CREATED_MOST = 1_000;
/** How many Pods of others may have the names that are to be given, one after the other. */
const TAKEN_NAMES_MAX = 20;

interface Dependencies {
  readonly client: KubernetesClient;
  readonly recorder: Recorder;
  readonly log: Logger;
}

export function podSetActivities({ client, recorder, log }: Dependencies): PodSetActivities {
  const passes = new Superseding();
  return {
    reconcilePodSet: ({ ref }) =>
      atTheEdge({ log, recorder, regarding: POD_SET_KIND }, ref, (runLog) => {
        const runId = activityInfo().workflowExecution?.runId ?? ref.uid;
        return passes.run(ref.uid, (superseded) =>
          passOverPodSet({ client, recorder, log: runLog, ref, runId, superseded, now: Date.now }),
        );
      }),
  };
}

export interface PodSetPass extends Dependencies {
  readonly ref: ResourceRef;
  /** Of the Temporal run: it determines the names of the Pods that are created. */
  readonly runId: string;
  /** Once it is aborted, a newer pass waits for the end of this one. */
  readonly superseded?: AbortSignal;
  /** In milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * One pass over a PodSet: looks, then does what is decided, step by step, until the end is decided.
 *
 * @throws ApiError where the API server refuses, or is not up to it
 */
export function passOverPodSet(pass: PodSetPass): Promise<Outcome> {
  return new Interpreter(pass).run();
}

/** What is known of the PodSet and its Pods, with all that writes to them need. */
interface Live extends Observation<LivePod> {
  readonly podSet: LivePodSet | 'gone';
}

class Interpreter {
  readonly #pass: PodSetPass;
  readonly #objects: PodSetObjects;
  readonly #report: PodSetReport;
  /** When the first look was over. */
  #begunAtMs: number | undefined;
  #writes = 0;
  #refusal: unknown;

  constructor(pass: PodSetPass) {
    this.#pass = pass;
    this.#objects = new PodSetObjects(pass.client, pass.ref);
    this.#report = new PodSetReport(pass);
  }

  async run(): Promise<Outcome> {
    let live = await this.#look();
    for (let conflicts = 0; ;) {
      const step = decidePodSet(live, this.#pass.now());
      if (step.do === 'end') return this.#end(step);
      try {
        live = await this.#perform(step, live);
      } catch (error) {
        if (!isConflict(error) || (conflicts += 1) > CONFLICTS_MAX) throw error;
        live = await this.#look();
      }
    }
  }

  /** The Pods first: a PodSet that was not being deleted after they were listed did not orphan them just so. */
  async #look(): Promise<Live> {
    const pods = await this.#objects.list();
    const podSet = (await this.#objects.read()) ?? 'gone';
    this.#begunAtMs ??= this.#pass.now();
    return { ...observed(podSet, pods), podSet };
  }

  #perform(step: Exclude<PodSetStep<LivePod>, End>, live: Live): Promise<Live> {
    switch (step.do) {
      case 'look':
        return this.#lookFor(step.names, live);
      case 'release':
        return this.#release(step.pods, live);
      case 'adopt':
        return this.#adopt(step.pods, live);
      case 'shrink':
        return this.#shrink(step, live);
      case 'tidy':
        return this.#delete(step.pods, 'removed', live);
      case 'grow':
        return this.#grow(step.by, live);
      case 'write status':
        return this.#writeStatus(step, live);
      default:
        return unreachable(step);
    }
  }

  async #lookFor(names: readonly string[], live: Live): Promise<Live> {
    const { done, failure } = await inBatches(names, (name) => this.#objects.get(name), WHATEVER_THE_TIME);
    if (failure !== undefined) throw failure.error;
    const pods = withChanged(live.pods, done.filter(isThere));
    return { ...live, pods, lookedFor: [...live.lookedFor, ...names] };
  }

  async #release(pods: readonly LivePod[], live: Live): Promise<Live> {
    const { done, failure } = await inBatches(pods, (pod) => this.#objects.release(pod), WHATEVER_THE_TIME);
    this.#report.did('released', done.length);
    if (failure !== undefined) throw failure.error;
    this.#report.released(pods.map(({ name }) => name));
    return { ...live, pods: withChanged(live.pods, done) };
  }

  async #adopt(pods: readonly LivePod[], live: Live): Promise<Live> {
    const { done, failure } = await this.#inTime(pods, AT_ONCE, (pod) => this.#objects.adopt(pod));
    this.#report.did('adopted', done.length);
    if (failure !== undefined) throw failure.error;
    this.#report.adopted(done.map(({ name }) => name));
    return this.#after({ ...live, pods: withChanged(live.pods, done) });
  }

  #shrink({ by, available }: Extract<Work<LivePod>, { do: 'shrink' }>, live: Live): Promise<Live> {
    return this.#delete(podsToDelete(available, by, this.#pass.now()), 'deleted', live);
  }

  async #delete(pods: readonly LivePod[], deed: Deed, live: Live): Promise<Live> {
    const { done, failure } = await this.#inTime(pods, AT_ONCE, (pod) => this.#objects.delete(pod));
    this.#report.did(deed, done.length);
    if (failure !== undefined) throw failure.error;
    return this.#after({ ...live, pods: withChanged(live.pods, done) });
  }

  async #grow(by: number, live: Live): Promise<Live> {
    const taken = new Set(live.pods.map(({ name }) => name));
    const names = podNames(this.#pass.ref.name, this.#pass.runId, taken);
    const places = Array.from({ length: Math.min(by, CREATED_MOST) });
    const { done, failure } = await this.#inTime(places, SLOWLY, () => this.#createOne(names));
    this.#report.did('created', done.filter(({ isNew }) => isNew).length);
    const pods = done.map(({ pod }) => pod);
    const after = this.#after({ ...live, pods: withChanged(live.pods, pods) });
    return failure === undefined ? after : this.#createFailed(failure.error, after);
  }

  /**
   * A name that is taken is most likely taken by an earlier attempt of this very run, whose answer was lost or
   * that is not quite dead: then the Pod is there. Else the next name is tried.
   */
  async #createOne(
    names: Iterator<string, never>,
  ): Promise<{ readonly pod: LivePod; readonly isNew: boolean }> {
    for (let taken = 0; ; taken += 1) {
      const name = names.next().value;
      try {
        return { pod: await this.#objects.create(name), isNew: true };
      } catch (error) {
        if (!isOf('already-exists', error) || taken >= TAKEN_NAMES_MAX) throw error;
      }
      const pod = await this.#objects.get(name);
      if (pod?.controllerUid === this.#pass.ref.uid) return { pod, isNew: false };
    }
  }

  #createFailed(error: unknown, live: Live): Live {
    if (isOf('namespace-terminating', error) || isOf('not-found', error)) return { ...live, podSet: 'gone' };
    if (!(error instanceof ApiError) || !(isOf('refused', error) || isOf('access-denied', error)))
      throw error;
    this.#refusal = error;
    return { ...live, refusal: error.message };
  }

  async #writeStatus({ status }: WriteStatus, live: Live): Promise<Live> {
    if (live.podSet === 'gone') return live;
    if (!(await this.#objects.writeStatus(live.podSet, status))) return { ...live, podSet: 'gone' };
    this.#report.did('wrote the status', 1);
    return { ...live, podSet: { ...live.podSet, status } };
  }

  #inTime<T, R>(
    items: readonly T[],
    firstSize: number,
    act: (item: T) => Promise<R>,
  ): Promise<BatchesEnd<R>> {
    const counted = (item: T) => {
      this.#writes += 1;
      return act(item);
    };
    return inBatches(items, counted, { firstSize, isTimeUp: () => this.#isTimeUp() });
  }

  #after(live: Live): Live {
    return { ...live, timeIsUp: this.#isTimeUp() };
  }

  #isTimeUp(): boolean {
    const { now, superseded } = this.#pass;
    if (superseded?.aborted) return true;
    const timeMs = this.#writes < WRITES_LEAST ? TIME_FOR_LEAST_MS : TIME_FOR_WRITES_MS;
    return now() - (this.#begunAtMs ?? now()) >= timeMs;
  }

  #end(end: End): Outcome {
    const { summary } = this.#report;
    switch (end.because) {
      case 'gone':
        return converged('the PodSet is gone, or its namespace is going');
      case 'being deleted':
        return converged('the PodSet is being deleted, and its Pods go with it');
      case 'as wanted':
        this.#report.reached(end.replicas);
        return converged(summary ?? 'no update required');
      case 'time is up':
        return progressed(summary ?? 'nothing', `go on with the Pods of ${displayName(this.#pass.ref)}`);
      case 'refused':
        throw this.#refusal;
      case 'invalid':
        this.#report.invalidSpec(end.why);
        return stalled(end.why);
      case 'pausing':
        return this.#pause(end);
      default:
        return unreachable(end);
    }
  }

  #pause({ forMs: atMostMs, newest }: Extract<End, { because: 'pausing' }>): Outcome {
    const { summary } = this.#report;
    this.#report.failedPods(newest);
    return waiting('the end of the pause after failed Pods', {
      atMostMs,
      ...(summary !== undefined && { did: summary }),
      next: `replace the failed Pods of ${displayName(this.#pass.ref)}`,
    });
  }
}

/** For what has to come first. */
const WHATEVER_THE_TIME: Batching = { firstSize: AT_ONCE, isTimeUp: () => false };

function withChanged(pods: readonly LivePod[], changed: readonly LivePod[]): readonly LivePod[] {
  const byName = new Map([...pods, ...changed].map((pod) => [pod.name, pod]));
  return [...byName.values()];
}

function isThere<T>(value: T | undefined): value is T {
  return value !== undefined;
}

function isOf(classification: ApiErrorClass, error: unknown): boolean {
  return error instanceof ApiError && error.classification === classification;
}

function isConflict(error: unknown): boolean {
  return isOf('conflict', error) || isOf('already-exists', error);
}
