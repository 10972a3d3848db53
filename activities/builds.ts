import type { Logger } from '../src/contract/logger.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { converged, stalled, waiting, type Outcome } from '../src/contract/run.ts';
import { unreachable } from '../src/contract/unreachable.ts';
import type { BuildActivities } from '../src/controllers/build/activities.ts';
import { decideBuild } from '../src/controllers/build/decide.ts';
import { buildJob, cleanupJob } from '../src/controllers/build/jobs.ts';
import {
  fold,
  type Answer,
  type EndStep,
  type Observation,
  type Step,
  type StepEvent,
} from '../src/controllers/build/observation.ts';
import type { BuildOptions } from '../src/controllers/build/options.ts';
import { BUILD_KIND } from '../src/controllers/build/resource.ts';
import type { SeenBuild } from '../src/controllers/build/seen.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { BuildObjects, isOf } from './build-objects.ts';
import { atTheEdge } from './edge.ts';
import { regardingNamespace, type Recorder } from './events.ts';

/** How often a pass looks again at once where somebody wrote in between; then Temporal's backoff does. */
const CONFLICTS_MAX = 4;
/** Far more than the longest way to where a pass has to wait. */
const STEPS_MAX = 60;
/** An attempt that Temporal has given up, after 15 s, must not begin anything any more. */
const TIME_FOR_STEPS_MS = 8_000;

interface Dependencies {
  readonly client: KubernetesClient;
  readonly recorder: Recorder;
  readonly options: BuildOptions;
  readonly log: Logger;
}

export function buildActivities({ client, recorder, options, log }: Dependencies): BuildActivities {
  return {
    advanceBuild: ({ ref, seen }) =>
      atTheEdge({ log, recorder, regarding: BUILD_KIND }, ref, (runLog) =>
        passOverBuild({ client, recorder, options, log: runLog, ref, now: Date.now, ...(seen && { seen }) }),
      ),
  };
}

export interface BuildPass extends Dependencies {
  readonly ref: ResourceRef;
  readonly seen?: SeenBuild;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * One pass over a build: does step by step what is decided, until the step is to wait or to end.
 *
 * @throws ApiError where the API server refuses, or is not up to it
 */
export function passOverBuild(pass: BuildPass): Promise<Outcome> {
  return new Interpreter(pass).run();
}

class Interpreter {
  readonly #pass: BuildPass;
  readonly #objects: BuildObjects;
  readonly #did: string[] = [];
  #refusal: unknown;

  constructor(pass: BuildPass) {
    this.#pass = pass;
    this.#objects = new BuildObjects(pass.client, pass.ref, pass.options);
  }

  async run(): Promise<Outcome> {
    const { seen, now } = this.#pass;
    const endAtMs = now() + TIME_FOR_STEPS_MS;
    let known: Observation = { ...(seen && { seen }) };
    let conflicts = 0;
    for (let steps = 0; steps < STEPS_MAX && now() < endAtMs; steps += 1) {
      const step = decideBuild(known, now());
      if (isEnd(step)) return this.#end(step);
      const answer = await this.#performAgain(step, () => (conflicts += 1) <= CONFLICTS_MAX);
      known = fold(known, answer);
    }
    throw new Error(`the pass came to no end; it did: ${this.#did.join('; ')}`);
  }

  /** What is not as it was thought to be is an answer too, unless there is no end to it. */
  async #performAgain(step: Exclude<Step, EndStep>, mayConflict: () => boolean): Promise<Answer> {
    try {
      return await this.#perform(step);
    } catch (error) {
      if (!isOf(error, 'conflict', 'not-found') || !mayConflict()) throw error;
      return { got: 'conflict' };
    }
  }

  async #perform(step: Exclude<Step, EndStep>): Promise<Answer> {
    const objects = this.#objects;
    switch (step.do) {
      case 'look':
        return this.#look(step);
      case 'add-finalizer':
      case 'remove-finalizer': {
        const build = await objects.setFinalizers(step.resourceVersion, step.finalizers);
        this.#done(step.do === 'add-finalizer' ? 'added the finalizer' : 'removed the finalizer', step.event);
        return { got: 'written', build };
      }
      case 'write-status': {
        const build = await objects.writeStatus(step.resourceVersion, step.status);
        this.#done(`reported ${step.status.phase ?? 'the status'}`, step.event);
        return { got: 'written', build };
      }
      case 'delete-job': {
        const now = await objects.deleteJob(step.job, step.propagation);
        this.#done(`deleted Job ${step.job.name}`, step.event);
        return { got: 'deleted', job: step.job, now };
      }
      case 'create-build':
      case 'create-cleanup':
        return this.#create(step);
      default:
        return unreachable(step);
    }
  }

  async #look(step: Extract<Step, { do: 'look' }>): Promise<Answer> {
    const objects = this.#objects;
    switch (step.at) {
      case 'build':
        return { got: 'build', build: await objects.read() };
      case 'jobs':
        return { got: 'jobs', jobs: await objects.jobs() };
      case 'pods':
        return { got: 'pods', pods: await objects.pods() };
      case 'node':
        return { got: 'node', node: step.node, state: await objects.nodeState(step.node) };
      case 'name':
        return { got: 'name-taken', name: step.name, by: await objects.jobNamed(step.name) };
      default:
        return unreachable(step);
    }
  }

  async #create(step: Extract<Step, { do: 'create-build' | 'create-cleanup' }>): Promise<Answer> {
    const { options } = this.#pass;
    const manifest =
      step.do === 'create-build'
        ? buildJob(step.build, step, options)
        : cleanupJob(step.build, step.wanted, options);
    const { name } = manifest.metadata;
    try {
      const job = await this.#objects.createJob(manifest);
      this.#done(`created Job ${name}`, step.do === 'create-build' ? buildStarted(name, job.uid) : undefined);
      return { got: 'created', job };
    } catch (error) {
      return this.#notCreated(name, error);
    }
  }

  async #notCreated(name: string, error: unknown): Promise<Answer> {
    if (isOf(error, 'already-exists')) {
      return { got: 'name-taken', name, by: await this.#objects.jobNamed(name) };
    }
    if (isOf(error, 'refused')) {
      this.#refusal = error;
      return { got: 'refused', refusal: { because: 'refused', message: error.message } };
    }
    // A namespace that is gone altogether answers so, too; the resource is then gone as well.
    if (isOf(error, 'namespace-terminating')) {
      return { got: 'refused', refusal: { because: 'namespace-terminating', message: error.message } };
    }
    throw error;
  }

  #done(did: string, event: StepEvent | undefined): void {
    this.#did.push(did);
    if (event === undefined) return;
    const { about, ...recorded } = event;
    const { recorder, ref, log } = this.#pass;
    recorder.record(ref, about === 'namespace' ? regardingNamespace(ref) : BUILD_KIND, recorded, log);
  }

  #end(step: EndStep): Outcome {
    const did = this.#did.join('; ');
    switch (step.do) {
      case 'converged':
        return converged(did === '' ? step.did : did);
      case 'wait': {
        const { on, atMostMs, next } = step;
        return waiting(on, { atMostMs, next, ...(did !== '' && { did }) });
      }
      case 'stalled':
        return stalled(step.why);
      case 'give-up':
        throw this.#refusal;
      default:
        return unreachable(step);
    }
  }
}

function isEnd(step: Step): step is EndStep {
  return step.do === 'converged' || step.do === 'wait' || step.do === 'stalled' || step.do === 'give-up';
}

function buildStarted(name: string, uid: string): StepEvent {
  const note = `Job ${name} builds it`;
  return { type: 'Normal', reason: 'BuildStarted', action: 'Build', note, occasion: uid };
}
